"""The last step of recasing: the text again, each word in the surface form that the best path chose.

In: a buffer, its words, a label for each (0: none, the word stays lowercase), and perhaps a shape in which the word is
to be written instead of that form. Out: the buffer's text in which nothing but case has changed, or what else the model
restores: what stands between words is copied, and so are the digits and apostrophes that the LM does not tell apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.names import Spelling, spelling_of
from capfst.casing.shapes import AS_FORM, Shape, has_sigma, spell
from capfst.casing.transducer import is_joined
from capfst.casing.types import Copies, LabelPath, Words
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, get_eight, inner, kernel, outlined, prefetch, put_eight
from capfst.kernels.types import BoolArray, I64Array, U8Array, i64, u8, u64
from capfst.system.sparse import sparse
from capfst.text.sentences import opens
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, PROTECTED
from capfst.text.unicode import (
    CASE_BITS,
    CLASS,
    GROWTH,
    IS_UPPER,
    LETTER,
    Lowering,
    decode,
    is_plain,
    is_small,
    lower_into,
    mapped,
    within,
)

_ASCII = np.uint64(0x7F7F7F7F7F7F7F7F)
_AHEAD = 8  # words
_NO_SHAPES = np.empty(0, np.uint8)
_NO_COPIES = Copies(np.frombuffer(b"", np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))


@outlined
@inner
def _compose_dotted(out: U8Array, word: i64, j: i64) -> i64:
    """Writes İ (U+0130), whose lowercase is i and a dot above, for I and that dot in out[word:j]; the offset after."""
    i = behind = word
    while i < j:
        if i + 2 < j and out[i] == 73 and out[i + 1] == 0xCC and out[i + 2] == 0x87:
            out[behind], out[behind + 1] = 0xC4, 0xB0
            behind += 2
            i += 3
        else:
            out[behind] = out[i]
            behind += 1
            i += 1
    return behind


@outlined
@inner
def _capitalize(out: U8Array, start: i64, end: i64, room: U8Array, spelling: Spelling) -> i64:
    """Gives out[start:end] a capital if it has none and begins with a letter; `room` as for `spell`."""
    i = start
    while i < end:
        code, i = decode(out, i, end)
        if spelling.info[code] & IS_UPPER:
            return end
    first = decode(out, start, end)[0]
    if mapped(spelling.title, first) == first:
        return end
    return _compose_dotted(out, start, spell(out, start, end, Shape.CAPITALIZED, room, spelling))


@outlined
@inner
def _copy_form(
    buf: U8Array, start: i64, end: i64, data: U8Array, form: i64, form_end: i64, out: U8Array, j: i64
) -> i64:
    """Writes a surface form with the token's own digits and apostrophes, if it has any: the LM writes all digits 0, all
    apostrophes '."""
    i = start
    for k in range(form, form_end):
        b = data[k]
        if b == 48:
            while not 48 <= buf[i] <= 57:
                i += 1
            b = buf[i]
            i += 1
        elif b == 39:
            found = i
            while found < end and not (
                buf[found] == 39 or (buf[found] == 0xE2 and buf[found + 1] == 0x80 and buf[found + 2] == 0x99)
            ):
                found += 1
            if found < end:
                i = found + 1
                if buf[found] != 39:
                    out[j], out[j + 1] = 0xE2, 0x80
                    b = u8(0x99)
                    i += 2
                    j += 2
        out[j] = b
        j += 1
    return j


@kernel
def _find_changing(
    buf: U8Array,
    words: Words,
    path: LabelPath,
    shapes: U8Array,
    small_forms: U8Array,
    stays_small: bool,
    pretokenized: bool,
    sentence_case: bool,
    found: I64Array,
) -> i64:
    """Fills `found` with the words, in order, but for those that are sure to stay as they are; their number.

    A mark stays, and so does a small word whose form or shape is small, if `stays_small`; but none from the end of a
    line, or a break, to the first word of the sentence. Without branches that nobody can predict.
    """
    n = 0
    begins = sentence_case  # perhaps no word of the sentence yet
    for i in range(path.labels.size):
        token_type, label = words.token_types[i], path.labels[i]
        stays = (small_forms[label >> 3] >> (label & 7)) & 1 != 0
        if shapes.size > 0:
            is_spelled = (shapes[i] != AS_FORM) & (label == words.first_labels[i])
            stays = (stays & (not is_spelled)) | (is_spelled & (shapes[i] == Shape.LOWER))
        stays &= is_small(buf, words.starts[i], words.ends[i]) & (token_type <= COMPOUND) & stays_small
        begins |= path.begins[i] & sentence_case
        is_end = (token_type == NEWLINE) & sentence_case
        found[n] = i
        n += begins | is_end | ((not stays) & (token_type != MARKS) & (token_type != NEWLINE))
        if begins:
            begins = token_type == MARKS or (pretokenized and opens(decode(buf, words.starts[i], buf.size)[0]))
        begins |= is_end
    return n


@inner
def _copy(text: U8Array, start: i64, end: i64, out: U8Array, j: i64) -> i64:
    """Writes text[start:end] at out[j:]; the offset after it."""
    copy_bytes(text, start, end - start, out, j)
    return j + end - start


