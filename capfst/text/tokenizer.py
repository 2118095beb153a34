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
  (`$name`) (code.py); placeholders (`%s`, `{name}`), options (`-x`), `n/a` and the like (placeholders.py); hidden code
  (markup.py).
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
from capfst.text.code import (
    back_quoted_end,
    command_end,
    entity_end,
    has_inner_sign,
    math_end,
    name_end,
    tag_end,
    variable_end,
)
from capfst.text.language import DEFAULT, Language
from capfst.text.placeholders import (
    LONGEST_LABEL,
    bracketed_end,
    escape_end,
    is_letter_escape,
    label_end,
    option_end,
    placeholder_end,
    slashed_end,
)
from capfst.text.unicode import (
    CLASS,
    IS_INNER,
    LETTER,
    MARK,
    NUMBER,
    PUNCT,
    SPACE,
    Bytes,
    ascii_set,
    class_at,
    decode,
    is_alphanumeric,
    is_in,
    within,
)

WORD, COMPOUND, MARKS, PROTECTED, NEWLINE = range(5)
PROTECTED_CLASS = b"<url>"
"""The LM's word for every PROTECTED token; no token of text equals it, because `<` is a token of its own."""

_RIGHT_QUOTE = 0x2019
_HIDDEN_CODE = 0x1A  # markup.py
(
    _NL,
    _SPACE,
    _QUOTE,
    _HASH,
    _AMP,
    _APOSTROPHE,
    _COMMA,
    _HYPHEN,
    _PERIOD,
    _SLASH,
    _ZERO,
    _ONE,
    _TWO,
    _SEVEN,
    _NINE,
    _COLON,
    _AT,
) = (ord(c) for c in "\n \"#&',-./01279:@")
_BACKSLASH, _UNDERSCORE, _BACKTICK, _TILDE, _DOLLAR, _LESS, _EQUAL, _GREATER, _ROUND, _ROUND_END, _BRACE, _PERCENT = (
    ord(c) for c in "\\_`~$<=>(){%"
)
_AFTER_JOINED = ascii_set(":/()=-")
_BEFORE_PATH = ascii_set("([{\"'`=")
_BEGINS_PROTECTED = ascii_set("@#/~.\\-`$_")
_BEGINS_CODE = ascii_set("`$\\_")
_BEGINS_MARKUP = ascii_set("<\\([{")
_BEFORE_BRACE = ascii_set("$#@")
_BEGINS_SPAN = ascii_set("<\\([{%$#@")
"""Marks at the start of markup or a placeholder."""
_BEGINS_VALUE = ascii_set("/~.-$%{<([\"'\\_")
_STANDS_ALONE = ascii_set("!\"#%'()*+,-./:;=>?@[]^{|}~")
"""Marks that are tokens of their own before white space, in any context."""
_ENDS_WORD = ascii_set('!"),.:;?]}')
_LOWER_BITS, _ASCII, _HIGHEST = (np.uint64(0x0101010101010101 * byte) for byte in (0x20, 0x7F, 0x80))
_IN_ADDRESS = ascii_set("._%+-")


class Tokens(NamedTuple):
    """The tokens of a buffer: token i is buf[starts[i]:ends[i]]."""

    starts: I64Array
    ends: I64Array
    token_types: U8Array


@inner
def _joins(buf: U8Array, i: i64, end: i64, mark: i64, info: U8Array) -> bool:
    """Return whether buf[i] is this ASCII mark, followed directly by a letter or digit."""
    return i < end and buf[i] == mark and is_alphanumeric(class_at(buf, i + 1, end, info))


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
    return -1 if is_alphanumeric(class_at(buf, i, end, info)) else i


@inner
def _is_clitic(key: u64, clitics: U64Array) -> bool:
    for clitic in clitics:  # noqa: SIM110
        if key == clitic:
            return True
    return False


@inner
def _is_elision(buf: U8Array, start: i64, end: i64, clitics: U64Array) -> bool:
    """Return whether the letters buf[start:end], in any case, are a clitic before an apostrophe."""
    if end - start > 7:
        return False
    key = u64(_APOSTROPHE) << u64(8 * (end - start))
    for i in range(start, end):
        key |= u64(buf[i] | 32) << u64(8 * (i - start))
    return _is_clitic(key, clitics)


