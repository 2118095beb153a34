"""Text that is not words: find the end of URLs, paths, tags, code, placeholders and the like.

In: a buffer of lines, and an offset where such text may begin. Out: what begins there, and the offset after it. The
rules are patterns in `grammars/protected.tsv`, of which `scripts/maintain/make_protected.py` makes one automaton,
`protected.npy`. It reads symbols: characters of ASCII with letters in lowercase, and the class of others (class_at).
No rule depends on case or reads beyond the end of the line. As a search for the end of a span stops where another span
of its kind could begin, all searches together read each character only a few times.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner, outlined
from capfst.kernels.types import BoolMatrix, U8Array, U16Array, U16Matrix, i64
from capfst.text.unicode import CLASS, CODE_POINTS, DOT_ABOVE, DOTLESS_I, LETTER, MARK, decode, is_digit, is_hex

KINDS = "nothing", "span", "members", "member", "blank", "character", "entity", "address", "version", "identifier"
NOTHING, SPAN, MEMBERS, MEMBER, BLANK, CHARACTER, ENTITY, ADDRESS, VERSION, IDENTIFIER = range(len(KINDS))
"""The kinds of rows in the table."""
ATTACHED, JOINED, MAY_BEGIN_PATH = 1, 2, 4
"""The context of a mark is the sum of these: a word ends there; a span ends there; a path may begin there."""
WORD_START, PATH_START, WHOLE_WORD, AFTER_SPAN, N_CONTEXTS = range(8, 13)
"""Other contexts: the start of a word; one where a path may begin; a whole word or compound; the end of a span."""

OTHERS = 128
"""Symbols are the characters of ASCII; from this number on, the classes of other characters; and the following."""
DOTLESS, DOT, END, N_SYMBOLS = range(OTHERS + 6, OTHERS + 10)
"""ı or İ; the dot above; the end of a word."""
_NEWLINE, _K, _W, _KELVIN = ord("\n"), ord("k"), ord("w"), 0x212A

KIND, BEFORE, AHEAD = range(3)
"""Columns of `rules`: the kind; the state in which to read the text before, backwards, or 0; how many of the characters
that the search has read when it matches come after the match."""


class Automaton(NamedTuple):
    """A search begins in the state of its context, reads the character before the offset, and ends in state 0."""

    columns: U8Array  # [N_SYMBOLS]: of each symbol in `table`
    starts: U16Array  # [N_CONTEXTS]: the states in which searches begin
    rules: U16Matrix  # [n, 3]: the rows of grammars/protected.tsv in their order; rule 0 is none of them
    table: U16Matrix  # [states, columns]: the state after a symbol
    matched: U16Array  # the rule that matches in each of the last states; none does in the others
    begins: BoolMatrix  # [N_CONTEXTS, 128]: whether something may begin with this character
    goes_on: BoolMatrix  # [128, 129]: … with a word before these two characters; in the last column, those beyond ASCII


_record = np.load(Path(__file__).with_suffix(".npy"))
AUTOMATON = Automaton(*(_record[name] for name in Automaton._fields))


@inner
def _symbol(buf: U8Array, i: i64, end: i64, info: U8Array) -> tuple[i64, i64]:
    """Return the symbol of the character at buf[i], and the offset after it. The text ends like a line."""
    if i >= end:
        return _NEWLINE, i + 1
    code, after = decode(buf, i, end)
    if code < OTHERS:
        return code, after
    if code | 1 == DOTLESS_I:
        return DOTLESS, after
    if code == DOT_ABOVE:
        return DOT, after
    return _K if code == _KELVIN else OTHERS + i64(info[code] & CLASS), after


@inner
def _before(buf: U8Array, i: i64, info: U8Array) -> tuple[i64, i64]:
    """Return the symbol of the character before buf[i], and its offset."""
    if i == 0:
        return _NEWLINE, 0
    k = i - 1
    while k > 0 and buf[k] & 0xC0 == 0x80:
        k -= 1
    return _symbol(buf, k, i, info)[0], k


@inner
def _follows(buf: U8Array, i: i64, state: i64, info: U8Array, automaton: Automaton) -> bool:
    """Return whether the text before `i` is as the rule with this state requires."""
    columns, table = automaton.columns, automaton.table
    while 0 < state < table.shape[0] - automaton.matched.size:
        symbol, i = _before(buf, i, info)
        state = i64(table[state, columns[symbol]])
    return state != 0


@inner
def may_go_on(buf: U8Array, i: i64, word_end: i64, end: i64, automaton: Automaton) -> bool:
    """Return whether it is worth a search from the word buf[i:word_end] on."""
    if word_end - i > 4 and buf[i] | 32 == _W and buf[i + 1] | 32 == _W:  # www.
        return True
    if word_end >= end or buf[word_end] >= OTHERS:
        return False
    after = min(i64(buf[word_end + 1]), OTHERS) if word_end + 1 < end else _NEWLINE
    return automaton.goes_on[buf[word_end], after]


@outlined
def search(
    buf: U8Array, i: i64, word_end: i64, end: i64, context: i64, info: U8Array, automaton: Automaton
) -> tuple[i64, i64]:
    """Return the kind of what begins at `i`, and the offset after it; NOTHING, and the last offset read.

    word_end: the end of the word that begins at `i`, if one does; else −1. context: one of those above.
    """
    columns, rules, table = automaton.columns, automaton.rules, automaton.table
    start, last, found = i, i, i
    rule, matching = i64(len(rules)), table.shape[0] - automaton.matched.size
    state = i64(table[automaton.starts[context], columns[_before(buf, i, info)[0]]])
    while state != 0:
        if i == word_end:
            state = i64(table[state, columns[END]])
        symbol, after = _symbol(buf, i, end, info)
        state = i64(table[state, columns[symbol]])
        if state >= matching and automaton.matched[state - matching] <= rule:
            rule = i64(automaton.matched[state - matching])
            found = i if rules[rule, AHEAD] == 1 else last
        last, i = i, after
    if rule == len(rules):
        return NOTHING, last
    before = i64(rules[rule, BEFORE])
    return i64(rules[rule, KIND]) if before == 0 or _follows(buf, start, before, info, automaton) else NOTHING, found


@outlined
def _is_letter(buf: U8Array, i: i64, e: i64, info: U8Array) -> bool:
    """Return whether the escape buf[i:e] of a character is that of a letter beyond ASCII."""
    code = 0
    for k in range(i, e):
        if is_hex(buf[k]) and code < CODE_POINTS:
            code = code << 4 | (i64(buf[k]) & 15) + (0 if is_digit(buf[k]) else 9)
    return OTHERS <= code < CODE_POINTS and (info[code] & CLASS == LETTER or info[code] & CLASS == MARK)


@inner
def find(
    buf: U8Array, i: i64, word_end: i64, end: i64, context: i64, info: U8Array, automaton: Automaton
) -> tuple[i64, i64]:
    """Do the same as `search`, and decide what the table leaves open: MEMBERS is SPAN, with the path or member after
    it; CHARACTER is BLANK unless it is a letter."""
    kind, found = search(buf, i, word_end, end, context, info, automaton)
    if kind == MEMBERS:
        kind = SPAN
        member, member_end = search(buf, found, -1, end, AFTER_SPAN, info, automaton)
        if member == MEMBER:
            found = member_end
    if kind == CHARACTER and not _is_letter(buf, i, found, info):
        kind = BLANK
    return kind, found
