"""Lines of UTF-8 → tokens with their offsets (design: S is made of words).

In: a buffer of whole lines. Out, in text order: `starts`, `ends` (byte offsets) and `kinds` of the tokens. Nothing is
copied and nothing is decided about case: every rule treats a text and its lowercase alike, so that training on cased
text and restoring lowercased text see the same tokens.

* WORD: letters, marks and digits with the punctuation that belongs inside (`o'neill`, `at&t`, `1,234.5`, `10:30`,
  `example.com`), abbreviations with their periods (`U.S.`, `Ph.D.`, the initial `J.`), clitics (`'s`, `n't`, `'ll`)
  on their own, so that raw and Penn-Treebank-tokenised text give the same tokens.
* COMPOUND: a hyphenated word, followed by its parts (WORD and MARKS `-`) as tokens; whoever holds a vocabulary takes
  the compound if it is known, else its parts.
* MARKS: one punctuation mark or symbol, or a run of the same.
* PROTECTED: URLs, e-mail addresses, file paths, @names and #tags, which pass through untouched.
* NEWLINE: the end of a line.

`canonical` writes a token as the LM knows it: ASCII digits as 0, curly quotes straight, dashes and ellipses in ASCII.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.system.kernels import kernel
from capfst.text.unicode import INFO, LETTER, MARK, NUMBER, PUNCT, SPACE, decode

WORD, COMPOUND, MARKS, PROTECTED, NEWLINE = range(5)
PROTECTED_CLASS = b"<url>"
"""The LM's word for every PROTECTED token; tokens of text never look like it, since `<` is a token of its own."""

_RIGHT_QUOTE = 0x2019
_NL, _SPACE, _QUOTE, _HASH, _AMP, _APOSTROPHE, _COMMA, _HYPHEN, _PERIOD, _SLASH, _ZERO, _NINE, _COLON, _AT = (
    ord(c) for c in "\n \"#&',-./09:@"
)
_BACKSLASH, _UNDERSCORE, _BACKTICK, _TILDE, _PERCENT, _PLUS = (ord(c) for c in "\\_`~%+")