@inner
def _suffix_end(buf: U8Array, i: i64, end: i64, info: U8Array, clitics: U64Array) -> i64:
    """Return the end of the suffix whose letters, in any case, start at `i`, after its apostrophe; −1 if there is none.
    ı and İ are read as i, ü as u."""
    key, n = u64(_APOSTROPHE), 1
    while i < end:
        code, after = decode(buf, i, end)
        char_class = info[code] & CLASS
        if char_class == LETTER or char_class == NUMBER:
            if n == 8 or not (code | 32 == 0xFC or code | 1 == 0x131 or code < 128):
                return -1
            letter = 117 if code | 32 == 0xFC else 105 if code >= 128 else code | 32
            key |= u64(letter) << u64(8 * n)
            n += 1
        elif char_class != MARK:
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
        others = (~within((part | _LOWER_BITS) & _ASCII, 97, 122) | part) & _HIGHEST
        letters = ((others & (~others + u64(1))) >> u64(7)) - u64(1)  # those before the first other byte
        n = count_ones(i64(letters)) >> 3
        key = (part | _LOWER_BITS) & letters if i == start else key if n == 0 else u64(0)
        i += n
        if n < 8:
            break
    return i, key


@inner
def _word_end(buf: U8Array, start: i64, letters_end: i64, end: i64, info: U8Array, clitics: U64Array) -> i64:
    """Return the end of the word at `start`, which has ASCII letters up to `letters_end` at least. A hyphen ends it, a
    clitic begins a new word, an elision is a word."""
    i = letters_end
    last = LETTER if i > start else 0  # class of the previous character, ignoring combining marks
    periods = 0
    letters = i - start  # in the segment since the last inner period
    others = 0
    while i < end:
        byte = buf[i]
        code, after = decode(buf, i, end)
        char_class = info[code] & CLASS
        if char_class == LETTER or char_class == NUMBER or char_class == MARK:
            if char_class == LETTER:
                letters += 1
                last = char_class
            elif char_class == NUMBER:
                others += 1
                last = char_class
            i = after
            continue
        if info[code] & IS_INNER:
            if not is_alphanumeric(class_at(buf, after, end, info)):
                break
        elif byte == _APOSTROPHE or code == _RIGHT_QUOTE:
            next_class = class_at(buf, after, end, info)
            if (next_class == LETTER or next_class == SPACE) and _is_elision(buf, start, i, clitics):
                return after
            if next_class != LETTER:
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
            if not is_alphanumeric(class_at(buf, after, end, info)):
                break
            periods += 1
            letters = -1  # set to 0 below
            others = 0
        elif byte == _AMP:
            if last != LETTER or class_at(buf, after, end, info) != LETTER or entity_end(buf, i, end, info) > 0:
                break
        elif byte == _COMMA or byte == _COLON or byte == _SLASH:
            if last != NUMBER or class_at(buf, after, end, info) != NUMBER:
                break
        elif byte != _UNDERSCORE or not is_alphanumeric(class_at(buf, after, end, info)):
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
@inner
def _protected_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the URL or path through `i`: it ends at white space or <>"`, without trailing punctuation."""
    start = i
    while i < end:
        byte = buf[i]
        if byte == 60 or byte == 62 or byte == _QUOTE or byte == _BACKTICK:
            break
        if byte < 128:
            j = i + 1
        else:
            j = decode(buf, i, end)[1]
        char_class = class_at(buf, i, end, info)
        if char_class == SPACE or char_class == 0:
            break
        i = j
    while i > start:
        j = i - 1
        while j > start and buf[j] & 0xC0 == 0x80:
            j -= 1
        code = decode(buf, j, end)[0]
        if info[code] & CLASS != PUNCT or code == _SLASH or code == _BACKSLASH or code == _UNDERSCORE or code == 61:
            break
        i = j
    return i


@outlined
@inner
def _is_path_start(buf: U8Array, i: i64, end: i64, info: U8Array) -> bool:
    """Return whether a path begins at `i`, which does not follow a word: /x  ~/x  ./x  ../x  \\\\x."""
    j = i
    if buf[j] == _TILDE:
        j += 1
    while j < end and j < i + 2 and buf[j] == _PERIOD:
        j += 1
    if j < end and buf[j] == _SLASH:
        return is_alphanumeric(class_at(buf, j + 1, end, info)) or (j > i and j + 1 < end and buf[j + 1] == _PERIOD)
    return (
        j == i
        and j + 2 < end
        and buf[j] == _BACKSLASH
        and buf[j + 1] == _BACKSLASH
        and is_alphanumeric(class_at(buf, j + 2, end, info))
    )


