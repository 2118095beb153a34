"""Split lines of UTF-8 into tokens with their offsets: S is made of words.

In: a buffer of whole lines. Out, in text order: `starts`, `ends` (byte offsets) and `token_types` of the tokens. No
text is copied, and no rule depends on case: a text and its lowercase have the same tokens, so that training on cased
text and recasing lowercased text see the same words.

* WORD: letters, marks and digits with the punctuation inside (`o'neill`, `at&t`, `1,234.5`, `10:30`, `example.com`);
  abbreviations with their periods (`U.S.`, `Ph.D.`, the initial `J.`); clitics (`'s`, `n't`, `'ll`) on their own, so
  that raw and Penn-Treebank-tokenized text have the same tokens; likewise the clitics of a language (`l'`, `dell'`,
  `'da`).
* COMPOUND: a hyphenated word, followed by its parts (WORD and MARKS `-`) as tokens. A caller with a vocabulary takes
  the compound if the vocabulary has it, else the parts.
* MARKS: one punctuation mark or symbol, or a run of the same one; an entity (`&amp;`).
* PROTECTED: text that passes through unchanged: URLs, e-mail addresses, file paths, @names and #tags, back-quoted
  spans, LaTeX commands and math, calls (`f()`), qualified names (`a::b`, `p->x`), assignments (`k=v`), variables
  (`$name`), placeholders (`%s`, `{name}`), options (`-x`), `n/a` and the like (protected.py); hidden code (markup.py).
* NEWLINE: the end of a line.

Tags (`<b>`), escapes (`\\n`) and labels of lists (`a)`) are not tokens, like white space, so that the words around them
are neighbors.

`canonical` writes a token as the LM has it: ASCII digits as 0, straight quotes, dashes and ellipses in ASCII, one `!`
or `?` for a run of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import copy_bytes, count_ones, get_eight, inner, kernel, outlined
from capfst.kernels.types import I64Array, U8Array, U64Array, i64, u8, u64
from capfst.system.sparse import sparse
from capfst.text import protected as pt
from capfst.text import unicode as uni
from capfst.text.language import DEFAULT, Language

WORD, COMPOUND, MARKS, PROTECTED, NEWLINE = range(5)
PROTECTED_CLASS = b"<url>"
"""The LM's word for every PROTECTED token; no token of text equals it, because `<` is a token of its own."""

_RIGHT_QUOTE = 0x2019
_HIDDEN_CODE = 0x1A  # markup.py
_NL, _SPACE, _QUOTE, _AMP, _APOSTROPHE, _COMMA, _HYPHEN, _PERIOD = (ord(c) for c in "\n \"&',-.")
_SLASH, _ZERO, _NINE, _COLON, _UNDERSCORE, _BACKTICK, _ROUND_END = (ord(c) for c in "/09:_`)")
_BEFORE_PATH = uni.ascii_set("([{\"'`=")
"""Marks after which a path may begin, besides white space and the like."""
_STANDS_ALONE = uni.ascii_set("!\"#%'()*+,-./:;=>?@[]^{|}~")
"""Marks that are tokens of their own before white space, in any context."""
_ENDS_WORD = uni.ascii_set('!"),.:;?]}')
_LONGEST_LABEL = 5  # of a list: xviii)
_LOWER_BITS, _ASCII, _HIGHEST = (np.uint64(0x0101010101010101 * byte) for byte in (0x20, 0x7F, 0x80))
_IN_ADDRESS = uni.ascii_set("._%+-")


class Tokens(NamedTuple):
    """The tokens of a buffer: token i is buf[starts[i]:ends[i]]."""

    starts: I64Array
    ends: I64Array
    token_types: U8Array


@inner
def _put(tokens: Tokens, keys: U64Array, n: i64, start: i64, end: i64, token_type: i64, key: u64) -> i64:
    """Write token n with its key (`scan`). Return n + 1."""
    tokens.starts[n], tokens.ends[n], tokens.token_types[n], keys[n] = start, end, token_type, key
    return n + 1


