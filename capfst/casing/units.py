"""Units after numbers (200 mcg, 5000 mAh, 3h), abbreviations (z.B., Nr. 5) and paragraphs (5(a)(iii)): arcs of T, like
words that the user gives (user_words.py).

In: the words of a text. Out: its units and abbreviations, each the only casing of its word, as `grammars/units.tsv` and
`grammars/abbreviations.tsv` list them. A number precedes the unit, in its word (3h) or in the word before, maybe with a
hyphen, or another unit and a slash (10 mg/kg); a number has digits, and no letters. A period follows the abbreviation.
A word in mixed case in the input (Gb) may be another unit, so it stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.types import LISTED, Found, ListedArray, Words
from capfst.kernels import copy_bytes, inner, kernel
from capfst.kernels.types import BoolArray, I64Array, U8Array, U64Array, i64, u64
from capfst.system.binary_search import lower_bound
from capfst.system.sparse import sparse
from capfst.text.abbreviations import ENGLISH
from capfst.text.facts import rows
from capfst.text.language import NAME, Language
from capfst.text.sentences import EYES, is_roman
from capfst.text.strings import Strings, is_same
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.text.unicode import GROWTH, Lowering, ascii_set, eight_of, is_digit, is_in, lower_bytes, lower_into

EVIDENCE, KEEP, IGNORE = range(3)
_LONGEST = 7  # bytes of a symbol in lower case
_PERIOD = ord(".")
_IN_NUMBER = ascii_set("0123456789.,:/-")
_HYPHEN = ord("-")
_SLASH, _ROUND_END = ord("/"), ord(")")
_MOUTH = ord("D")


class Table(NamedTuple):
    """Units, or abbreviations, for a model."""

    symbols: Strings
    keys: I64Array  # [n]: the bytes of each in lower case, as the lowest bytes of an integer, rising
    languages: U64Array  # [n]: bits, of the numbers of the languages in which it is one
    precede: BoolArray  # [n]: whether a number follows


@inner
def _number_end(buf: U8Array, i: i64, end: i64) -> i64:
    """Return the end of the number at buf[i:end], after its last digit; `i` if there is none."""
    after = i
    while i < end and is_in(buf[i], _IN_NUMBER):
        i += 1
        if is_digit(buf[i - 1]):
            after = i
    return after


@inner
def _is_hyphen(buf: U8Array, words: Words, i: i64) -> bool:
    """Return whether word i is a hyphen between the words next to it."""
    start, end = words.starts[i], words.ends[i]
    return buf[start] == _HYPHEN and end - start == 1 and words.ends[i - 1] == start and words.starts[i + 1] == end


@inner
def _is_left(buf: U8Array, start: i64, end: i64, table: Table, k: i64, policy: i64, info: U8Array) -> bool:
    """Return whether the unit k keeps the case in which it is written."""
    shape = shape_of(buf, start, end, info)
    if policy == IGNORE or shape == Shape.LOWER or shape == Shape.CASELESS:
        return False
    symbols = table.symbols
    is_symbol = is_same(symbols.data, symbols.offsets[k], symbols.offsets[k + 1], buf, start, end)
    is_upper = shape == Shape.UPPER or (shape == Shape.CAPITALIZED and end - start == 1)
    return policy == KEEP or not (is_symbol or is_upper)


@inner
def _row(buf: U8Array, start: i64, end: i64, language: u64, table: Table, lowering: Lowering, lowered: U8Array) -> i64:
    """Return the row of the symbol buf[start:end] in these languages, or −1."""
    if end - start > _LONGEST:
        return -1
    length = lower_into(buf, start, end, start, end, lowered, 0, lowering)
    key = i64(eight_of(lowered, 0, length)) if length <= _LONGEST else 0
    k = lower_bound(table.keys, 0, table.keys.size, key)
    while k < table.keys.size and table.keys[k] == key:
        if table.languages[k] & language == language:
            return k
        k += 1
    return -1


@inner
def _is_apart(buf: U8Array, i: i64) -> bool:
    """Return whether offset i is outside the text, or white space."""
    return i < 0 or i == buf.size or buf[i] <= 32


@inner
def _is_mouth(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether the d buf[start:end] is that of :D or ;-D."""
    eyes = start - 1 - i64(start > 1 and buf[start - 1] == _HYPHEN)
    return eyes >= 0 and is_in(buf[eyes], EYES) and _is_apart(buf, eyes - 1) and _is_apart(buf, end)


@inner
def _is_half_day(buf: U8Array, words: Words, i: i64, number: i64) -> bool:
    """Return whether word i is the first or second part of *a. m.* or *p. m.*, after the word `number`."""
    first = number + 1
    if number < 0 or first + 1 >= words.starts.size or i > first + 1:
        return False
    start, after = words.starts[first], words.starts[first + 1]
    return (
        words.ends[first] - start == words.ends[first + 1] - after == 2
        and (buf[start] | 32 == 97 or buf[start] | 32 == 112)
        and buf[after] | 32 == 109
        and buf[start + 1] == buf[after + 1] == _PERIOD
    )


@inner
def _is_label(buf: U8Array, words: Words, i: i64, policy: i64, info: U8Array) -> bool:
    """Return whether word i is the letter or Roman number of a paragraph after another number: 5(a)(iii). A written
    capital may be meant: 5(A)."""
    start, end = words.starts[i], words.ends[i]
    is_item = (end - start == 1 and 97 <= buf[start] | 32 <= 122) or is_roman(buf, start, end)
    if i < 2 or not is_item or words.ends[i - 1] != start or words.ends[i - 2] != start - 1 or buf[start - 1] != 40:
        return False
    number, may_change = buf[words.starts[i - 2]], policy == IGNORE or shape_of(buf, start, end, info) == Shape.LOWER
    return may_change and (is_digit(number) or number == _ROUND_END)