@inner
def _is_url_start(buf: U8Array, i: i64, e: i64, end: i64, info: U8Array) -> bool:
    """Return whether a URL begins with the word buf[i:e]: www.x  scheme://  C:\\."""
    if e - i > 4 and buf[i] | 32 == 119 and buf[i + 1] | 32 == 119 and buf[i + 2] | 32 == 119 and buf[i + 3] == _PERIOD:
        return True
    if e + 1 >= end or buf[e] != _COLON:
        return False
    if buf[e + 1] == _SLASH:
        return e + 2 < end and buf[e + 2] == _SLASH
    if buf[e + 1] != _BACKSLASH:
        return False
    i = decode(buf, i, end)[1]
    while i < e and class_at(buf, i, end, info) == MARK:
        i = decode(buf, i, end)[1]
    return i == e


@inner
def _is_name_before_slash(buf: U8Array, i: i64, e: i64, end: i64, info: U8Array) -> bool:
    """Return whether the word buf[i:e] begins the name of a group or person on Reddit, or a DOI: r/name, u/name
    10.1000/182."""
    if e - i == 1 and (buf[i] | 32 == 114 or buf[i] | 32 == 117):
        n_characters = 0
        for k in range(e + 1, name_end(buf, e + 1, end, info)):
            n_characters += buf[k] & 0xC0 != 0x80
        return n_characters >= 3
    return e - i > 6 and buf[i] == 49 and buf[i + 1] == _ZERO and buf[i + 2] == _PERIOD and buf[e - 1] <= _NINE


@outlined
@inner
def _quoted_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the value in quotes at `i`, before no letter or digit; −1 if there is none in the line."""
    j = i + 1
    while j < end and buf[j] != _NL and buf[j] != buf[i]:
        j += 2 if buf[j] == _BACKSLASH and j + 1 < end and buf[j + 1] == buf[i] else 1
    return j + 1 if j < end and buf[j] == buf[i] and not is_alphanumeric(class_at(buf, j + 1, end, info)) else -1


@inner
def _arrows_end(buf: U8Array, e: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the members ->x->y at `e`; `e` if there are none."""
    while e + 1 < end and buf[e] == _HYPHEN and buf[e + 1] == _GREATER:
        member_end = name_end(buf, e + 2, end, info)
        if member_end == e + 2:
            break
        e = member_end
    return e


