"""Mark where a sentence may begin inside a line: after `.`, `?`, `!`, `…` or `։`, any closing quotes and brackets, and
white space. And find the first word of each sentence, after what may stand before it (`prefix_end`).

In: the tokens of a text. Out: for each token whether a sentence may begin with it although it is not the first of its
line. The search (search/boundaries.py) or the training corpus (corpus/vocabulary.py) decides whether one does:
abbreviations also end in a period, and a straight quote may open the next sentence.
"""

from __future__ import annotations

import numpy as np

from capfst.kernels import inner, kernel, outlined
from capfst.kernels.types import BoolArray, U8Array, U64Array, i64, u8, u64
from capfst.text.language import DEFAULT, Language
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, PROTECTED, WORD, Tokens
from capfst.text.unicode import IS_UPPER, ascii_set, decode, is_in

QUOTES = "\"'`´«»‹›‘’‚‛“”„‟"
CLOSES = QUOTES + ")]}>"
ENDS = ".?!…։"
"""Characters at the end of a line that is a whole sentence: the ends, and the marks that may follow them."""

_OPENING = ascii_set("\"#&'(*+-<=>[_`{|~")
_CLOSING = ascii_set("\"')]}")
_ENDING = ascii_set(".?!")
_NUMBERS = ascii_set("0123456789")
_ROMAN = ascii_set("ivx")
_AFTER_NUMBER = ascii_set("):.")
_AFTER_ONLY = ascii_set(".?!:")
_EMPHASIS = ascii_set("*_")
_NOSES = ascii_set("-'^")
_MOUTHS = ascii_set("()/3DPX[]\\dpox|")

EYES = ascii_set(":;=")
"""The marks with which emoticons begin."""

NO_MARK, OTHER_MARK, END_MARK, QUOTE = range(4)
"""What a word is: no mark; a mark; one that may end a sentence; a double quote."""

_LONGEST_TITLE = 5  # bytes of a word with a period before a name
LONGEST_REMARK = 16  # words and marks in brackets
_NONE = np.empty(0, np.bool_)
_LEFT_QUOTE, _BACKTICK = 0x2018, 96
_LONGEST_SMALL = 8  # bytes of a word that stays small, without its apostrophe


@inner
def opens(code: i64) -> bool:
    """Return whether the character is a quote, bracket, dash, bullet or symbol, or the & of an entity (&quot;): the
    first word of a sentence may follow it."""
    if code < 128:
        return is_in(code, _OPENING)
    return (
        _is_angular(code)
        or code == 0xA1  # ¡
        or code == 0xB7  # ·
        or code == 0xBF  # ¿
        or 0x2010 <= code <= 0x2015  # dashes
        or 0x2018 <= code <= 0x201F  # quotes
        or 0x2022 <= code <= 0x2023  # • ‣
        or 0x2190 <= code <= 0x2BFF  # arrows, shapes, ♪ ☑ ✓
        or 0x1F000 <= code <= 0x1FAFF  # pictures
    )


@kernel
def _mark_small_first(
    buf: U8Array, tokens: Tokens, languages: U8Array, language: i64, words: U64Array, small_first: BoolArray
) -> None:
    """Mark in small_first, bool[n], the tokens of this language that are one of the words after an apostrophe that stay
    small at the start of a sentence ('s, 't), each as the lowest bytes of an integer. The apostrophe may be a token of
    its own, or what is often typed instead of it (‘s `s); a quote that closes after the word makes it another ('t').
    languages: of each token."""
    starts, ends, token_types = tokens
    for i in range(starts.size):
        start = starts[i]
        if token_types[i] != WORD or languages[i] != language:
            continue
        code, after = decode(buf, start, ends[i])
        if is_apostrophe(code):
            start = after
        else:
            code = decode(buf, starts[i - 1], start)[0] if i > 0 and ends[i - 1] == start else i64(0)
            if not (is_apostrophe(code) or code == _LEFT_QUOTE or code == _BACKTICK):
                continue
        if ends[i] - start > _LONGEST_SMALL:
            continue
        is_quoted = (
            i + 1 < starts.size and starts[i + 1] == ends[i] and is_apostrophe(decode(buf, ends[i], ends[i + 1])[0])
        )
        key = u64(0)
        for k in range(start, ends[i]):
            key |= u64(buf[k] | 32) << u64(8 * (k - start))
        for word in words:
            small_first[i] |= key == word and not is_quoted


@inner
def is_apostrophe(code: i64) -> bool:
    return code == 39 or code == 0x2019


