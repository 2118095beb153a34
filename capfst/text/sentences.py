"""Mark where a sentence may begin inside a line: after `.`, `?`, `!` or `…`, any closing quotes and brackets, and white
space.

In: the tokens of a text. Out: for each token whether a sentence may begin with it although it is not the first of its
line. The LM (search/boundaries.py) or the training corpus (corpus/vocabulary.py) decides whether one does:
abbreviations also end in a period, and a straight quote may open the next sentence.
"""

from __future__ import annotations

from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, I64Array, U8Array, i64, u8
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED
from capfst.text.unicode import IS_UPPER, ascii_set, decode, is_in

QUOTES = "\"'`´«»‹›‘’‚‛“”„‟"
CLOSES = QUOTES + ")]}>"
ENDS = ".?!…"
"""Characters at the end of a line that is a whole sentence: the ends, and the marks that may follow them."""

_OPENING = ascii_set("\"&'(*-[`{")
_CLOSING = ascii_set("\"')]}")
_ENDING = ascii_set(".?!")


@inner
def opens(code: i64) -> bool:
    """Return whether the character is a quote, bracket, dash, or the & of an entity (&quot;): the first word of a
    sentence may follow it."""
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
    """Return whether the character is a closing bracket, or a quote that may close."""
    return is_in(code, _CLOSING) if code < 128 else _is_angular(code) or 0x2018 <= code <= 0x201F


@inner
def has_ended(buf: U8Array, start: i64, end: i64, token_type: u8, before: bool) -> bool:
    """Return whether a sentence may have ended with the token buf[start:end]. before: whether it may have ended with
    the previous token."""
    last = end - 1
    while buf[last] & 0xC0 == 0x80 and last > start:  # rarely taken, unlike a test for tokens of one character
        last -= 1
    code = decode(buf, last, end)[0]
    is_text = (token_type != NEWLINE) & (token_type != PROTECTED)
    return is_text & (_ends(code) | (before & _closes(code)))  # a branch would be mispredicted


@inner
def mark_beginnings(buf: U8Array, starts: I64Array, ends: I64Array, token_types: U8Array, may_begin: BoolArray) -> None:
    """Fill may_begin, bool[n]: whether a sentence may begin with each of the n tokens, inside its line."""
    ended, last_end = False, 0
    for i in range(starts.size):
        may_begin[i] = ended and token_types[i] != NEWLINE and starts[i] > last_end
        ended, last_end = has_ended(buf, starts[i], ends[i], token_types[i], ended), ends[i]


@kernel
def mark_capitalized(
    buf: U8Array, starts: I64Array, ends: I64Array, token_types: U8Array, info: U8Array, begins: BoolArray
) -> None:
    """Fill begins, bool[n]: whether a sentence of cased text may begin with each of the n tokens, inside its line, and
    the next word is capitalized. Of several such tokens before a word, only the first is marked."""
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