@inner
def _clitic_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the clitic (s m d t, ll re ve) whose letters start at `i`, after its apostrophe; −1 if there is
    none."""
    if i >= end:
        return -1
    a = buf[i] | 32
    b = buf[i + 1] | 32 if i + 1 < end else 0
    if (a == 108 and b == 108) or (a == 114 and b == 101) or (a == 118 and b == 101):  # ll re ve
        i += 2
    elif a == 115 or a == 109 or a == 100 or a == 116:  # s m d t
        i += 1
    else:
        return -1
    return -1 if uni.is_alphanumeric(uni.class_at(buf, i, end, info)) else i


@inner
def _is_clitic(key: u64, clitics: U64Array) -> bool:
    for clitic in clitics:  # noqa: SIM110
        if key == clitic:
            return True
    return False


@outlined
def _is_elision(buf: U8Array, start: i64, end: i64, clitics: U64Array) -> bool:
    """Return whether the letters buf[start:end], in any case, are a clitic before an apostrophe."""
    if end - start > 7:
        return False
    key = u64(_APOSTROPHE) << u64(8 * (end - start))
    for i in range(start, end):
        key |= u64(buf[i] | 32) << u64(8 * (i - start))
    return _is_clitic(key, clitics)


@outlined
def _suffix_end(buf: U8Array, i: i64, end: i64, info: U8Array, clitics: U64Array) -> i64:
    """Return the end of the suffix whose letters, in any case, start at `i`, after its apostrophe; −1 if there is none.
    ı and İ are read as i, ü as u."""
    key, n = u64(_APOSTROPHE), 1
    while i < end:
        code, after = uni.decode(buf, i, end)
        char_class = info[code] & uni.CLASS
        if char_class == uni.LETTER or char_class == uni.NUMBER:
            if n == 8 or not (code | 32 == 0xFC or code | 1 == 0x131 or code < 128):
                return -1
            letter = 117 if code | 32 == 0xFC else 105 if code >= 128 else code | 32
            key |= u64(letter) << u64(8 * n)
            n += 1
        elif char_class != uni.MARK:
            break
        i = after
    return i if _is_clitic(key, clitics) else -1


@inner
def _letters(buf: U8Array, start: i64, end: i64) -> tuple[i64, u64]:
    """Return the end of the ASCII letters from `start` on, as far as they can be read eight bytes at a time; and their
    key, 0 if there are none or more than eight."""
    i, key = start, u64(0)
    while i + 8 <= end:
        part = get_eight(buf, i)
        others = (~uni.within((part | _LOWER_BITS) & _ASCII, 97, 122) | part) & _HIGHEST
        letters = ((others & (~others + u64(1))) >> u64(7)) - u64(1)  # those before the first other byte
        n = count_ones(i64(letters)) >> 3
        key = (part | _LOWER_BITS) & letters if i == start else key if n == 0 else u64(0)
        i += n
        if n < 8:
            break
    return i, key


@inner
def _word_end(
    buf: U8Array, start: i64, letters_end: i64, end: i64, info: U8Array, clitics: U64Array, automaton: pt.Automaton
) -> i64:
    """Return the end of the word at `start`, which has ASCII letters up to `letters_end` at least. A hyphen ends it, a
    clitic begins a new word, an elision is a word."""
    i = letters_end
    last = uni.LETTER if i > start else 0  # class of the previous character, ignoring combining marks
    periods = 0
    letters = i - start  # in the segment since the last inner period
    others = 0
    while i < end:
        byte = buf[i]
        code, after = uni.decode(buf, i, end)
        char_class = info[code] & uni.CLASS
        if char_class == uni.LETTER or char_class == uni.NUMBER or char_class == uni.MARK:
            if char_class == uni.LETTER:
                letters += 1
                last = char_class
            elif char_class == uni.NUMBER:
                others += 1
                last = char_class
            i = after
            continue
        if info[code] & uni.IS_INNER:
            if not uni.is_alphanumeric(uni.class_at(buf, after, end, info)):
                break
        elif byte == _APOSTROPHE or code == _RIGHT_QUOTE:
            next_class = uni.class_at(buf, after, end, info)
            if (next_class == uni.LETTER or next_class == uni.SPACE) and _is_elision(buf, start, i, clitics):
                return after
            if next_class != uni.LETTER:
                break
            clitic = _clitic_end(buf, after, end, info)
            if clitic >= 0:
                if buf[after] | 32 != 116:
                    break
                if buf[i - 1] | 32 == 110:  # n't: the n belongs to the clitic
                    return clitic if i - 1 == start else i - 1
            elif _suffix_end(buf, after, end, info, clitics) >= 0:
                break
        elif byte == _PERIOD:
            if not uni.is_alphanumeric(uni.class_at(buf, after, end, info)):
                break
            periods += 1
            letters = -1  # set to 0 below
            others = 0
        elif byte == _AMP:
            if (
                last != uni.LETTER
                or uni.class_at(buf, after, end, info) != uni.LETTER
                or pt.search(buf, i, -1, end, 0, info, automaton)[0] == pt.ENTITY
            ):
                break
        elif byte == _COMMA or byte == _COLON or byte == _SLASH:
            if last != uni.NUMBER or uni.class_at(buf, after, end, info) != uni.NUMBER:
                break
        elif byte != _UNDERSCORE or not uni.is_alphanumeric(uni.class_at(buf, after, end, info)):
            break
        letters += 1 if letters < 0 else 2  # inner marks other than the period lengthen the segment
        last = char_class
        i = after
    if (
        i < end
        and buf[i] == _PERIOD
        and letters == 1
        and others == 0
        and (i + 1 >= end or buf[i + 1] != _PERIOD)
        and (periods > 0 or not (buf[start] | 32 == 105 or (buf[start] == 0xC4 and buf[start + 1] | 1 == 0xB1)))
    ):
        i += 1  # "U.S.", "J."; but "So do I." ends a sentence, as do the Turkish İ and ı
    return i


@outlined
def _address_start(buf: U8Array, word: i64, tokens: Tokens, n: i64) -> i64:
    """Return the first token of the e-mail address before whose `@` the n tokens end, with a word at `word`: words and
    single . _ % + - without space in between."""
    starts, ends, token_types = tokens
    while n > 0:
        start, size = starts[n - 1], ends[n - 1] - starts[n - 1]
        is_sign = token_types[n - 1] == MARKS and size == 1 and uni.is_in(buf[start], _IN_ADDRESS)
        if start < word and not (ends[n - 1] == word and (token_types[n - 1] == WORD or is_sign)):
            break
        n -= 1
        word = start
    return n


@inner
def _run_end(buf: U8Array, i: i64, j: i64, end: i64) -> i64:
    """Return the end of the run of the character buf[i:j]."""
    e = j
    while e + (j - i) <= end:
        for k in range(j - i):
            if buf[e + k] != buf[i + k]:
                return e
        e += j - i
    return e


@inner
def _is_white(byte: u8) -> bool:
    return byte == _SPACE or byte == _NL


@inner
def _is_apart(buf: U8Array, i: i64, token_end: i64, is_mark: bool, end: i64) -> bool:
    """Return whether the token of ASCII letters, or the mark, buf[i:token_end] certainly ends there: before white
    space; letters, except initials (`J.`) and what may label a list (`a)`), also before a mark and white space."""
    next_byte = buf[token_end]
    if _is_white(next_byte):
        return True
    if is_mark or token_end + 1 >= end or not _is_white(buf[token_end + 1]):
        return False
    size = token_end - i
    return uni.is_in(next_byte, _ENDS_WORD) and (
        size > _LONGEST_LABEL or (next_byte != _ROUND_END and (size > 1 or next_byte != _PERIOD))
    )


@inner
def _name_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the letters, digits and underscores from `i` on."""
    while i < end and (buf[i] == _UNDERSCORE or uni.is_alphanumeric(uni.class_at(buf, i, end, info))):
        i = uni.decode(buf, i, end)[1]
    return i