@inner
def prefix_end(buf: U8Array, tokens: Tokens, small_first: BoolArray, i: i64) -> i64:
    """Return the token after the prefix of a sentence that begins with token i; i if that is its first word, or ends
    the search for it.

    Prefixes are a mark that `opens`; a remark in brackets ([laughs], {\\an8}), of which a first word of more than one
    letter may be the first of a sentence too; an emoticon; the number or letter of an item with the mark after it (1.
    a) iv)); a time (00:01:02,000); a label of one word or two (john:), likewise; and a word that stays small ('s).
    """
    starts, ends, token_types = tokens
    start, end = starts[i], ends[i]
    if small_first.size > 0 and small_first[i]:
        return i + 1
    if token_types[i] == MARKS:
        after = max(_remark_end(buf, tokens, i), _face_end(buf, tokens, i)) if end - start == 1 else i
        return max(after, i + opens(decode(buf, start, end)[0]))
    if token_types[i] == PROTECTED:  # the letter of an item, with its bracket
        return i + (buf[end - 1] == 41 and end - start < 6 and _is_item(buf, start, end - 1))
    if token_types[i] != WORD or not _is_item(buf, start, end):
        return _label_end(buf, tokens, i)
    if _has_mark(buf, tokens, i):
        is_apart = end + 1 == buf.size or buf[end + 1] <= 32
        is_number = is_in(buf[start], _NUMBERS)
        if buf[end] == 58 and not is_number:  # the label of a speaker, or of an answer (a:)
            return _label_end(buf, tokens, i)
        return i + 2 * (is_apart or is_number if buf[end] == 41 else is_apart and is_number)
    return i + (n_colons(buf, start, end) > 1)


@inner
def n_colons(buf: U8Array, start: i64, end: i64) -> i64:
    """Return the number of colons in the word buf[start:end]; a time has one or two."""
    n = 0
    for k in range(start, end):
        n += buf[k] == 58
    return n


@inner
def aside_end(buf: U8Array, tokens: Tokens, i: i64) -> i64:
    """Return the token after the remark in brackets, the emoticons and pictures, the mark of emphasis (*see*), or the
    number or letter with a bracket (2) b)), that begins with token i; i if there is none. Whether a sentence begins
    depends on the words after it."""
    starts, ends, token_types = tokens
    if token_types[i] == MARKS:
        after = _remark_end(buf, tokens, i) if ends[i] - starts[i] == 1 else i
        while after < starts.size and token_types[after] == MARKS and _face_end(buf, tokens, after) > after:
            after = _face_end(buf, tokens, after)
        is_attached = i + 1 < starts.size and starts[i + 1] == ends[i]
        return i + 1 if after == i and is_attached and is_in(buf[starts[i]], _EMPHASIS) else after
    is_item = token_types[i] == WORD and _is_item(buf, starts[i], ends[i]) and _has_mark(buf, tokens, i)
    return i + 2 * (is_item and buf[ends[i]] == 41)


@inner
def _face_end(buf: U8Array, tokens: Tokens, i: i64) -> i64:
    """Return the token after the emoticon (:-) ;P), or the picture, that begins with the mark i, or i if there is
    none."""
    starts, ends = tokens.starts, tokens.ends
    code = decode(buf, starts[i], ends[i])[0]
    if code >= 128 or not is_in(code, EYES):
        return i + (0x2600 <= code <= 0x27BF or 0x1F000 <= code <= 0x1FAFF)
    j = i + 1
    if j < starts.size and starts[j] == ends[i] and is_in(buf[starts[j]], _NOSES):
        j += 1
    is_face = j < starts.size and starts[j] == ends[j - 1] and is_in(buf[starts[j]], _MOUTHS)
    is_face = is_face and (ends[j] - starts[j] == 1 or tokens.token_types[j] == MARKS)
    return j + 1 if is_face and (ends[j] == buf.size or buf[ends[j]] <= 32) else i


@inner
def _has_mark(buf: U8Array, tokens: Tokens, i: i64) -> bool:
    """Return whether a mark that may end the number of an item is attached to token i."""
    starts, ends, end = tokens.starts, tokens.ends, tokens.ends[i]
    return i + 1 < starts.size and starts[i + 1] == end and ends[i + 1] == end + 1 and is_in(buf[end], _AFTER_NUMBER)


