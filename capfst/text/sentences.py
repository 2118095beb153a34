"""Where a sentence may begin inside a line: behind `.`, `?`, `!` or `…`, the quotes and brackets that close behind it,
and white space.

In: the tokens of a text. Out: for each whether a sentence may begin with it, though it is not the first of its line.
Whether one does is for the LM to say (search/), or for the training corpus (corpus/vocabulary.py): abbreviations end in
a period, too, and a straight quote may open the next sentence.
"""

from __future__ import annotations

from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, I64Array, U8Array, i64, u8
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED
from capfst.text.unicode import IS_UPPER, ascii_set, decode, is_in

_OPENING = ascii_set("\"&'(*-[`{")
_CLOSING = ascii_set("\"')]}")
_ENDING = ascii_set(".?!")


@inner
def opens(code: i64) -> bool:
    """Quotes, brackets, dashes and entities (&quot;), behind which a sentence still begins."""
    if code < 128:
        return is_in(code, _OPENING)
    return (
        _is_angular(code)
        or code == 0xA1
        or code == 0xBF
        or code == 0x2022
        or 0x2010 <= code <= 0x2015
        or 0x2018 <= code <= 0x201F
    )


@inner
def _is_angular(code: i64) -> bool:
    return code == 0xAB or code == 0xBB or code == 0x2039 or code == 0x203A  # « » ‹ ›


@inner
def _ends(code: i64) -> bool:
    return is_in(code, _ENDING) if code < 128 else code == 0x2026  # …


@inner
def _closes(code: i64) -> bool:
    """Quotes that may close, and closing brackets."""
    return is_in(code, _CLOSING) if code < 128 else _is_angular(code) or 0x2018 <= code <= 0x201F


@inner
def has_ended(buf: U8Array, start: i64, end: i64, token_type: u8, before: bool) -> bool:
    """Whether a sentence may have ended with the token buf[start:end], if it may or may not have ended before it."""
    last = end - 1
    while buf[last] & 0xC0 == 0x80 and last > start:  # seldom, unlike whether a token is one character
        last -= 1
    code = decode(buf, last, end)[0]
    is_text = (token_type != NEWLINE) & (token_type != PROTECTED)
    return is_text & (_ends(code) | (before & _closes(code)))  # no branch: nobody can predict it


@inner
def mark_beginnings(buf: U8Array, starts: I64Array, ends: I64Array, token_types: U8Array, may_begin: BoolArray) -> None:
    """Fills may_begin, bool[n]: whether a sentence may begin with each of the n tokens, inside its line."""
    ended, last_end = False, 0
    for i in range(starts.size):
        may_begin[i] = ended and token_types[i] != NEWLINE and starts[i] > last_end
        ended, last_end = has_ended(buf, starts[i], ends[i], token_types[i], ended), ends[i]


@kernel
def mark_capitalised(
    buf: U8Array, starts: I64Array, ends: I64Array, token_types: U8Array, info: U8Array, begins: BoolArray
) -> None:
    """Fills begins, bool[n]: whether a sentence of cased text may begin with each of the n tokens, inside its line: the
    next word is capitalised. Of several such places before a word, it is the first."""
    mark_beginnings(buf, starts, ends, token_types, begins)
    i = 0
    while i < starts.size:
        first = i
        if begins[i]:
            while i + 1 < starts.size and token_types[i] == MARKS and opens(decode(buf, starts[i], ends[i])[0]):
                i += 1
                begins[i] = False
            begins[first] = info[decode(buf, starts[i], ends[i])[0]] & IS_UPPER != 0
        i += 1