@outlined
@inner
def _members_end(buf: U8Array, e: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the path or member after the variable or placeholder before `e`: $HOME/Docs  $this->Name."""
    members_end = _arrows_end(buf, e, end, info)
    if members_end > e or e + 1 >= end:
        return members_end
    after = e + 1
    if buf[e] == _COLON and buf[after] == _COLON:
        after += 1
    elif buf[e] != _SLASH and (buf[e] != _BACKSLASH or escape_end(buf, e, end, info) > 0):
        return e
    return _protected_end(buf, e, end, info) if is_alphanumeric(class_at(buf, after, end, info)) else e


@inner
def _is_apostrophe(first: u8, second: u8) -> bool:
    """Return whether the code of an apostrophe ends with these digits: 19 or 27."""
    return (first == _ONE and second == _NINE) or (first == _TWO and second == _SEVEN)


@outlined
@inner
def _markup_end(buf: U8Array, i: i64, is_apart: bool, end: i64, info: U8Array) -> i64:
    r"""Return the end of the tag, escape, label or the like at `i`, which is like white space; −1 if there is none.

    is_apart: whether a path may begin at `i`, so that `\\name` is one.
    """
    if buf[i] == _LESS:
        return tag_end(buf, i, end, info)
    if buf[i] != _BACKSLASH:
        return bracketed_end(buf, i, end, info)
    if is_apart and i + 1 < end and buf[i + 1] == _BACKSLASH:
        return -1
    token_end = escape_end(buf, i, end, info)
    if token_end - i >= 4 and _is_apostrophe(buf[token_end - 2], buf[token_end - 1]):  # it\u2019s, it\x27s
        clitic = _clitic_end(buf, token_end, end, info)
        before = i - 1
        while before > 0 and buf[before] & 0xC0 == 0x80:
            before -= 1
        if clitic > 0 and i > 0 and is_alphanumeric(class_at(buf, before, end, info)):
            return clitic
    return token_end


@outlined
@inner
def _joined_end(buf: U8Array, i: i64, e: i64, no_path: i64, end: i64, info: U8Array) -> tuple[i64, i64]:
    """Return the end of the call, URL, path, qualified name or assignment that begins with the word buf[i:e], −1 if
    there is none; and the offset before which no path begins."""
    if e + 1 < end and buf[e] == _ROUND and buf[e + 1] == _ROUND_END:
        return e + 2, no_path
    members_end = _arrows_end(buf, e, end, info)
    if members_end > e:
        return members_end, no_path
    begins = _is_url_start(buf, i, e, end, info)
    if not begins and e + 2 < end and buf[e] == _COLON and buf[e + 1] == _COLON:
        begins = buf[e + 2] == _UNDERSCORE or is_alphanumeric(class_at(buf, e + 2, end, info))
    if not begins and e < end and buf[e] == _SLASH:
        slashed = slashed_end(buf, i, e, end, info)
        if slashed > 0:
            return slashed, no_path
        begins = _is_name_before_slash(buf, i, e, end, info)
    if not begins:
        value = e + (e + 1 < end and buf[e] == _COLON and buf[e + 1] == _EQUAL)
        if value < end and buf[value] == _EQUAL:
            value += 2 if value + 1 < end and buf[value + 1] == _EQUAL else 1
            if value < end and (buf[value] == _QUOTE or buf[value] == _APOSTROPHE):
                closed = _quoted_end(buf, value, end, info)
                if closed > 0:
                    return closed, no_path
            begins = is_alphanumeric(class_at(buf, value, end, info)) or (
                value + 1 < end
                and is_in(buf[value], _BEGINS_VALUE)
                and class_at(buf, value + 1, end, info) != SPACE
                and buf[value + 1] != buf[value]
            )
    if begins or (e < end and buf[e] == _SLASH and i >= no_path):
        token_end = _protected_end(buf, e, end, info)
        if begins or has_inner_sign(buf, i, token_end, info):
            return token_end, no_path
        no_path = token_end  # a path that begins later has no sign either
    return -1, no_path


@outlined
@inner
def _code_end(buf: U8Array, i: i64, joined: bool, end: i64, info: U8Array) -> i64:
    """Return the end of the code that begins with the punctuation mark at `i`, which does not follow a word; −1 if
    there is none.

    joined: whether a PROTECTED token ends at `i`.
    """
    byte = buf[i]
    if byte == _BACKTICK and not joined:
        return back_quoted_end(buf, i, end, info)
    if byte == _DOLLAR and not joined:
        token_end = math_end(buf, i, end, info)
        if token_end < 0:
            token_end = variable_end(buf, i, end, info)
            token_end = _members_end(buf, token_end, end, info) if token_end > 0 else (-1)
        return token_end
    if byte == _BACKSLASH:
        return command_end(buf, i, end, info)
    if byte == _UNDERSCORE and i + 1 < end and buf[i + 1] == _UNDERSCORE:  # __init__.py
        return _protected_end(buf, i, end, info) if is_alphanumeric(class_at(buf, i + 2, end, info)) else -1
    return -1


@outlined
@inner
def _address_start(buf: U8Array, word: i64, starts: I64Array, ends: I64Array, token_types: U8Array, n: i64) -> i64:
    """Return the first token of the e-mail address before whose `@` the n tokens end, with a word at `word`: words and
    single . _ % + - without space in between."""
    while n > 0 and (
        starts[n - 1] >= word
        or (
            ends[n - 1] == word
            and (
                token_types[n - 1] == WORD
                or (
                    token_types[n - 1] == MARKS
                    and ends[n - 1] - starts[n - 1] == 1
                    and is_in(buf[word - 1], _IN_ADDRESS)
                )
            )
        )
    ):
        n -= 1
        word = starts[n]
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
    return is_in(next_byte, _ENDS_WORD) and (
        size > LONGEST_LABEL or (next_byte != _ROUND_END and (size > 1 or next_byte != _PERIOD))
    )


@outlined
@inner
def _add_spelled(
    buf: U8Array,
    i: i64,
    token_end: i64,
    end: i64,
    info: U8Array,
    starts: I64Array,
    ends: I64Array,
    token_types: U8Array,
    keys: U64Array,
    n: i64,
) -> i64:
    """Add the word with the escape of a letter buf[i:token_end] to the n tokens, as PROTECTED; return their number. The
    start of a part of a compound does not belong to it."""
    start = i
    if n > 0 and ends[n - 1] == i and (token_types[n - 1] == WORD or token_types[n - 1] == PROTECTED):
        is_part = starts[n - 1] > 0 and buf[starts[n - 1] - 1] == _HYPHEN
        if not is_part:
            n -= 1
            start = starts[n]
    starts[n], ends[n], token_types[n], keys[n] = start, name_end(buf, token_end, end, info), PROTECTED, 0
    return n + 1


@kernel
def scan(
    buf: U8Array,
    end: i64,
    info: U8Array,
    clitics: U64Array,
    starts: I64Array,
    ends: I64Array,
    token_types: U8Array,
    keys: U64Array,
) -> i64:
    """Fill `starts`, `ends`, `token_types` with the tokens of buf[:end]. Return their number.

    keys: for each token of up to eight ASCII letters, and for most single marks, the bytes in lowercase as the lowest
    bits of an integer; 0 for other tokens. The arrays have at least `capacity(end)` elements.
    """
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
            starts[n], ends[n], token_types[n], keys[n] = i, i + 1, NEWLINE, byte
            n += 1
            i += 1
            chunk = i
            continue
        letters_end, key = _letters(buf, i, end)
        is_mark = letters_end == i and is_in(byte, _STANDS_ALONE)
        token_end = letters_end + is_mark
        if i < token_end < end and _is_apart(buf, i, token_end, is_mark, end):  # most tokens
            starts[n], ends[n], token_types[n] = i, token_end, MARKS if is_mark else WORD
            keys[n] = byte if is_mark else key
            n += 1
            i = token_end
            continue
        code, after = decode(buf, i, end)
        char_class = info[code] & CLASS
        if char_class == LETTER or char_class == NUMBER or char_class == MARK:
            token_end = _word_end(buf, i, letters_end, end, info, clitics)
            first = n
            if _joins(buf, token_end, end, _HYPHEN, info):
                n += 1
                part = i
                while True:
                    starts[n], ends[n], token_types[n], keys[n] = part, token_end, WORD, 0
                    n += 1
                    if not _joins(buf, token_end, end, _HYPHEN, info):
                        break
                    starts[n], ends[n], token_types[n], keys[n] = token_end, token_end + 1, MARKS, 0
                    n += 1
                    part = token_end + 1
                    token_end = _word_end(buf, part, part, end, info, clitics)
                starts[first], ends[first], token_types[first], keys[first] = i, token_end, COMPOUND, 0
            else:
                starts[n], ends[n], token_types[n], keys[n] = i, token_end, WORD, 0
                n += 1
            if _joins(buf, token_end, end, _AT, info):
                n = _address_start(buf, i, starts, ends, token_types, n)
                token_end = _protected_end(buf, token_end, end, info)
                ends[n], token_types[n], keys[n] = token_end, PROTECTED, 0
                n += 1
            elif byte | 32 == 119 or (token_end < end and is_in(buf[token_end], _AFTER_JOINED)):
                if token_end < end and buf[token_end] == _ROUND_END:
                    label = label_end(buf, i, token_end, end, info)
                    if label > 0:
                        i = label
                        chunk = i
                        n = first
                        continue
                joined_end, no_path = _joined_end(buf, i, token_end, no_path, end, info)
                if joined_end > 0:
                    token_end = joined_end
                    starts[first], ends[first], token_types[first], keys[first] = i, token_end, PROTECTED, 0
                    n = first + 1
            i = token_end
            continue
        if char_class != PUNCT:
            if byte == _HIDDEN_CODE:
                token_end = _run_end(buf, i, after, end)
                starts[n], ends[n], token_types[n], keys[n] = i, token_end, PROTECTED, 0
                n += 1
                after = token_end
            i = after
            chunk = i
            continue
        is_special = is_in(byte, _BEGINS_SPAN)
        if is_special and is_in(byte, _BEGINS_MARKUP):
            token_end = _markup_end(buf, i, i == chunk or is_in(buf[i - 1], _BEFORE_PATH), end, info)
            if token_end > 0 and byte == _BACKSLASH and is_letter_escape(buf, i, token_end, info):
                n = _add_spelled(buf, i, token_end, end, info, starts, ends, token_types, keys, n)
                i = ends[n - 1]
                continue
            if token_end > 0:
                i = token_end
                chunk = i
                continue
        attached = n > 0 and ends[n - 1] == i and token_types[n - 1] == WORD
        if byte == _APOSTROPHE or code == _RIGHT_QUOTE:
            is_t = after < end and buf[after] | 32 == 116  # n't: the n belongs to the clitic
            token_end = -1 if is_t else _clitic_end(buf, after, end, info)
            if token_end < 0 and attached:
                token_end = _suffix_end(buf, after, end, info, clitics)
            if token_end >= 0 and (
                attached
                or not (
                    token_end < end
                    and (buf[token_end] == _APOSTROPHE or decode(buf, token_end, end)[0] == _RIGHT_QUOTE)
                )
            ):
                starts[n], ends[n], token_types[n], keys[n] = i, token_end, WORD, 0
                n += 1
                i = token_end
                continue
        if is_special and (
            byte == _PERCENT or byte == _BRACE or (is_in(byte, _BEFORE_BRACE) and after < end and buf[after] == _BRACE)
        ):
            token_end = placeholder_end(buf, i, end, info)
            if token_end > 0:
                token_end = _members_end(buf, token_end, end, info)
                starts[n], ends[n], token_types[n], keys[n] = i, token_end, PROTECTED, 0
                n += 1
                i = token_end
                continue
        if not attached and is_in(byte, _BEGINS_PROTECTED):
            token_end = i
            if byte == _AT or byte == _HASH:
                k = class_at(buf, after, end, info)
                if k == LETTER or (byte == _AT and k == NUMBER) or (after < end and buf[after] == _UNDERSCORE):
                    token_end = name_end(buf, after, end, info)
            elif (
                (byte == _SLASH or byte == _TILDE or byte == _PERIOD or byte == _BACKSLASH)
                and (i == chunk or is_in(buf[i - 1], _BEFORE_PATH))
                and _is_path_start(buf, i, end, info)
            ):
                token_end = _protected_end(buf, i, end, info)
            elif byte == _HYPHEN and (i == chunk or is_in(buf[i - 1], _BEFORE_PATH)):
                token_end = option_end(buf, i, end, info)
            elif is_in(byte, _BEGINS_CODE):
                token_end = _code_end(buf, i, n > 0 and ends[n - 1] == i and token_types[n - 1] == PROTECTED, end, info)
            if token_end > i:
                starts[n], ends[n], token_types[n], keys[n] = i, token_end, PROTECTED, 0
                n += 1
                i = token_end
                continue
        token_end = entity_end(buf, i, end, info) if byte == _AMP else (-1)
        if token_end < 0:
            token_end = _run_end(buf, i, after, end)
        while token_end < end and class_at(buf, token_end, end, info) == MARK:
            token_end = decode(buf, token_end, end)[1]
        starts[n], ends[n], token_types[n], keys[n] = i, token_end, MARKS, 0
        n += 1
        i = token_end
    return n


@kernel
def scan_spaced(buf: U8Array, end: i64, starts: I64Array, ends: I64Array, token_types: U8Array, keys: U64Array) -> i64:
    """Scan text that is already tokenized, as `scan` does: ASCII white space (and NUL) separates the tokens, as in
    KenLM; marks have no keys."""
    n = 0
    i = 0
    while i < end:
        byte = buf[i]
        if byte == _NL:
            starts[n], ends[n], token_types[n], keys[n] = i, i + 1, NEWLINE, byte
            n += 1
            i += 1
        elif byte == _SPACE or 9 <= byte <= 13 or byte == 0:
            i += 1
        else:
            start = i
            i, key = _letters(buf, start, end)
            while i < end and not (buf[i] == _SPACE or 9 <= buf[i] <= 13 or buf[i] == 0):
                i, key = i + 1, u64(0)
            starts[n], ends[n], token_types[n], keys[n] = start, i, WORD, key
            n += 1
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
@inner
def _canonical_marks(buf: U8Array, start: i64, end: i64, out: U8Array) -> i64:
    code, after = decode(buf, start, end)
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
    buf: npt.NDArray[np.uint8], pretokenized: bool, info: Bytes, clitics: npt.NDArray[np.uint64], memory: TokensAndKeys
) -> TokensAndKeys:
    """Return the tokens of a buffer of valid UTF-8 (any number of lines) and their keys, in this memory, which is large
    enough. COMPOUND tokens are followed by their parts. info, clitics: of the language."""
    tokens, keys = memory
    if pretokenized:
        n = scan_spaced(buf, buf.size, *tokens, keys)
    else:
        n = scan(buf, buf.size, info, clitics, *tokens, keys)
    return Tokens._make(a[:n] for a in tokens), keys[:n]


def tokenize(text: bytes, pretokenized: bool = False, language: Language = DEFAULT) -> Tokens:
    """Return the tokens of `text`, as `read_tokens` does."""
    buf = np.frombuffer(text, np.uint8)
    return read_tokens(buf, pretokenized, language.info, language.clitics, allocate_tokens(buf.size))[0]