class Tokens(NamedTuple):
    """The tokens of one buffer: token i is buf[starts[i]:ends[i]]."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    token_types: npt.NDArray[np.uint8]


@kernel
def _class(buf, i, end, info):  # type: ignore[no-untyped-def]
    if i >= end:
        return SPACE
    if buf[i] < 128:
        return info[buf[i]] & 7
    return info[decode(buf, i, end)[0]] & 7


@kernel
def _is_alphanumeric(c):  # type: ignore[no-untyped-def]
    return c == LETTER or c == NUMBER or c == MARK


@kernel
def _clitic_end(buf, i, end, info):  # type: ignore[no-untyped-def]
    """The end of the clitic (s m d t, ll re ve) whose letters start at `i`, just behind its apostrophe; else −1."""
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
    return -1 if _is_alphanumeric(_class(buf, i, end, info)) else i


@kernel
def _word_end(buf, start, end, info):  # type: ignore[no-untyped-def]
    """The end of the word that starts at `start`; a hyphen ends it, a clitic begins a new one."""
    i = start
    last = 0  # class of the character before, without its combining marks
    periods = 0
    letters = 0  # in the segment since the last inner period
    others = 0
    while i < end:
        b = buf[i]
        if b < 128:
            cp, j = np.int64(b), i + 1
        else:
            cp, j = decode(buf, i, end)
        c = info[cp] & 7
        if c == LETTER or c == NUMBER or c == MARK:
            if c == LETTER:
                letters += 1
                last = c
            elif c == NUMBER:
                others += 1
                last = c
            i = j
            continue
        if b == _APOSTROPHE or cp == _RIGHT_QUOTE:
            if _class(buf, j, end, info) != LETTER:
                break
            clitic = _clitic_end(buf, j, end, info)
            if clitic >= 0:
                if buf[j] | 32 != 116:
                    break
                if buf[i - 1] | 32 == 110:  # n't: the n belongs to the clitic
                    return clitic if i - 1 == start else i - 1
        elif b == _PERIOD:
            if not _is_alphanumeric(_class(buf, j, end, info)):
                break
            periods += 1
            letters = -1  # the character after it counts from 0 below
            others = 0
        elif b == _AMP:
            if last != LETTER or _class(buf, j, end, info) != LETTER:
                break
        elif b == _COMMA or b == _COLON or b == _SLASH:
            if last != NUMBER or _class(buf, j, end, info) != NUMBER:
                break
        elif b != _UNDERSCORE or not _is_alphanumeric(_class(buf, j, end, info)):
            break
        letters += 1 if letters < 0 else 2  # inner marks other than the period make a longer segment
        last = c
        i = j
    if (
        i < end
        and buf[i] == _PERIOD
        and letters == 1
        and others == 0
        and (i + 1 >= end or buf[i + 1] != _PERIOD)
        and (periods > 0 or not (buf[start] | 32 == 105 or (buf[start] == 0xC4 and buf[start + 1] == 0xB0)))
    ):
        i += 1  # "U.S.", "J."; but "So do I." ends a sentence
    return i


@kernel
def _protected_end(buf, i, end, info):  # type: ignore[no-untyped-def]
    """The end of the URL or path through `i`: up to white space or <>"`, less trailing punctuation."""
    start = i
    while i < end:
        b = buf[i]
        if b == 60 or b == 62 or b == _QUOTE or b == _BACKTICK:
            break
        if b < 128:
            j = i + 1
        else:
            j = decode(buf, i, end)[1]
        c = _class(buf, i, end, info)
        if c == SPACE or c == 0:
            break
        i = j
    while i > start:
        j = i - 1
        while j > start and buf[j] & 0xC0 == 0x80:
            j -= 1
        cp = decode(buf, j, end)[0]
        if info[cp] & 7 != PUNCT or cp == _SLASH or cp == _BACKSLASH or cp == _UNDERSCORE or cp == 61:
            break
        i = j
    return i


@kernel
def _name_end(buf, i, end, info):  # type: ignore[no-untyped-def]
    while i < end:
        c = _class(buf, i, end, info)
        if not (_is_alphanumeric(c) or buf[i] == _UNDERSCORE):
            break
        i = decode(buf, i, end)[1]
    return i


@kernel
def _is_path_start(buf, i, end, info):  # type: ignore[no-untyped-def]
    """/x  ~/x  ./x  ../x  \\\\x, where `i` does not stand behind a word."""
    j = i
    if buf[j] == _TILDE:
        j += 1
    while j < end and j < i + 2 and buf[j] == _PERIOD:
        j += 1
    if j < end and buf[j] == _SLASH:
        return _is_alphanumeric(_class(buf, j + 1, end, info)) or (j > i and j + 1 < end and buf[j + 1] == _PERIOD)
    return (
        j == i
        and j + 2 < end
        and buf[j] == _BACKSLASH
        and buf[j + 1] == _BACKSLASH
        and _is_alphanumeric(_class(buf, j + 2, end, info))
    )


@kernel
def _is_url_start(buf, i, e, end, info):  # type: ignore[no-untyped-def]
    """www.x  scheme://  C:\\, where the first word is buf[i:e]."""
    if e - i > 4 and buf[i] | 32 == 119 and buf[i + 1] | 32 == 119 and buf[i + 2] | 32 == 119 and buf[i + 3] == _PERIOD:
        return True
    if e + 1 >= end or buf[e] != _COLON:
        return False
    if buf[e + 1] == _SLASH:
        return e + 2 < end and buf[e + 2] == _SLASH
    if buf[e + 1] != _BACKSLASH:
        return False
    i = decode(buf, i, end)[1]
    while i < e and _class(buf, i, end, info) == MARK:
        i = decode(buf, i, end)[1]
    return i == e