@outlined
def _put_spelled(
    buf: U8Array, i: i64, token_end: i64, end: i64, info: U8Array, tokens: Tokens, keys: U64Array, n: i64
) -> i64:
    """Add the word with the escape of a letter buf[i:token_end] to the n tokens, as PROTECTED; return their number. The
    start of a part of a compound does not belong to it."""
    starts, ends, token_types = tokens
    start = i
    if n > 0 and ends[n - 1] == i and (token_types[n - 1] == WORD or token_types[n - 1] == PROTECTED):
        is_part = starts[n - 1] > 0 and buf[starts[n - 1] - 1] == _HYPHEN
        if not is_part:
            n -= 1
            start = starts[n]
    return _put(tokens, keys, n, start, _name_end(buf, token_end, end, info), PROTECTED, u64(0))


@kernel
def scan(
    buf: U8Array, end: i64, info: U8Array, clitics: U64Array, automaton: pt.Automaton, tokens: Tokens, keys: U64Array
) -> i64:
    """Fill `tokens` with those of buf[:end]. Return their number.

    keys: for each token of up to eight ASCII letters, and for most single marks, the bytes in lowercase as the lowest
    bits of an integer; 0 for other tokens. The arrays have at least `capacity(end)` elements.
    """
    starts, ends, token_types = tokens
    n = 0
    i = 0
    chunk = 0  # start of the current run without white space
    no_path = 0  # no path begins before this offset
    while i < end:
        byte = buf[i]
        if byte == _SPACE:
            i += 1
            chunk = i
            continue
        if byte == _NL:
            n = _put(tokens, keys, n, i, i + 1, NEWLINE, u64(byte))
            i += 1
            chunk = i
            continue
        letters_end, key = _letters(buf, i, end)
        is_mark = letters_end == i and uni.is_in(byte, _STANDS_ALONE)
        token_end = letters_end + is_mark
        if i < token_end < end and _is_apart(buf, i, token_end, is_mark, end):  # most tokens
            n = _put(tokens, keys, n, i, token_end, MARKS if is_mark else WORD, u64(byte) if is_mark else key)
            i = token_end
            continue
        code, after = uni.decode(buf, i, end)
        char_class = info[code] & uni.CLASS
        if char_class == uni.LETTER or char_class == uni.NUMBER or char_class == uni.MARK:
            first, part = n, i
            while True:
                token_end = _word_end(buf, part, letters_end, end, info, clitics, automaton)
                has_next = token_end < end and buf[token_end] == _HYPHEN
                has_next = has_next and uni.is_alphanumeric(uni.class_at(buf, token_end + 1, end, info))
                n += has_next and part == i  # the compound comes before its parts
                n = _put(tokens, keys, n, part, token_end, WORD, u64(0))
                if not has_next:
                    break
                n = _put(tokens, keys, n, token_end, token_end + 1, MARKS, u64(0))
                part = letters_end = token_end + 1
            if part > i:
                _put(tokens, keys, first, i, token_end, COMPOUND, u64(0))
            if pt.may_go_on(buf, i, token_end, end, automaton):
                kind, joined_end = pt.find(
                    buf, i, token_end, end, pt.PATH_START if i >= no_path else pt.WORD_START, info, automaton
                )
                if kind == pt.BLANK:
                    i = joined_end
                    chunk = i
                    n = first
                    continue
                if kind != pt.NOTHING:
                    n = _address_start(buf, i, tokens, n) if kind == pt.ADDRESS else first
                    token_end = joined_end
                    n = _put(tokens, keys, n, starts[n], token_end, PROTECTED, u64(0))
                elif token_end < end and buf[token_end] == _SLASH:
                    no_path = max(no_path, joined_end)  # a path that begins later has no sign either
            i = token_end
            continue
        if char_class != uni.PUNCT:
            if byte == _HIDDEN_CODE:
                token_end = _run_end(buf, i, after, end)
                n = _put(tokens, keys, n, i, token_end, PROTECTED, u64(0))
                after = token_end
            i = after
            chunk = i
            continue
        last_type = token_types[n - 1] if n > 0 and ends[n - 1] == i else u8(NEWLINE)
        attached = last_type == WORD
        if byte == _APOSTROPHE or code == _RIGHT_QUOTE:
            is_t = after < end and buf[after] | 32 == 116  # n't: the n belongs to the clitic
            token_end = -1 if is_t else _clitic_end(buf, after, end, info)
            if token_end < 0 and attached:
                token_end = _suffix_end(buf, after, end, info, clitics)
            if token_end >= 0 and (
                attached
                or not (
                    token_end < end
                    and (buf[token_end] == _APOSTROPHE or uni.decode(buf, token_end, end)[0] == _RIGHT_QUOTE)
                )
            ):
                n = _put(tokens, keys, n, i, token_end, WORD, u64(0))
                i = token_end
                continue
        kind, token_end = i64(pt.NOTHING), i
        context = pt.ATTACHED if attached else pt.JOINED if last_type == PROTECTED else 0
        if i == chunk or uni.is_in(buf[i - 1], _BEFORE_PATH):
            context += pt.MAY_BEGIN_PATH
        if byte < 128 and automaton.begins[context, byte]:
            kind, token_end = pt.find(buf, i, -1, end, context, info, automaton)
        if kind == pt.CHARACTER:
            n = _put_spelled(buf, i, token_end, end, info, tokens, keys, n)
            i = ends[n - 1]
            continue
        if kind == pt.BLANK:
            i = token_end
            chunk = i
            continue
        if kind == pt.NOTHING:
            token_end = _run_end(buf, i, after, end)
            while token_end < end and uni.class_at(buf, token_end, end, info) == uni.MARK:
                token_end = uni.decode(buf, token_end, end)[1]
        n = _put(tokens, keys, n, i, token_end, PROTECTED if kind == pt.SPAN else MARKS, u64(0))
        i = token_end
    return n


