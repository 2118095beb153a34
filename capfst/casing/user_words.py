"""Words and phrases that the user knows, given at recasing: arcs of T, besides those of the model.

In: files with an entry per line, its casing and optionally a tab and a weight in nats; or the entries themselves. Out:
`UserWords`, which finds them in a text (entry_index.py). An entry without a weight is the only casing of its words;
with a weight, its cost is lowered by it (context/user_costs.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.entry_index import (
    BLOCK,
    CANDIDATE,
    ENTRY,
    FILTER_BITS,
    FIXED,
    LISTED,
    MATCH,
    MOST_CASINGS,
    PIECE,
    SLOT,
    EntryArray,
    EntryIndex,
    Found,
    PieceArray,
    Rules,
    Writing,
    find,
    insert,
    mark_first,
    split,
    write,
)
from capfst.casing.shapes import Shape
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.exceptions import CorpusError, OptionError
from capfst.io.blocks import read_blocks
from capfst.options import LISTS, MAX_WEIGHT, UserEntry
from capfst.system.sparse import sparse
from capfst.text.facts import folder
from capfst.text.unicode import GROWTH, INFO, lower, lower_bytes

_QUOTE, _RIGHT_QUOTE = "'", "’"
_SLOTS = 1.6  # per piece


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
        self.has_weights = bool((self.index.entries["weight"] < FIXED).any())

    def _indexed(self, given: list[_Entry]) -> EntryIndex:
        symbols = self.transducer.symbols
        data = "".join(f"{entry.text}\n" for entry in given).encode()
        text, small = (np.frombuffer(each, np.uint8) for each in (data, lower_bytes(data, self.lowering)))
        in_lower_case = self.transducer.words(small)
        entries, pieces = _pieces(text, self.transducer.words(text), len(given))
        small_entries, small_pieces = _pieces(small, in_lower_case, len(given))
        for k in np.flatnonzero(entries["piece"] != small_entries["piece"])[:1]:
            raise given[k - 1].error("its words differ from those of its lowercase. Remove it.")
        pieces["kind"] = small_pieces["kind"]
        entries["weight"] = [entry.weight for entry in given] + [FIXED]
        longest = int((pieces["end"] - pieces["start"]).max(initial=1))
        _check_case(entries["shapes"], given)
        index = EntryIndex(
            text, entries, pieces, np.zeros(int(_SLOTS * len(pieces)) + 1, SLOT), np.zeros(len(symbols), np.uint8),
            np.zeros(1 << (FILTER_BITS - 6), np.uint64), longest,
        )  # fmt: skip
        one, other = insert(index, self._rules(longest))
        if one == other >= 0:
            problem = f"{given[one].text!r} is listed in more than {MOST_CASINGS} casings. Remove some."
            raise OptionError(str(given[one].error(problem)))
        if other >= 0:
            raise _contradiction(given[one], given[other])
        mark_first(in_lower_case, index)
        return index

    @property
    def size(self) -> int:
        """The number of entries; those with an apostrophe count twice."""
        return len(self.index.entries) - 1

    @property
    def digest(self) -> str:
        """A hash of the entries and their weights."""
        import hashlib  # noqa: PLC0415  (it takes its time to load)

        return hashlib.sha256(self.index.text.tobytes() + self.index.entries["weight"].tobytes()).hexdigest()

    def _rules(self, longest: int) -> Rules:
        """Return the rules, with working memory for pieces of at most `longest` bytes."""
        size = GROWTH * longest + 8
        return Rules(INFO, self.lowering, np.empty(size, np.uint8), np.empty((2, size // 8 + 1), np.uint64))

    def find(self, buf: npt.NDArray[np.uint8], words: Words) -> Found | None:
        """Return the entries in a text, whose words may be changed (`write`); None if there are none."""
        n, index, rules = len(words.starts), self.index, self._rules(GROWTH * self.index.longest)
        fixed, weighted = sparse(n, MATCH), sparse(n if self.has_weights else 1, MATCH)
        n_fixed, n_weighted = find(buf, words, index, rules, np.empty(BLOCK, CANDIDATE), fixed, weighted)
        if n_fixed + n_weighted == 0:
            return None

        most = MOST_CASINGS if self.has_weights else 1
        text = sparse(most * GROWTH * GROWTH * buf.size, np.uint8)
        found = Writing(sparse(n, LISTED), text), Writing(sparse(most * n, LISTED), text)
        n_fixed, size = write(buf, words, index, rules, fixed[:n_fixed], found[0], 0)
        n_weighted, size = write(buf, words, index, rules, weighted[:n_weighted], found[1], size)
        return Found.of(text[:size], found[0].listed[:n_fixed], found[1].listed[:n_weighted], n)


def _pieces(buf: npt.NDArray[np.uint8], words: Words, n: int) -> tuple[EntryArray, PieceArray]:
    """Return the n entries, which are the lines of a text, and their pieces."""
    entries, pieces = np.zeros(n + 1, ENTRY), np.empty(buf.size, PIECE)
    n_pieces = split(buf, words, entries, pieces, INFO)
    return entries, pieces[:n_pieces].copy()


def loaded_entries(words: Iterable[str | UserEntry]) -> tuple[UserEntry, ...]:
    """Return the option `words` with the entries of its files instead of their paths.

    Raises:
        CorpusError: a list that cannot be read, or a weight that is not a number.
    """
    return tuple((entry.text, None if entry.weight == FIXED else entry.weight) for entry in _entries(words))


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
            entry = _Entry(text.strip(), FIXED if weight is None else weight, _GIVEN, number)
            if not entry.text or "\n" in entry.text:
                raise entry.error(f"{text!r} is not one line of text. Give a word or a phrase.")
            own.append(entry)
    known = {lower(entry.text) for entry in own} if named else ()
    yield from own
    yield from (entry for entry in named if lower(entry.text) not in known)


def is_named(name: str) -> bool:
    """Return whether this is the name of one of LISTS; a file is never taken for a name."""
    return name in LISTS and not Path(name).exists()


def _of_file(name: str) -> Iterator[_Entry]:
    file = folder() / f"words_{name}.tsv" if is_named(name) else Path(name)
    lines = b"".join(read_blocks([file], errors="refuse")).decode().split("\n")
    for number, line in enumerate(lines, 1):
        if line := line.strip():
            text, tab, weight = line.rpartition("\t")
            entry = _Entry(text.strip() if tab else line, FIXED, name, number)
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


def _check_case(shapes: npt.NDArray[np.int32], entries: list[_Entry]) -> None:
    """Raise CorpusError for an entry without case, or a list without a capital. shapes: of the entries' pieces, as
    bits."""
    for k in np.flatnonzero(shapes[:-1] & ~(1 << Shape.CASELESS) == 0)[:1]:
        raise entries[k].error(f"{entries[k].text!r} has no letter with case. Remove it.")
    lists: dict[str, bool] = {}
    for entry, of_entry in zip(entries, shapes.tolist(), strict=False):
        has_capital = of_entry & ~(1 << Shape.CASELESS | 1 << Shape.LOWER) != 0
        lists[entry.list] = lists.get(entry.list, False) or has_capital
    for name, has_capital in lists.items():
        if not has_capital:
            raise CorpusError(f"{name}: no entry has a capital. List words in the case that they should get.")


def _contradiction(one: _Entry, other: _Entry) -> CorpusError:
    place = one.place if one.list == other.list else f"{one.list}, {one.place}"
    return other.error(f"{other.text!r} has another case in {place}: {one.text!r}. Remove one, or give each a weight.")