@inner
def _compare(part: u64, form: u64, mask: u64) -> tuple[u64, u64]:
    """The bits of the mask in which eight bytes of a token and a form differ, and those that are no letter's case."""
    changes = (part ^ form) & mask
    letters = within((part | CASE_BITS) & _ASCII, 97, 122) & ~part
    return changes, changes & ~(letters >> u64(2))


@inner
def _changes(text: U8Array, start: i64, end: i64, data: U8Array, form: i64) -> tuple[bool, bool]:
    """Whether text[start:end] and data[form : form + end − start] differ, and whether in more than ASCII letters."""
    if max(end - text.size, form + (end - start) - data.size) > -8:
        return True, True  # not to read behind the end
    every = ~u64(0)
    left = end - start
    changes, others = u64(0), u64(0)
    while left > 8:
        more = _compare(get_eight(text, end - left), get_eight(data, form), every)
        changes |= more[0]
        others |= more[1]
        form += 8
        left -= 8
    more = _compare(get_eight(text, end - left), get_eight(data, form), every >> u64(64 - 8 * left))
    return changes | more[0] != u64(0), others | more[1] != u64(0)


@inner
def _spell_eight(part: u64, how: u8, begun: bool) -> tuple[u64, bool]:
    """Eight bytes of ASCII lowercase, UPPER, or CAPITALIZED, if not `begun`; and whether there is a letter by then."""
    part |= within(part, 65, 90) >> u64(2)
    letters = within(part, 97, 122) >> u64(2)
    if how == Shape.UPPER:
        part &= ~letters
    elif how == Shape.CAPITALIZED and not begun:
        part &= ~(letters & (~letters + u64(1)))
    return part, begun or letters != u64(0)


@inner
def _is_spelled(text: U8Array, start: i64, end: i64, how: u8, lowering: Lowering) -> tuple[bool, bool]:
    """Whether text[start:end] is plain ASCII, neither at the end of the text, and whether it has this shape, not MIXED.
    The irregular letter of the Lowering is plain in no case."""
    if end + 8 > text.size:
        return False, False
    differ, plain = u64(0), True
    begun = False
    for i in range(start, end, 8):
        part = get_eight(text, i) & ~u64(0) >> u64(max(0, 64 - 8 * (end - i)))
        plain = plain and is_plain(part | CASE_BITS, lowering.irregular | CASE_BITS, lowering.not_plain)
        spelled, begun = _spell_eight(part, how, begun)
        differ |= spelled ^ part
    return plain, differ == u64(0)


@inner
def _put_spelled(text: U8Array, start: i64, end: i64, how: u8, out: U8Array, j: i64) -> i64:
    """Writes ASCII text[start:end] in a shape, not MIXED, at out[j:], and up to 7 bytes more; the offset after it."""
    begun = False
    for i in range(start, end, 8):
        part, begun = _spell_eight(get_eight(text, i) & _ASCII, how, begun)
        put_eight(out, j + i - start, part)
    return j + end - start


@outlined
@inner
def _put_lowered(
    buf: U8Array,
    start: i64,
    end: i64,
    data: U8Array,
    form: i64,
    form_end: i64,
    pretokenized: bool,
    out: U8Array,
    j: i64,
    room: U8Array,
    spelling: Spelling,
) -> i64:
    """Writes a surface form, for the token buf[start:end], in lowercase; the offset after it. `room` as for `spell`."""
    if pretokenized:
        after = _copy(data, form, form_end, out, j)
    else:
        after = _copy_form(buf, start, end, data, form, form_end, out, j)
    size = lower_into(out, j, after, j, after, room, 0, spelling.info, spelling.lowering)
    return _copy(room, 0, size, out, j)