@kernel
def _address_start(buf, word, starts, ends, kinds, n):  # type: ignore[no-untyped-def]
    """The first of the n tokens that belongs to the e-mail address before whose `@` they end, with a word at `word`:
    words and single . _ % + - without space between."""
    while n > 0 and (
        starts[n - 1] >= word
        or (
            ends[n - 1] == word
            and (
                kinds[n - 1] == WORD
                or (
                    kinds[n - 1] == MARKS
                    and ends[n - 1] - starts[n - 1] == 1
                    and buf[word - 1] in (_PERIOD, _UNDERSCORE, _PERCENT, _PLUS, _HYPHEN)
                )
            )
        )
    ):
        n -= 1
        word = starts[n]
    return n


@kernel
def _run_end(buf, i, j, end):  # type: ignore[no-untyped-def]
    """The end of the run of the character buf[i:j]."""
    e = j
    while e + (j - i) <= end:
        for k in range(j - i):
            if buf[e + k] != buf[i + k]:
                return e
        e += j - i
    return e


@kernel
def scan(buf, end, info, starts, ends, kinds):  # type: ignore[no-untyped-def]
    """Fills `starts`, `ends`, `kinds` with the tokens of buf[:end]; returns their number.

    The arrays hold `capacity(end)` entries at least.
    """
    n = 0
    i = 0
    chunk = 0  # start of the stretch without white space
    while i < end:
        b = buf[i]
        if b == _SPACE:
            i += 1
            chunk = i
            continue
        if b == _NL:
            starts[n], ends[n], kinds[n] = i, i + 1, NEWLINE
            n += 1
            i += 1
            chunk = i
            continue
        if b < 128:
            cp, j = np.int64(b), i + 1
        else:
            cp, j = decode(buf, i, end)
        c = info[cp] & 7
        if c == LETTER or c == NUMBER or c == MARK:
            e = _word_end(buf, i, end, info)
            first = n
            if e < end and buf[e] == _HYPHEN and _is_alphanumeric(_class(buf, e + 1, end, info)):
                n += 1
                s = i
                while True:
                    starts[n], ends[n], kinds[n] = s, e, WORD
                    n += 1
                    if not (e < end and buf[e] == _HYPHEN and _is_alphanumeric(_class(buf, e + 1, end, info))):
                        break
                    starts[n], ends[n], kinds[n] = e, e + 1, MARKS
                    n += 1
                    s = e + 1
                    e = _word_end(buf, s, end, info)
                starts[first], ends[first], kinds[first] = i, e, COMPOUND
            else:
                starts[n], ends[n], kinds[n] = i, e, WORD
                n += 1
            if e < end and buf[e] == _AT and _is_alphanumeric(_class(buf, e + 1, end, info)):
                n = _address_start(buf, i, starts, ends, kinds, n)
                e = _protected_end(buf, e, end, info)
                ends[n], kinds[n] = e, PROTECTED
                n += 1
            elif (b | 32 == 119 or (e < end and buf[e] == _COLON)) and _is_url_start(buf, i, e, end, info):
                e = _protected_end(buf, e, end, info)
                starts[first], ends[first], kinds[first] = i, e, PROTECTED
                n = first + 1
            i = e
            continue
        if c != PUNCT:
            i = j
            chunk = i
            continue
        attached = n > 0 and ends[n - 1] == i and kinds[n - 1] == WORD
        if b == _APOSTROPHE or cp == _RIGHT_QUOTE:
            e = _clitic_end(buf, j, end, info)
            if (
                e >= 0
                and not (j < end and buf[j] | 32 == 116)
                and (attached or not (e < end and (buf[e] == _APOSTROPHE or decode(buf, e, end)[0] == _RIGHT_QUOTE)))
            ):
                starts[n], ends[n], kinds[n] = i, e, WORD
                n += 1
                i = e
                continue
        if not attached:
            e = i
            if b == _AT or b == _HASH:
                k = _class(buf, j, end, info)
                if k == LETTER or (b == _AT and k == NUMBER) or (j < end and buf[j] == _UNDERSCORE):
                    e = _name_end(buf, j, end, info)
            elif (
                (b == _SLASH or b == _TILDE or b == _PERIOD or b == _BACKSLASH)
                and (i == chunk or buf[i - 1] in (40, 91, 123, _QUOTE, _APOSTROPHE, _BACKTICK, 61))
                and _is_path_start(buf, i, end, info)
            ):
                e = _protected_end(buf, i, end, info)
            if e > i:
                starts[n], ends[n], kinds[n] = i, e, PROTECTED
                n += 1
                i = e
                continue
        e = _run_end(buf, i, j, end)
        while e < end and _class(buf, e, end, info) == MARK:
            e = decode(buf, e, end)[1]
        starts[n], ends[n], kinds[n] = i, e, MARKS
        n += 1
        i = e
    return n


