"""Units after numbers (200 mcg, 5000 mAh, 3h): arcs of T, like words that the user gives (user_words.py).

In: the words of a text. Out: its units, each the only casing of its word. The symbols in their case are in
`grammars/units.tsv`. A number precedes the unit, in its word (3h) or in the word before, maybe with a hyphen; a number
has digits, and no letters. A unit that is written in mixed case (Gb) may be another one, so it is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.entry_index import LISTED, Found, ListedArray
from capfst.casing.shapes import Shape, shape_of
from capfst.casing.types import Words
from capfst.kernels import copy_bytes, inner, kernel
from capfst.kernels.types import I64Array, U8Array, U64Array, i64, u64
from capfst.system.binary_search import lower_bound
from capfst.system.sparse import sparse
from capfst.text.facts import rows
from capfst.text.language import Language
from capfst.text.strings import Strings, is_same
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.text.unicode import GROWTH, INFO, Lowering, ascii_set, eight_of, is_digit, is_in, lower_bytes, lower_into

_LONGEST = 7  # bytes of a symbol in lower case
_IN_NUMBER = ascii_set("0123456789.,:/-")
_HYPHEN = ord("-")


class Table(NamedTuple):
    """The units of units.tsv, for a model."""

    symbols: Strings
    keys: I64Array  # [n]: the bytes of each in lower case, as the lowest bytes of an integer, rising
    languages: U64Array  # [n]: bits, of the numbers of the languages in which it is a unit


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
    if policy == KEEP:
        return True
    symbols = table.symbols
    is_symbol = is_same(symbols.data, symbols.offsets[k], symbols.offsets[k + 1], buf, start, end)
    is_upper = shape == Shape.UPPER or (shape == Shape.CAPITALIZED and end - start == 1)
    return not is_symbol and not is_upper


@kernel
def _find(
    buf: U8Array,
    words: Words,
    languages: U8Array,
    every: u64,
    table: Table,
    policy: i64,
    info: U8Array,
    lowering: Lowering,
    lowered: U8Array,
    text: U8Array,
    listed: ListedArray,
) -> tuple[i64, i64]:
    """Write the words that are or end with a unit to `text`, and list them. Return how many they are, and the size of
    the text. languages: of each word, or empty. every: the bits of all languages. policy: the use of the written case.
    lowered: working memory."""
    n, size, number = 0, 0, -3  # the last word that is a number
    for i in range(words.starts.size):
        start = words.starts[i]
        if not (is_digit(buf[start]) | (number >= i - 2)):  # most words, in one branch
            continue
        end, unit = words.ends[i], start
        if words.token_types[i] > COMPOUND:
            continue
        if is_digit(buf[start]):
            unit = _number_end(buf, start, end)
            if unit == end:
                number = i
        elif number < i - 1 and not (number == i - 2 and _is_hyphen(buf, words, i - 1)):
            continue
        if unit == end or end - unit > _LONGEST or words.token_types[i] != WORD:
            continue
        length = lower_into(buf, unit, end, unit, end, lowered, 0, info, lowering)
        key = i64(eight_of(lowered, 0, length)) if length <= _LONGEST else 0
        k = lower_bound(table.keys, 0, table.keys.size, key)
        if k == table.keys.size or table.keys[k] != key or _is_left(buf, unit, end, table, k, policy, info):
            continue
        language = u64(1) << u64(languages[i]) if languages.size > 0 else every
        if table.languages[k] & language != language:
            continue
        listed[n].word, listed[n].start = i, size
        copy_bytes(buf, start, unit - start, text, size)
        size += unit - start
        symbol, symbol_end = table.symbols.offsets[k], table.symbols.offsets[k + 1]
        copy_bytes(table.symbols.data, symbol, symbol_end - symbol, text, size)
        size += symbol_end - symbol
        listed[n].end = size
        n += 1
    return n, size


EVIDENCE, KEEP, IGNORE = range(3)
_NO_LANGUAGES = np.empty(0, np.uint8)
_POLICIES = {"evidence": EVIDENCE, "keep": KEEP, "ignore": IGNORE}


class Units:
    """The units, for the words of a model."""

    def __init__(self, language: Language) -> None:
        self.lowering = language.lowering
        names = language.name.partition("/")[0].split("+")
        self.every = np.uint64((1 << len(names)) - 1)  # languages
        found = []
        for symbol, *of in rows("units.tsv"):
            others = of[0].split(" ") if of else []
            bits = sum(1 << number for number, name in enumerate(names) if name not in others)
            found.append((int.from_bytes(lower_bytes(symbol.encode()), "little"), symbol.encode(), bits))
        keys, symbols, languages = zip(*sorted(found), strict=True)
        self.table = Table(Strings.of(symbols), np.array(keys, np.int64), np.array(languages, np.uint64))

    def find(
        self, buf: npt.NDArray[np.uint8], words: Words, languages: npt.NDArray[np.uint8] | None, input_case: str
    ) -> Found | None:
        """Return the units in a text, as entries without a weight; None if there are none. languages: as of
        `CasingCosts`."""
        n = len(words.starts)
        listed, text = sparse(n, LISTED), sparse(2 * buf.size + _LONGEST, np.uint8)
        n_units, size = _find(
            buf, words, _NO_LANGUAGES if languages is None else languages, self.every, self.table,
            _POLICIES[input_case], INFO, self.lowering, np.empty(GROWTH * _LONGEST + 8, np.uint8), text, listed,
        )  # fmt: skip
        return Found.of(text[:size], listed[:n_units], listed[:0], n) if n_units else None