@kernel
def _write(
    buf: U8Array,
    words: Words,
    found: I64Array,
    path: LabelPath,
    shapes: U8Array,
    copies: Copies,
    data: U8Array,
    offsets: I64Array,
    pretokenized: bool,
    sentence_case: bool,
    spelling: Spelling,
    room: U8Array,
    out: U8Array,
) -> i64:
    """Writes the text to `out`; its size. found: the words that may change. shapes: as in `write`, or empty, as copies
    may be. room: for a word and more."""
    token_types = words.token_types
    info, lowering, size = spelling.info, spelling.lowering, buf.size
    n_copied = 0  # all of buf[:n_copied] is written
    j = 0  # at the end of what is written
    begins = True  # no word of the sentence yet
    has_copies = copies.starts.size > 0
    last = found.size - 1
    for k in range(found.size):
        prefetch(offsets, path.labels[found[min(k + 2 * _AHEAD, last)]])
        prefetch(data, offsets[path.labels[found[min(k + _AHEAD, last)]]])
        i = found[k]
        begins = begins or path.begins[i]
        start, end = words.starts[i], words.ends[i]
        if token_types[i] == NEWLINE:
            begins = True
            continue
        if token_types[i] == MARKS or token_types[i] == PROTECTED:
            begins = begins and token_types[i] == MARKS and opens(decode(buf, start, size)[0])
            if token_types[i] == PROTECTED and has_copies and copies.starts[i] >= 0:
                j = _copy(buf, n_copied, start, out, j)
                j = _copy(copies.text, copies.starts[i], copies.ends[i], out, j)
                n_copied = end
            continue
        label = path.labels[i]
        form, form_end = offsets[label], offsets[label + 1]
        is_first = sentence_case and begins
        is_spelled = shapes.size > 0 and shapes[i] != AS_FORM and label == words.first_labels[i]
        if is_spelled:
            by_letter = shapes[i] == Shape.LOWER or (shapes[i] != Shape.MIXED and len(spelling.raisings) == 0)
            if by_letter and not is_first and not (spelling.respells and label != 0):
                is_plain_ascii, is_same = _is_spelled(buf, start, end, shapes[i], lowering)
                if is_plain_ascii and is_same:
                    continue
                if is_plain_ascii:
                    j = _put_spelled(buf, start, end, shapes[i], out, _copy(buf, n_copied, start, out, j))
                    n_copied = end
                    continue
        elif form_end - form == end - start and label != 0 and not is_first:
            is_changed, in_more_than_case = _changes(buf, start, end, data, form)
            if not is_changed:
                continue
            if not in_more_than_case:  # the LM writes neither a digit nor an apostrophe of it differently
                j = _copy(data, form, form_end, out, _copy(buf, n_copied, start, out, j))
                n_copied = end
                continue
        j = _copy(buf, n_copied, start, out, j)
        word = j
        if is_spelled:
            if shapes[i] == Shape.MIXED and has_copies and copies.starts[i] >= 0:
                j = _copy(copies.text, copies.starts[i], copies.ends[i], out, j)
            else:
                if spelling.respells and label != 0:
                    j = _put_lowered(buf, start, end, data, form, form_end, pretokenized, out, j, room, spelling)
                else:
                    j = lower_into(buf, start, end, 0, size, out, j, info, lowering)
                j = _compose_dotted(out, word, spell(out, word, j, shapes[i], room, spelling))
            if has_sigma(out, word, j) and is_joined(buf, start, end, size, info):
                j = lower_into(buf, start, end, 0, size, out, word, info, lowering)
        elif label == 0:
            j = lower_into(buf, start, end, 0, size, out, j, info, lowering)
        elif pretokenized:
            j = _copy(data, form, form_end, out, j)
        else:
            j = _copy_form(buf, start, end, data, form, form_end, out, j)
        n_copied = end
        if is_first:
            while pretokenized and word < j and opens(decode(out, word, j)[0]):
                word = decode(out, word, j)[1]
            begins = word == j
            if word < j and info[decode(out, word, j)[0]] & CLASS == LETTER:
                j = _capitalize(out, word, j, room, spelling)
    return _copy(buf, n_copied, size, out, j)


def write(
    buf: npt.NDArray[np.uint8],
    words: Words,
    path: LabelPath,
    symbols: Symbols,
    pretokenized: bool,
    sentence_case: bool,
    shapes: npt.NDArray[np.uint8] | None = None,
    copies: Copies | None = None,
) -> memoryview:
    """The text of `buf` with its words in the surface forms of a path.

    A word in its most frequent form, or without any, is written in shapes[i], if it is one (`shapes.AS_FORM`: none).
    Where copies has the word, MIXED is as it stands there, and so is a PROTECTED token.
    With `sentence_case` each sentence's first word begins with a capital, also behind opening quotes, brackets, dashes.
    """
    spelling = spelling_of(symbols.language)
    size = buf.size
    if spelling.respells:
        labels = path.labels[words.n_forms > 0]
        size += int((symbols.offsets[labels + 1] - symbols.offsets[labels]).sum())
    # room for a lowercase word, and for it in a shape
    room = sparse((GROWTH + GROWTH * GROWTH) * size + 8, np.uint8)
    out = np.empty(GROWTH * size + 8, np.uint8)
    shapes = _NO_SHAPES if shapes is None else shapes
    found = np.empty(len(path.labels), np.int64)
    n_found = _find_changing(
        buf, words, path, shapes, symbols.small_forms, not spelling.respells, pretokenized, sentence_case, found
    )
    size = _write(
        buf, words, found[:n_found], path, shapes, copies or _NO_COPIES, symbols.data, symbols.offsets, pretokenized,
        sentence_case, spelling, room, out,
    )  # fmt: skip
    return out[:size].data


@kernel
def _mark_openings(buf: U8Array, words: Words, pretokenized: bool, openings: BoolArray) -> None:
    for i in range(openings.size):
        start, end = words.starts[i], words.ends[i]
        if pretokenized:
            while start < end and opens(decode(buf, start, end)[0]):
                start = decode(buf, start, end)[1]
            openings[i] = start == end
        else:
            openings[i] = words.token_types[i] == MARKS and opens(decode(buf, start, end)[0])


def openings(buf: npt.NDArray[np.uint8], words: Words, pretokenized: bool) -> npt.NDArray[np.bool_]:
    """bool[n]: whether the word behind this one is the first of a sentence if this one is."""
    result = np.empty(len(words.starts), np.bool_)
    _mark_openings(buf, words, pretokenized, result)
    return result
