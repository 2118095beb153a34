"""Write the text again, each word in the surface form on the best path: the last step of recasing.

In: a buffer, its words, a label for each (0: none, the word stays lowercase), and optionally a shape in which to write
the word instead of that form. Out: the text of the buffer, in which only case has changed, and diacritics or the like
if the model restores them. The text between words is copied, and so are the digits and apostrophes that the LM does not
distinguish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.names import Spelling, is_roman, spelling_of
from capfst.casing.shapes import AS_FORM, Shape, is_camel_case, spell
from capfst.casing.types import KEEPS, KEEPS_FIRST, CasingCosts, Copies, LabelPath, Words
from capfst.casing.written import SHAPE, written_shapes
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, get_eight, inner, kernel, outlined, prefetch, put_eight
from capfst.kernels.types import BoolArray, I64Array, U8Array, i64, u8, u64
from capfst.system.sparse import sparse
from capfst.text import unicode as uni
from capfst.text.language import languages as rules_of
from capfst.text.sentences import first_words, opens
from capfst.text.strings import Strings
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, PROTECTED

_ASCII = np.uint64(0x7F7F7F7F7F7F7F7F)
_AHEAD = 8  # words to prefetch
_SMALL_I, _HYPHEN = ord("i"), ord("-")
_I, _APOSTROPHE = ord("I"), ord("'")
_NO_COPIES = Copies(np.frombuffer(b"", np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))


@inner
def _copy(text: U8Array, start: i64, end: i64, out: U8Array, j: i64) -> i64:
    """Write text[start:end] at out[j:]. Return the offset after it."""
    copy_bytes(text, start, end - start, out, j)
    return j + end - start


@inner
def _has_dot(text: U8Array, i: i64, end: i64) -> bool:
    """Return whether text[i:end] begins with a dot above (U+0307)."""
    return i + 1 < end and text[i] == 0xCC and text[i + 1] == 0x87


@outlined
def _compose_dotted(out: U8Array, word: i64, j: i64) -> i64:
    """Compose I and a dot above in out[word:j] to İ (U+0130), whose lowercase is i and a dot above. Return the new
    end."""
    i = end = word
    while i < j:
        if out[i] == 73 and _has_dot(out, i + 1, j):
            out[end], out[end + 1] = 0xC4, 0xB0
            end += 2
            i += 3
        else:
            out[end] = out[i]
            end += 1
            i += 1
    return end


@outlined
def _put_dots(
    buf: U8Array, start: i64, end: i64, out: U8Array, word: i64, j: i64, scratch: U8Array, keeps: bool, is_dotted: bool
) -> i64:
    """Write İ in out[word:j] where the token buf[start:end] has it instead of its lowercase, i and a dot above, because
    that dot is visible. keeps: also instead of I. is_dotted: instead of I also where the token has i; if not, I instead
    of İ where it has i or I. Return the new end. `scratch` as for `spell`."""
    size = _copy(out, word, j, scratch, 0)
    i, k = start, 0
    j = word
    while k < size:
        code, k = uni.decode(scratch, k, size)
        of_token = 0
        if i < end:
            of_token, i = uni.decode(buf, i, end)
        if of_token == uni.DOTTED_CAPITAL_I and code | 32 == _SMALL_I and _has_dot(scratch, k, size):
            code, k = uni.DOTTED_CAPITAL_I, k + 2
        elif code == uni.DOTTED_CAPITAL_I and _has_dot(buf, i, end):
            i += 2
        elif code == _I and ((keeps and of_token == uni.DOTTED_CAPITAL_I) or (is_dotted and of_token == _SMALL_I)):
            code = uni.DOTTED_CAPITAL_I
        elif code == uni.DOTTED_CAPITAL_I and of_token | 32 == _SMALL_I and not is_dotted:
            code = _I
        j = uni.encode(code, out, j)
    return j


@outlined
def _capitalize(out: U8Array, start: i64, end: i64, scratch: U8Array, spelling: Spelling) -> i64:
    """Capitalize out[start:end] if it begins with a letter and has no capital, or none before its first hyphen, where
    several letters are (anti-American, unlike a-Moll). Return the new end. `scratch` as for `spell`."""
    i, size = start, 0
    while i < end:
        code, after = uni.decode(out, i, end)
        if code == _HYPHEN and size > 1:
            break
        if spelling.lowering.info[code] & uni.IS_UPPER:
            return end
        i, size = after, size + 1
    first = uni.decode(out, start, end)[0]
    if uni.mapped(spelling.title, first) == first:
        return end
    rest = scratch.size - (end - i)
    _copy(out, i, end, scratch, rest)
    j = _compose_dotted(out, start, spell(out, start, i, Shape.CAPITALIZED, scratch, spelling))
    return _copy(scratch, rest, scratch.size, out, j)


@outlined
def _copy_form(
    buf: U8Array, start: i64, end: i64, forms: Strings, label: i64, pretokenized: bool, out: U8Array, j: i64
) -> i64:
    """Write a surface form with the digits and apostrophes of the token, which the LM writes as 0 and ' unless the text
    is pretokenized. Return the offset after it."""
    if pretokenized:
        return _copy(forms.data, forms.offsets[label], forms.offsets[label + 1], out, j)
    i = start
    for k in range(forms.offsets[label], forms.offsets[label + 1]):
        b = forms.data[k]
        if b == 48:
            while not 48 <= buf[i] <= 57:
                i += 1
            b = buf[i]
            i += 1
        elif b == 39:
            quote = i
            while quote < end and uni.apostrophe(buf, quote, end) == 0:
                quote += 1
            if quote < end:
                i = quote + uni.apostrophe(buf, quote, end)
                j = _copy(buf, quote, i, out, j)
                continue
        out[j] = b
        j += 1
    return j


class _Manner(NamedTuple):
    """How words are written besides the forms of a path; of n words."""

    shapes: U8Array  # [n]: the shape of words in their most frequent form, or without a form; AS_FORM for the form
    copies: Copies  # of words in the shape MIXED, and PROTECTED tokens; or empty
    first: BoolArray  # [n]: whether the word is the first of a sentence, and gets a capital
    dotted: BoolArray  # [n]: whether the word follows the rules of Turkish, unless it is a Roman numeral; or empty
    pretokenized: bool
    spelling: Spelling
    own: Spelling  # of dotted words


@kernel
def _find_changing(
    buf: U8Array, words: Words, path: LabelPath, manner: _Manner, small_forms: U8Array, changing: I64Array
) -> i64:
    """Fill `changing` with the indices of the words that may change, in order. Return their number.

    Marks stay the same, and so does a lowercase word whose form or shape is lowercase, unless it gets a capital, or
    other things than case are restored. The loop has no unpredictable branches.
    """
    shapes, stays_small = manner.shapes, not manner.spelling.respells
    n = 0
    for i in range(path.labels.size):
        token_type, label = words.token_types[i], path.labels[i]
        stays = (small_forms[label >> 3] >> (label & 7)) & 1 != 0
        is_spelled = (shapes[i] != AS_FORM) & (label == words.first_labels[i])
        stays = (stays & (not is_spelled)) | (is_spelled & (shapes[i] == Shape.LOWER))
        stays &= uni.is_small(buf, words.starts[i], words.ends[i]) & (token_type <= COMPOUND) & stays_small
        stays &= not manner.first[i]
        changing[n] = i
        n += (not stays) & (token_type != MARKS) & (token_type != NEWLINE)
    return n


@inner
def _put_cased(text: U8Array, start: i64, end: i64, data: U8Array, form: i64, out: U8Array, j: i64) -> i64:
    """Write a form of as many bytes as text[start:end], if it differs only in the case of letters of ASCII, at out[j:],
    and up to 7 more bytes. Return the offset after it; −1 if it differs more, or at the end of either text."""
    if max(end - text.size, form + (end - start) - data.size) > -8:
        return -1
    for i in range(start, end, 8):
        part, of_form = get_eight(text, i), get_eight(data, form + i - start)
        letters = uni.within((part | uni.CASE_BITS) & _ASCII, 97, 122) & ~part
        if (part ^ of_form) & ~(letters >> u64(2)) & ~u64(0) >> u64(max(0, 64 - 8 * (end - i))) != u64(0):
            return -1
        put_eight(out, j + i - start, of_form)
    return j + end - start


@inner
def _spell_eight(part: u64, how: u8, begun: bool) -> tuple[u64, bool]:
    """Write eight bytes of ASCII as LOWER, UPPER, or (unless `begun`) CAPITALIZED. Return them, and whether they or
    earlier bytes have a letter."""
    part |= uni.within(part, 65, 90) >> u64(2)
    letters = uni.within(part, 97, 122) >> u64(2)
    if how == Shape.UPPER:
        part &= ~letters
    elif how == Shape.CAPITALIZED and not begun:
        part &= ~(letters & (~letters + u64(1)))
    return part, begun or letters != u64(0)


@inner
def _put_spelled(text: U8Array, start: i64, end: i64, how: u8, lowering: uni.Lowering, out: U8Array, j: i64) -> i64:
    """Write text[start:end], if it is plain ASCII, in this shape, which is not MIXED, at out[j:], and up to 7 more
    bytes. Return the offset after it; −1 if it is not, or at the end of the text. The irregular letter of the Lowering
    is never plain."""
    if end + 8 > text.size:
        return -1
    begun = False
    for i in range(start, end, 8):
        part = get_eight(text, i) & ~u64(0) >> u64(max(0, 64 - 8 * (end - i)))
        if not uni.is_plain(part | uni.CASE_BITS, lowering.irregular | uni.CASE_BITS, lowering.not_plain):
            return -1
        part, begun = _spell_eight(part, how, begun)
        put_eight(out, j + i - start, part)
    return j + end - start


@kernel
def _write(
    buf: U8Array, words: Words, changing: I64Array, path: LabelPath, manner: _Manner, forms: Strings, scratch: U8Array,
    out: U8Array,
) -> i64:  # fmt: skip
    """Write the text to `out`. Return its size. changing: indices of the words that may change. forms: by label.
    scratch: working memory for a word in two cases."""
    shapes, copies, first, dotted, pretokenized, spelling, own = manner
    token_types, lowering, info, (data, offsets) = words.token_types, spelling.lowering, spelling.lowering.info, forms
    n_copied = 0  # buf[:n_copied] has been written
    j = 0  # the size of the output so far
    has_copies = copies.starts.size > 0
    last = changing.size - 1
    for k in range(changing.size):
        prefetch(offsets, path.labels[changing[min(k + 2 * _AHEAD, last)]])
        prefetch(data, offsets[path.labels[changing[min(k + _AHEAD, last)]]])
        i = changing[k]
        start, end = words.starts[i], words.ends[i]
        if token_types[i] > COMPOUND:
            if token_types[i] == PROTECTED and has_copies and copies.starts[i] >= 0:
                j = _copy(buf, n_copied, start, out, j)
                j = _copy(copies.text, copies.starts[i], copies.ends[i], out, j)
                n_copied = end
            continue
        label = path.labels[i]
        is_copied = has_copies and copies.starts[i] >= 0
        may_be_camel = label == 0 and not pretokenized and not is_copied and lowering.case != u64(0)
        if may_be_camel and is_camel_case(buf, start, end, info):
            continue
        form, form_end = offsets[label], offsets[label + 1]
        is_first = first[i]
        is_dotted = dotted.size > 0 and dotted[i] and not is_roman(buf, start, end)
        is_spelled = shapes[i] != AS_FORM and label == words.first_labels[i]
        j, n_copied, after = _copy(buf, n_copied, start, out, j), end, -1
        if is_spelled:
            by_letter = shapes[i] == Shape.LOWER or (shapes[i] != Shape.MIXED and len(spelling.raisings) == 0)
            if by_letter and not is_first and not is_dotted and not (spelling.respells and label != 0):
                after = _put_spelled(buf, start, end, shapes[i], lowering, out, j)
        elif form_end - form == end - start and label != 0 and not is_first and not is_dotted:
            after = _put_cased(buf, start, end, data, form, out, j)
        if after >= 0:
            j = after
            continue
        word = written = j
        if is_spelled:
            if shapes[i] == Shape.MIXED and is_copied:
                j = _copy(copies.text, copies.starts[i], copies.ends[i], out, j)
            else:
                if spelling.respells and label != 0:
                    j = _copy_form(buf, start, end, forms, label, pretokenized, out, j)
                    j = _copy(scratch, 0, uni.lower_into(out, word, j, word, j, scratch, 0, lowering), out, word)
                else:
                    j = uni.lower_into(buf, start, end, 0, buf.size, out, j, own.lowering if is_dotted else lowering)
                j = spell(out, word, j, shapes[i], scratch, own if is_dotted else spelling)
                j = _compose_dotted(out, word, j)
            if uni.contains(out, word, j, uni.CAPITAL_SIGMA) and uni.is_joined(buf, start, end, info):
                j = uni.lower_into(buf, start, end, 0, buf.size, out, word, lowering)
        elif label == 0 or (is_dotted and uni.apostrophe(buf, start, end) > 0):  # Ankara'nın
            j = uni.lower_into(buf, start, end, 0, buf.size, out, j, own.lowering if is_dotted else lowering)
        else:
            j = _copy_form(buf, start, end, forms, label, pretokenized, out, j)
        if is_first:
            while pretokenized and word < j and opens(uni.decode(out, word, j)[0]):
                word = uni.decode(out, word, j)[1]
            if word < j and info[uni.decode(out, word, j)[0]] & uni.CLASS == uni.LETTER:
                # The lowercase of a capital sigma after a cased symbol (Ⓐ) could be another one.
                may_change = uni.decode(out, word, j)[0] == uni.SMALL_SIGMA and uni.is_joined(
                    buf, start + word - written, end, info
                )
                if not may_change:
                    j = _capitalize(out, word, j, scratch, own if is_dotted else spelling)
        may_have_dots = dotted.size > 0 and not is_copied
        if uni.contains(buf, start, end, uni.DOTTED_CAPITAL_I) or (
            may_have_dots and (is_dotted or uni.contains(out, written, j, uni.DOTTED_CAPITAL_I))
        ):
            j = _put_dots(buf, start, end, out, written, j, scratch, dotted.size > 0, is_dotted and not is_copied)
    return _copy(buf, n_copied, buf.size, out, j)


def write(
    buf: U8Array,
    words: Words,
    path: LabelPath,
    costs: CasingCosts,
    symbols: Symbols,
    pretokenized: bool,
    sentence_case: bool,
    may_change: BoolArray | None = None,
) -> memoryview:
    """Return the text of `buf` with its words in the surface forms of a path.

    A word in its most frequent form, or without a form, is written in costs.shapes[i] unless that is
    `shapes.AS_FORM`. Words in the shape MIXED, and PROTECTED tokens, are copied from `costs.copies` where it has them.
    With `sentence_case`, the first word of each sentence is capitalized, also after a prefix (text/sentences.py). Words
    with costs.dotted[i] follow the rules of Turkish, except Roman numerals and copies. may_change: bool[n], the words
    that may change at all; None: all.
    """
    shapes, copies, keeps = costs.shapes, costs.copies or _NO_COPIES, costs.keeps_capital
    dotted = np.empty(0, np.bool_) if costs.dotted is None else costs.dotted
    if shapes is None:
        shapes = np.full(len(words.starts), AS_FORM, np.uint8)
    spelling = own = spelling_of(symbols.language)
    if dotted.size:
        own = spelling_of(rules_of(symbols.language.names[symbols.language.dotted[0]]))
    size = buf.size
    if spelling.respells:
        labels = path.labels[words.n_forms > 0]
        size += int((symbols.offsets[labels + 1] - symbols.offsets[labels]).sum() + (copies.ends - copies.starts).sum())
    # For a lowercase word, that word in a shape, and the lowercase of this.
    scratch = sparse((uni.GROWTH + uni.GROWTH**2 + uni.GROWTH**3) * size + 8, np.uint8)
    out = np.empty(uni.GROWTH * size + 8, np.uint8)
    first = np.zeros(len(words.starts), np.bool_) if keeps is None else keeps == KEEPS
    may_be_first = sentence_case if keeps is None else sentence_case | (keeps == KEEPS_FIRST)
    if np.any(may_be_first):
        of_sentences = first_words(buf, words.tokens, path.begins, pretokenized, symbols.language, costs.languages)
        first |= of_sentences & may_be_first
    manner = _Manner(shapes, copies, first, dotted, pretokenized, spelling, own)
    changing = np.empty(len(path.labels), np.int64)
    changing = changing[: _find_changing(buf, words, path, manner, symbols.small_forms, changing)]
    if may_change is not None:
        changing = changing[may_change[changing]]
    size = _write(buf, words, changing, path, manner, symbols.strings, scratch, out)
    return out[:size].data


def starts_only(
    buf: U8Array, words: Words, path: LabelPath, costs: CasingCosts, symbols: Symbols, pretokenized: bool
) -> tuple[LabelPath, CasingCosts, BoolArray]:
    """Return how to `write` for the option `only="starts"`: only the first words of sentences, if they are in lower
    case, and the word I (I'm, I'll), where it is on the path.

    The path, the costs with the shapes and capitals, and for each of the n words whether it may change at all.
    """
    shapes = np.full(len(words.starts), AS_FORM, np.uint8) if costs.shapes is None else costs.shapes
    is_form = (shapes == AS_FORM) | (path.labels != words.first_labels)
    is_small = written_shapes(buf, words, pretokenized) & SHAPE == Shape.LOWER
    first = is_small & first_words(buf, words.tokens, path.begins, pretokenized, symbols.language, costs.languages)
    begin, end = symbols.offsets[path.labels], symbols.offsets[path.labels + 1]
    second = symbols.data[np.minimum(begin + 1, symbols.data.size - 1)]
    is_i = is_form & (symbols.data[begin] == _I) & ((end - begin == 1) | (second == _APOSTROPHE))
    path = path._replace(labels=np.where(first, words.first_labels, path.labels))
    costs = costs._replace(shapes=np.where(first, np.uint8(Shape.LOWER), shapes), keeps_capital=first * np.uint8(KEEPS))
    return path, costs, first | (is_i & is_small)