@kernel
def scan_spaced(buf: U8Array, end: i64, tokens: Tokens, keys: U64Array) -> i64:
    """Scan text that is already tokenized, as `scan` does: ASCII white space (and NUL) separates the tokens, as in
    KenLM; marks have no keys."""
    n = 0
    i = 0
    while i < end:
        byte = buf[i]
        if byte == _NL:
            n = _put(tokens, keys, n, i, i + 1, NEWLINE, u64(byte))
            i += 1
        elif byte == _SPACE or 9 <= byte <= 13 or byte == 0:
            i += 1
        else:
            start = i
            i, key = _letters(buf, start, end)
            while i < end and not (buf[i] == _SPACE or 9 <= buf[i] <= 13 or buf[i] == 0):
                i, key = i + 1, u64(0)
            n = _put(tokens, keys, n, start, i, WORD, key)
    return n


@inner
def canonical(buf: U8Array, start: i64, end: i64, token_type: i64, out: U8Array) -> i64:
    """Write the token buf[start:end] to `out` as the LM has it, case unchanged. Return its length."""
    if token_type == PROTECTED:
        for k in range(5):
            out[k] = PROTECTED_CLASS[k]
        return 5
    if token_type == MARKS:
        return _canonical_marks(buf, start, end, out)
    j = 0
    i = start
    while i < end:
        byte = buf[i]
        if _ZERO <= byte <= _NINE:
            byte = u8(_ZERO)
        elif byte == 0xE2 and buf[i + 1] == 0x80 and buf[i + 2] == 0x99:
            byte = u8(_APOSTROPHE)
            i += 2
        out[j] = byte
        j += 1
        i += 1
    return j


