"""Words and phrases that the user knows, given at recasing: arcs of T, besides those of the model.

In: files with an entry per line, its casing and optionally a tab and a weight in nats; or the entries themselves. Out:
`UserWords`, which finds them in a text (entry_index.py). An entry without a weight is the only casing of its words;
with a weight, its cost is lowered by it (context/user_costs.py).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from capfst.casing import entry_index as ei
from capfst.casing.shapes import Shape, shapes_of
from capfst.casing.transducer import Transducer
from capfst.casing.types import LISTED, Found, Words
from capfst.exceptions import CorpusError, OptionError
from capfst.io.blocks import read_blocks
from capfst.kernels.types import I64Array, U8Array, U64Array
from capfst.options import LISTS, MAX_WEIGHT, UserEntry
from capfst.system.sparse import sparse
from capfst.text.facts import folder
from capfst.text.restoring import unchanged
from capfst.text.strings import Strings
from capfst.text.tokenizer import NEWLINE, WORD
from capfst.text.unicode import GROWTH, Lowering, lower, lower_bytes
from capfst.text.utf8 import encoded

MOST_CASINGS = 10
"""Entries with the same words. Wherever these are in a text, the costs of each are compared."""
_QUOTE, _RIGHT_QUOTE = "'", "’"
_SLOTS = 1.4  # per word


class _Entry(NamedTuple):
    text: str
    weight: float
    list: str  # the file, or another name of the list
    number: int  # of its line

    @property
    def place(self) -> str:
        """Where the entry is in its list."""
        return f"{'entry' if self.list == _GIVEN else 'line'} {self.number}"

    def error(self, problem: str) -> CorpusError:
        return CorpusError(f"{self.list}, {self.place}: {problem}")


_GIVEN = "`words`"


class UserWords:
    """The entries of word lists, for one model.

    Args:
        words: paths of files, and entries with their weights, as in `RecaseOptions`.

    Raises:
        CorpusError: a list that cannot be read, or an entry that cannot be used.
    """

    def __init__(self, words: Sequence[str | UserEntry], transducer: Transducer) -> None:
        self.transducer = transducer
        self.lowering = transducer.symbols.language.lowering
        self.index = self._indexed(list(_variants(_entries(words))))
        weights = self.index.entries["weight"][:-1]
        self.has_fixed, self.has_weights = (weights == ei.FIXED).any(), (weights < ei.FIXED).any()

    def _indexed(self, given: list[_Entry]) -> ei.EntryIndex:
        data = encoded("".join(f"{entry.text}\n" for entry in given))
        text, small = (np.frombuffer(each, np.uint8) for each in (data, lower_bytes(data, self.lowering)))
        words, in_lower_case = self.transducer.words(text), self.transducer.words(small)
        ends, others = (np.flatnonzero(each.token_types == NEWLINE) for each in (in_lower_case, words))
        casings, _ = _runs(text, words, unchanged())
        _check_case(casings, given)
        for k in np.flatnonzero(ends != others)[:1]:
            raise given[k].error("its words differ from those of its lowercase. Remove it.")
        runs, of_words = _runs(small, in_lower_case, self.lowering)
        entries = np.zeros(len(given) + 1, ei.ENTRY)
        slots = np.zeros(int(_SLOTS * (len(of_words) - len(given))) + 1, ei.SLOT)
        entries["start"], entries["following"], slots["entry"] = casings.offsets, -1, -1
        entries["weight"] = [*(entry.weight for entry in given), ei.FIXED]
        entries["is_word"][:-1] = (np.diff(ends, prepend=-1) == 2) & (in_lower_case.token_types[ends - 1] == WORD)
        index = ei.EntryIndex(
            np.zeros(len(self.transducer.symbols), np.bool_), slots, entries, casings.data,
            int(np.diff(runs.offsets).max(initial=1)),
        )  # fmt: skip
        firsts = np.empty(len(given), np.int64)
        ei.insert(in_lower_case, of_words, index, firsts)
        _chain(firsts, casings, entries, given)
        return index

    @property
    def size(self) -> int:
        """The number of entries; those with an apostrophe count twice."""
        return len(self.index.entries) - 1

    @property
    def digest(self) -> str:
        """A hash of the entries and their weights."""
        import hashlib  # noqa: PLC0415  (it takes its time to load)

        return hashlib.sha256(bytes(self.index.casings) + bytes(self.index.entries)).hexdigest()

    def find(self, buf: U8Array, words: Words) -> Found | None:
        """Return the entries in a text, whose words may be changed (`entry_index.find`); None if there are none."""
        n, most = len(words.starts), MOST_CASINGS if self.has_weights else 1
        text = sparse(most * GROWTH * GROWTH * buf.size, np.uint8)
        fixed, weighted = sparse(n, LISTED), sparse(most * n, LISTED)
        rules = ei.Rules.of(self.lowering, self.index.longest)
        n_fixed = n_weighted = size = 0
        if self.has_fixed:
            n_fixed, size = ei.find(buf, words, self.index, rules, True, fixed, text, size)
        if self.has_weights:
            n_weighted, size = ei.find(buf, words, self.index, rules, False, weighted, text, size)
        return Found(text[:size], fixed[:n_fixed], weighted[:n_weighted]) if n_fixed + n_weighted else None


def _runs(buf: U8Array, words: Words, lowering: Lowering) -> tuple[Strings, U64Array]:
    """Return the runs of the lines of a text, and uint64[words], the keys of the runs up to each word."""
    n = len(words.starts)
    text, keys = np.empty(GROWTH * buf.size + n + 8, np.uint8), np.empty(n, np.uint64)
    offsets = np.empty(1 + np.count_nonzero(words.token_types == NEWLINE), np.int64)
    ei.spell(buf, words, ei.Rules.of(lowering, 0), text, offsets, keys)
    return Strings(text[: offsets[-1]].copy(), offsets), keys


def _chain(firsts: I64Array, casings: Strings, entries: ei.EntryArray, given: list[_Entry]) -> None:
    """Link the entries with the same words in other casings. firsts: of each entry, the first one of these.

    An entry that is repeated in the same casing counts once, with the greatest of its weights.
    """
    weights, following = entries["weight"], entries["following"]
    for k in np.flatnonzero(firsts != np.arange(len(firsts))).tolist():
        n_casings, other = 1, firsts[k]
        while casings.utf8(other) != casings.utf8(k):
            if ei.FIXED in (weights[other], weights[k]):
                raise _contradiction(given[other], given[k])
            if following[other] < 0:
                following[other] = k
            n_casings, other = n_casings + 1, following[other]
        weights[other] = max(weights[other], weights[k])
        if n_casings > MOST_CASINGS:
            problem = f"{given[k].text!r} is listed in more than {MOST_CASINGS} casings. Remove some."
            raise OptionError(str(given[k].error(problem)))


def loaded_entries(words: Iterable[str | UserEntry]) -> tuple[UserEntry, ...]:
    """Return the option `words` with the entries of its files instead of their paths.

    Raises:
        CorpusError: a list that cannot be read, or a weight that is not a number.
    """
    return tuple((entry.text, None if entry.weight == ei.FIXED else entry.weight) for entry in _entries(words))


def _entries(words: Iterable[str | UserEntry]) -> Iterator[_Entry]:
    """Yield the user's entries, and those of LISTS that have none of the same words."""
    own: list[_Entry] = []
    named: list[_Entry] = []
    number = 0
    for each in words:
        if isinstance(each, str):
            (named if is_named(each) else own).extend(_of_file(each))
        else:
            number += 1
            text, weight = each
            entry = _Entry(text.strip(), ei.FIXED if weight is None else weight, _GIVEN, number)
            if not entry.text or "\n" in entry.text:
                raise entry.error(f"{text!r} is not one line of text. Give a word or a phrase.")
            own.append(entry)
    known = {lower(entry.text) for entry in own} if named else ()
    yield from own
    yield from (entry for entry in named if lower(entry.text) not in known)