@inner
def _is_item(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether buf[start:end] begins with a digit, or is one ASCII letter or a Roman number."""
    if is_in(buf[start], _NUMBERS) or (end - start == 1 and 97 <= buf[start] | 32 <= 122):
        return True
    return end - start < 5 and is_roman(buf, start, end)


@inner
def is_roman(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether buf[start:end] may be a Roman number: all of it is I, V and X."""
    for i in range(start, end):  # noqa: SIM110
        if not is_in(buf[i] | 32, _ROMAN):
            return False
    return True


@inner
def _label_end(buf: U8Array, tokens: Tokens, i: i64) -> i64:
    """Return the token after the label that begins with token i, or i if there is none: one word or two, the first
    maybe with a period (dr.), maybe a remark, a colon, maybe a mark of emphasis, and white space. What comes
    after it is no address or name: it has several words, or ends with a mark."""
    starts, ends, token_types = tokens
    j = i
    while j < min(i + 2, starts.size) and token_types[j] <= COMPOUND:
        j += 1
    if j == i + 1 and j + 1 < starts.size and starts[j] == ends[i] and ends[i] - starts[i] <= _LONGEST_TITLE:
        j += 2 * (buf[starts[j]] == 46 and ends[j] - starts[j] == 1 and token_types[j + 1] == WORD)
    if j > i and j < starts.size and token_types[j] == MARKS and starts[j] > ends[j - 1]:
        j = _remark_end(buf, tokens, j)
    if j == i or j + 1 >= starts.size or token_types[j] != MARKS or buf[starts[j]] != 58 or ends[j] - starts[j] > 1:
        return i
    j += starts[j + 1] == ends[j] and token_types[j + 1] == MARKS and is_in(buf[starts[j + 1]], _EMPHASIS)
    word, after = j + 1, j + 2
    if after >= starts.size or starts[word] == ends[j] or token_types[after] == NEWLINE:
        return i
    if token_types[after] <= COMPOUND or starts[after] > ends[word]:
        return word
    is_last = after + 1 == starts.size or token_types[after + 1] == NEWLINE  # not dott. rossi
    is_end = is_in(buf[starts[after]], _AFTER_ONLY) and (is_last or buf[starts[after]] != 46)
    return word if is_end and token_types[word] <= COMPOUND else i


@outlined
def _remark_end(buf: U8Array, tokens: Tokens, i: i64) -> i64:
    """Return the token after the remark in brackets that begins with the mark i, or i if there is none: of few words,
    and without the end of a sentence. Braces are a remark only around a command ({\\an8}), else a placeholder."""
    starts, ends, token_types = tokens
    opening = buf[starts[i]]
    if not (opening == 40 or opening == 91 or opening == 123):
        return i
    if opening == 123 and (ends[i] == buf.size or buf[ends[i]] != 92):
        return i
    closing = 41 if opening == 40 else opening + 2
    for j in range(i + 1, min(starts.size, i + LONGEST_REMARK)):
        if token_types[j] == NEWLINE or has_ended(buf, starts[j], ends[j], token_types[j], False):
            return i
        if token_types[j] == MARKS and buf[starts[j]] == closing and ends[j] - starts[j] == 1:
            # Not in a word: [t]he, (s)he.
            is_in_word = j + 1 < starts.size and starts[j + 1] == ends[j] and starts[j] - ends[i] < 3
            return i if is_in_word and token_types[j + 1] <= COMPOUND else j + 1
    return i


@kernel
def _mark_prefixes(buf: U8Array, tokens: Tokens, pretokenized: bool, small_first: BoolArray, passes: BoolArray) -> None:
    """Fill passes, bool[n], as in `openings`. small_first: as from `small_words`."""
    passed = 0
    for i in range(passes.size):
        if pretokenized:
            passes[i] = _is_opening(buf, tokens.starts[i], tokens.ends[i])
        else:
            passed = max(passed, prefix_end(buf, tokens, small_first, i))
            passes[i] = passed > i


@inner
def _is_opening(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether all characters of a word open."""
    while start < end and opens(decode(buf, start, end)[0]):
        start = decode(buf, start, end)[1]
    return start == end


@kernel
def _mark_first(
    buf: U8Array, tokens: Tokens, pretokenized: bool, small_first: BoolArray, begins: BoolArray, first: BoolArray
) -> None:
    """Fill first, bool[n], as in `first_words`. small_first: as from `small_words`."""
    starts, ends, token_types = tokens
    at_start, prefix, passed = True, 0, 0  # the last prefix is prefix … passed − 1
    for i in range(starts.size):
        at_start |= begins[i]
        first[i] = pretokenized and at_start  # such words may begin with marks
        if token_types[i] == NEWLINE:
            at_start = True
        elif pretokenized:
            at_start = at_start and _is_opening(buf, starts[i], ends[i])
        elif at_start and i >= passed:
            prefix, passed = i, prefix_end(buf, tokens, small_first, i)
            is_word = token_types[i] <= COMPOUND and not (small_first.size > 0 and small_first[i])
            is_label = is_word and passed > i and not is_in(buf[starts[i]], _NUMBERS) and buf[ends[i]] == 58
            first[i] = is_word and (passed == i or is_label or not _is_item(buf, starts[i], ends[i]))
            at_start = passed > i
        elif at_start and i == prefix + 1 and token_types[prefix] == MARKS:  # the first word of a remark
            first[i] = token_types[i] <= COMPOUND and not _is_item(buf, starts[i], ends[i])


def small_words(buf: U8Array, tokens: Tokens, language: Language, languages: U8Array | None) -> BoolArray:
    """Return bool[n]: whether each token is a word that stays small at the start of a sentence; empty if the language
    has none. languages: uint8[n], the number of the language of each token, in a model of several."""
    if not language.small_first or (languages is None and len(language.small_first) > 1):
        return _NONE
    n = len(tokens.starts)
    small_first, languages = np.zeros(n, np.bool_), np.zeros(n, np.uint8) if languages is None else languages
    for number, words in enumerate(language.small_first):
        if words.size:
            _mark_small_first(buf, tokens, languages, number, words, small_first)
    return small_first


def first_words(
    buf: U8Array,
    tokens: Tokens,
    begins: BoolArray,
    pretokenized: bool,
    language: Language = DEFAULT,
    languages: U8Array | None = None,
) -> BoolArray:
    """Return bool[n]: whether each token is the first word of a sentence. begins: bool[n], whether a sentence begins
    with it, inside its line. language, languages: of the model; of the tokens, as in `small_words`."""
    first = np.empty(len(tokens.starts), np.bool_)
    small_first = _NONE if pretokenized else small_words(buf, tokens, language, languages)
    _mark_first(buf, tokens, pretokenized, small_first, begins, first)
    return first


def openings(
    buf: U8Array, tokens: Tokens, pretokenized: bool, language: Language = DEFAULT, languages: U8Array | None = None
) -> BoolArray:
    """Return bool[n]: whether the next token is the first word of a sentence if this one is. language, languages: as in
    `first_words`."""
    passes = np.empty(len(tokens.starts), np.bool_)
    small_first = _NONE if pretokenized else small_words(buf, tokens, language, languages)
    _mark_prefixes(buf, tokens, pretokenized, small_first, passes)
    return passes


@inner
def _is_angular(code: i64) -> bool:
    return code == 0xAB or code == 0xBB or code == 0x2039 or code == 0x203A  # « » ‹ ›


@inner
def _ends(code: i64) -> bool:
    return is_in(code, _ENDING) if code < 128 else code == 0x2026 or code == 0x589  # … ։


@inner
def has_ended(buf: U8Array, start: i64, end: i64, token_type: u8, before: bool) -> bool:
    """Return whether a sentence may have ended with the token buf[start:end]. before: whether it may have ended with
    the previous token."""
    last = end - 1
    while buf[last] & 0xC0 == 0x80 and last > start:  # rarely taken, unlike a test for tokens of one character
        last -= 1
    code = decode(buf, last, end)[0]
    # Closing brackets, and quotes that may close.
    closes = is_in(code, _CLOSING) if code < 128 else _is_angular(code) or 0x2018 <= code <= 0x201F
    is_text = (token_type != NEWLINE) & (token_type != PROTECTED)
    return is_text & (_ends(code) | (before & closes))  # a branch would be mispredicted


@inner
def mark_beginnings(buf: U8Array, tokens: Tokens, may_begin: BoolArray) -> None:
    """Fill may_begin, bool[n]: whether a sentence may begin with each of the n tokens, inside its line."""
    starts, ends, token_types = tokens
    ended, last_end = False, 0
    for i in range(starts.size):
        may_begin[i] = ended and token_types[i] != NEWLINE and starts[i] > last_end
        ended, last_end = has_ended(buf, starts[i], ends[i], token_types[i], ended), ends[i]


@inner
def mark_of(buf: U8Array, start: i64, end: i64) -> i64:
    """Return which mark the mark buf[start:end] is: OTHER_MARK, END_MARK or QUOTE."""
    code = decode(buf, start, end)[0]
    is_pair = end - start == 2 and (code == 39 or code == 96)  # '' or ``
    is_quote = is_pair or code == 34 or 0x201C <= code <= 0x201F or code == 0xAB or code == 0xBB
    return END_MARK if _ends(code) else QUOTE if is_quote else OTHER_MARK


@kernel
def mark_capitalized(buf: U8Array, tokens: Tokens, info: U8Array, begins: BoolArray) -> None:
    """Fill begins, bool[n]: whether a sentence of cased text may begin with each of the n tokens, inside its line, and
    the next word is capitalized. Of several such tokens before a word, only the first is marked."""
    starts, ends, token_types = tokens
    mark_beginnings(buf, tokens, begins)
    i = 0
    while i < starts.size:
        first = i
        if begins[i]:
            while i + 1 < starts.size and token_types[i] == MARKS and opens(decode(buf, starts[i], ends[i])[0]):
                i += 1
                begins[i] = False
            begins[first] = info[decode(buf, starts[i], ends[i])[0]] & IS_UPPER != 0
        i += 1