@outlined
def _canonical_marks(buf: U8Array, start: i64, end: i64, out: U8Array) -> i64:
    code, after = uni.decode(buf, start, end)
    run = _run_end(buf, start, after, end)  # a variation selector or accent after it does not change the word
    length = (run - start) // (after - start)
    if code == _APOSTROPHE or code == _BACKTICK or 0x2018 <= code <= 0x201B:  # ' ` ‘ ’ ‚ ‛
        out[0] = _QUOTE if length == 2 else _APOSTROPHE  # `` and '' are double quotes
        return 1
    if code == _QUOTE or 0x201C <= code <= 0x201F or code == 0xAB or code == 0xBB:  # “ ” „ ‟ « »
        out[0] = _QUOTE
        return 1
    if 0x2012 <= code <= 0x2015 or (code == _HYPHEN and length > 1):  # ‒ – — ―
        out[0] = out[1] = _HYPHEN
        return 2
    if code == 0x2026 or (code == _PERIOD and length > 1):  # …
        out[0] = out[1] = out[2] = _PERIOD
        return 3
    if code == 33 or code == 63:  # !!! ends a sentence as ! does
        out[0] = code
        return 1
    length = min(run - start, 3 * (after - start))  # runs of more than three are the same word
    copy_bytes(buf, start, length, out, 0)
    return length


def capacity(size: int) -> int:
    """Return how many tokens a buffer of `size` bytes can have at most: one per byte, and a compound per three of
    them."""
    return size + size // 3 + 2


TokensAndKeys = tuple[Tokens, npt.NDArray[np.uint64]]
"""Tokens, and the key of each (`scan`)."""


def allocate_tokens(size: int) -> TokensAndKeys:
    """Allocate memory for the tokens of `size` bytes and their keys. It is sparse: there are usually far fewer tokens
    than its capacity."""
    n = capacity(size)
    return Tokens._make(sparse(n, t) for t in (np.int64, np.int64, np.uint8)), sparse(n, np.uint64)


def read_tokens(
    buf: U8Array, pretokenized: bool, info: uni.Bytes, clitics: U64Array, memory: TokensAndKeys
) -> TokensAndKeys:
    """Return the tokens of a buffer of valid UTF-8 (any number of lines) and their keys, in this memory, which is large
    enough. COMPOUND tokens are followed by their parts. info, clitics: of the language."""
    tokens, keys = memory
    if pretokenized:
        n = scan_spaced(buf, buf.size, tokens, keys)
    else:
        n = scan(buf, buf.size, info, clitics, pt.AUTOMATON, tokens, keys)
    return Tokens._make(a[:n] for a in tokens), keys[:n]


def tokenize(text: bytes, pretokenized: bool = False, language: Language = DEFAULT) -> Tokens:
    """Return the tokens of `text`, as `read_tokens` does."""
    buf = np.frombuffer(text, np.uint8)
    return read_tokens(buf, pretokenized, language.info, language.clitics, allocate_tokens(buf.size))[0]