@kernel
def _find(
    buf: U8Array, words: Words, languages: U8Array, every: u64, units: Table, abbreviations: Table, policy: i64,
    lowering: Lowering, lowered: U8Array, text: U8Array, listed: ListedArray,
) -> tuple[i64, i64]:  # fmt: skip
    """Write the words that are or end with a unit, or are an abbreviation, to `text`, and list them. Return how many
    they are, and the size of the text. languages: of each word, or empty. every: the bits of all languages. policy: the
    use of the written case. lowered: working memory."""
    n, size, number = 0, 0, -3  # the last word that is a number, or the slash after a unit
    for i in range(words.starts.size):
        start, end = words.starts[i], words.ends[i]
        is_number, has_period = is_digit(buf[start]), buf[end - 1] == _PERIOD
        next_byte = buf[min(end, buf.size - 1)]  # the last one of the word at the end
        is_short, is_closed = has_period | (next_byte == _PERIOD), next_byte == _ROUND_END
        is_d = (end - start == 1) & (buf[start] | 32 == 100)
        if not (is_number | (number >= i - 2) | is_short | is_closed | is_d):  # most words, in one branch
            continue
        if words.token_types[i] > COMPOUND:
            continue
        unit, last, table, k = _number_end(buf, start, end) if is_number else start, end, units, -1
        if unit == end:
            number = i
        if unit == end or words.token_types[i] != WORD:
            continue
        is_face = is_d and _is_mouth(buf, start, end)
        is_label = is_closed and _is_label(buf, words, i, policy, lowering.info)
        if is_face or is_label or _is_half_day(buf, words, i, number):
            listed[n].word, listed[n].start, listed[n].end = i, size, size + end - start
            for k in range(start, end):
                text[size] = _MOUTH if is_face else buf[k] | 32  # a period stays
                size += 1
            listed[n].shape = shape_of(text, i64(listed[n].start), size, lowering.info)
            n += 1
            continue
        language = u64(1) << u64(languages[i]) if languages.size > 0 else every
        if is_number or number == i - 1 or (number == i - 2 and _is_hyphen(buf, words, i - 1)):
            k = _row(buf, unit, last, language, table, lowering, lowered)
        if k < 0 and is_short and not is_number:
            last, table = end - i64(has_period), abbreviations
            k = _row(buf, unit, last, language, table, lowering, lowered)
        if k < 0 or _is_left(buf, unit, last, table, k, policy, lowering.info):
            continue
        after = i + 1 if has_period else i + 2  # the word after the period
        if table.precede[k] and not (after < words.starts.size and is_digit(buf[words.starts[after]])):
            continue
        listed[n].word, listed[n].start = i, size
        symbol, symbol_end = table.symbols.offsets[k], table.symbols.offsets[k + 1]
        copy_bytes(buf, start, unit - start, text, size)
        copy_bytes(table.symbols.data, symbol, symbol_end - symbol, text, size + unit - start)
        size += unit - start + symbol_end - symbol
        copy_bytes(buf, last, end - last, text, size)
        size += end - last
        listed[n].end, listed[n].shape = size, shape_of(text, i64(listed[n].start), size, lowering.info)
        n += 1
        number = i + 1 if end < buf.size and buf[end] == _SLASH else number  # km/h
    return n, size


_NO_LANGUAGES = np.empty(0, np.uint8)
_POLICIES = {"evidence": EVIDENCE, "keep": KEEP, "ignore": IGNORE}


def _table(rows: Iterable[tuple[str, int, bool]]) -> Table:
    found = sorted((int.from_bytes(lower_bytes(row[0].encode()), "little"), *row) for row in rows)
    keys, symbols, languages, precede = zip(*found, strict=True) if found else ((), (), (), ())
    return Table(
        Strings.of(symbol.encode() for symbol in symbols), np.array(keys, np.int64), np.array(languages, np.uint64),
        np.array(precede, np.bool_),
    )  # fmt: skip


class Units:
    """The units and abbreviations, for the words of a model."""

    def __init__(self, language: Language) -> None:
        self.lowering = language.lowering
        names = language.names
        self.every = np.uint64((1 << len(names)) - 1)  # languages
        everywhere = {name: 1 << number for number, name in enumerate(names)}
        units = [
            (symbol, int(self.every) - sum(everywhere.get(name, 0) for name in (of[0].split(" ") if of else ())), False)
            for symbol, *of in rows("units.tsv")
        ]
        if names == [NAME]:
            everywhere = {ENGLISH: 1}
        abbreviations = [
            (word, everywhere[name], kind == "NUMBER")
            for name, word, kind, *case in rows("abbreviations.tsv")
            if case and name in everywhere and len(lower_bytes(word.encode())) <= _LONGEST
        ]
        self.units, self.abbreviations = _table(units), _table(abbreviations)

    def find(self, buf: U8Array, words: Words, languages: U8Array | None, input_case: str) -> Found | None:
        """Return the units and abbreviations in a text, as entries without a weight; None if there are none. languages:
        as of `CasingCosts`."""
        n = len(words.starts)
        listed, text = sparse(n, LISTED), sparse(2 * buf.size + _LONGEST, np.uint8)
        n_units, size = _find(
            buf, words, _NO_LANGUAGES if languages is None else languages, self.every, self.units, self.abbreviations,
            _POLICIES[input_case], self.lowering, np.empty(GROWTH * _LONGEST + 8, np.uint8), text, listed,
        )  # fmt: skip
        return Found(text[:size], listed[:n_units], listed[:0]) if n_units else None