def is_named(name: str) -> bool:
    """Return whether this is the name of one of LISTS; a file is never taken for a name."""
    return name in LISTS and not Path(name).is_file()


def _of_file(name: str) -> Iterator[_Entry]:
    file = folder() / f"words_{name}.tsv" if is_named(name) else Path(name)
    if not os.path.exists(file):  # Path.exists raises for long names
        raise CorpusError(
            f"{name}: no such word list. Give the path of a file, or one of {', '.join(LISTS)}. (In Python, words"
            " themselves are the keys of a mapping to weights or None.)"
        )
    lines = b"".join(read_blocks([file], errors="refuse")).decode().split("\n")
    for number, line in enumerate(lines, 1):
        if line := line.strip():
            text, tab, weight = line.rpartition("\t")
            entry = _Entry(text.strip() if tab else line, ei.FIXED, name, number)
            yield entry._replace(weight=_weight(entry, weight)) if tab else entry


def _weight(entry: _Entry, weight: str) -> float:
    try:
        number = float(weight)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise entry.error(f"the weight {weight.strip()!r} is not a number. After a tab, write a number, such as 2.5.")
    if abs(number) > MAX_WEIGHT:
        raise entry.error(f"the weight {weight.strip()!r} is out of range. Use -{MAX_WEIGHT} to {MAX_WEIGHT}.")
    return number


def _variants(entries: Iterable[_Entry]) -> Iterator[_Entry]:
    """Yield each entry, and one with apostrophes of the other kind if it has any."""
    for entry in entries:
        yield entry
        for one, other in ((_QUOTE, _RIGHT_QUOTE), (_RIGHT_QUOTE, _QUOTE)):
            if one in entry.text:
                yield entry._replace(text=entry.text.replace(one, other))


def _check_case(casings: Strings, entries: list[_Entry]) -> None:
    """Raise CorpusError for an entry without case, or a file without a capital: it may have lost its case."""
    shapes = shapes_of(casings)
    for k in np.flatnonzero(shapes == Shape.CASELESS)[:1]:
        raise entries[k].error(f"{entries[k].text!r} has no letter with case. Remove it.")
    with_capital = {entry.list for entry, shape in zip(entries, shapes.tolist(), strict=True) if shape != Shape.LOWER}
    with_capital.add(_GIVEN)  # one by one, words may be meant in lower case
    for entry in entries:
        if entry.list not in with_capital:
            raise CorpusError(f"{entry.list}: no entry has a capital. List words in the case that they should get.")


def _contradiction(one: _Entry, other: _Entry) -> CorpusError:
    place = one.place if one.list == other.list else f"{one.list}, {one.place}"
    return other.error(f"{other.text!r} has another case in {place}: {one.text!r}. Remove one, or give each a weight.")