@kernel
def scan_spaced(buf, end, starts, ends, kinds):  # type: ignore[no-untyped-def]
    """As `scan`, for text that is tokenised already: tokens are what ASCII white space (and NUL) separates, as in
    KenLM."""
    n = 0
    i = 0
    while i < end:
        b = buf[i]
        if b == _NL:
            starts[n], ends[n], kinds[n] = i, i + 1, NEWLINE
            n += 1
            i += 1
        elif b == _SPACE or 9 <= b <= 13 or b == 0:
            i += 1
        else:
            s = i
            while i < end and not (buf[i] == _SPACE or 9 <= buf[i] <= 13 or buf[i] == 0):
                i += 1
            starts[n], ends[n], kinds[n] = s, i, WORD
            n += 1
    return n


@kernel
def canonical(buf, start, end, kind, out):  # type: ignore[no-untyped-def]
    """Writes the token buf[start:end] into `out` as the LM knows it, case unchanged; returns its length."""
    if kind == PROTECTED:
        for k in range(5):
            out[k] = PROTECTED_CLASS[k]
        return 5
    if kind == MARKS:
        return _canonical_marks(buf, start, end, out)
    j = 0
    i = start
    while i < end:
        b = buf[i]
        if _ZERO <= b <= _NINE:
            b = np.uint8(_ZERO)
        elif b == 0xE2 and buf[i + 1] == 0x80 and buf[i + 2] == 0x99:
            b = np.uint8(_APOSTROPHE)
            i += 2
        out[j] = b
        j += 1
        i += 1
    return j


@kernel
def _canonical_marks(buf, start, end, out):  # type: ignore[no-untyped-def]
    cp, after = decode(buf, start, end)
    run = _run_end(buf, start, after, end)  # a variation selector or accent behind it makes no other word
    length = (run - start) // (after - start)
    if cp == _APOSTROPHE or cp == _BACKTICK or 0x2018 <= cp <= 0x201B:  # ' ` ‘ ’ ‚ ‛
        out[0] = _QUOTE if length == 2 else _APOSTROPHE  # `` and '' are double quotes
        return 1
    if cp == _QUOTE or 0x201C <= cp <= 0x201F or cp == 0xAB or cp == 0xBB:  # “ ” „ ‟ « »
        out[0] = _QUOTE
        return 1
    if 0x2012 <= cp <= 0x2015 or (cp == _HYPHEN and length > 1):  # ‒ – — ―
        out[0] = out[1] = _HYPHEN
        return 2
    if cp == 0x2026 or (cp == _PERIOD and length > 1):  # …
        out[0] = out[1] = out[2] = _PERIOD
        return 3
    length = min(run - start, 3 * (after - start))  # longer runs of a mark are the same word
    for k in range(length):
        out[k] = buf[start + k]
    return length


def capacity(size: int) -> int:
    """How many tokens a buffer of `size` bytes can have: one a byte, and a compound for three of them."""
    return size + size // 3 + 2


def tokenize(text: bytes, pretokenized: bool = False) -> Tokens:
    """The tokens of `text` (valid UTF-8, any number of lines), COMPOUND tokens with their parts behind them."""
    buf = np.frombuffer(text, np.uint8)
    tokens = Tokens._make(np.empty(capacity(buf.size), t) for t in (np.int64, np.int64, np.uint8))
    n = scan_spaced(buf, buf.size, *tokens) if pretokenized else scan(buf, buf.size, INFO, *tokens)
    return Tokens._make(a[:n] for a in tokens)
