"""Word lattices and confusion networks of speech recognizers: S as many sentences, each with a cost.

In: blocks of text, in which words are text, not numbers. Out: a `WordLattice` per utterance, in whichever of three
formats it is:

* OpenFst's text (`fstprint --acceptor`): an arc per line, `from to word [cost]`, or `from to input output [cost]`; a
  line `state [cost]` for each final state; a blank line between lattices. The first state of the first line is the
  start.
* Kaldi's text (`lattice-copy`): the same after a line with the identifier of the utterance. A cost is
  `graph,acoustic,transitions`, of which the first two are added.
* Kaldi's confusion networks (`lattice-mbr-decode`): an utterance per line, `identifier [ word probability … ] [ … ]`.

`<eps>` is the empty word. Noises, such as `<unk>` and `[laughter]`, are written, but are no words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from math import isfinite, log, nan
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CorpusError
from capfst.io.timed_words import is_noise

_EMPTY = frozenset([b"<eps>", b"<epsilon>", b"<s>", b"</s>"])
_MOST = 1.01  # a sum of rounded probabilities may exceed 1

_FORMATS = "Use the text of OpenFst or Kaldi, or Kaldi's confusion networks, with words instead of their numbers."

ARC = np.dtype([("source", "i8"), ("target", "i8"), ("word", "i8"), ("cost", "f8")])
"""An arc of a lattice: two states, the index of a word, and −ln."""


class WordLattice(NamedTuple):
    """An acyclic acceptor of words, whose states are numbered in topological order."""

    name: bytes  # of the utterance, or empty
    words: list[bytes]  # the different words; the empty word has no bytes
    arcs: npt.NDArray[np.void]  # ARC, by their sources
    start: int
    final: npt.NDArray[np.float64]  # [states]: −ln, the cost of ending; +inf if the state is not final

    @property
    def spoken(self) -> bytes:
        """The words, one per line; the lines of noises and of the empty word are empty."""
        return b"\n".join([b"" if is_noise(word.decode(errors="replace")) else word for word in self.words])


def sentence(text: bytes) -> WordLattice:
    """Return a text as a lattice of one path, without costs, whose name it is."""
    words = text.split()
    arcs = np.array([(k, k + 1, k, 0) for k in range(len(words))], ARC)
    return WordLattice(text, words, arcs, 0, np.array([np.inf] * len(words) + [0]))


class _Line(NamedTuple):
    place: str  # in errors
    fields: list[bytes]

    def state(self, k: int) -> int:
        try:
            return int(self.fields[k])
        except ValueError:
            raise self.error(f"the state {_shown(self.fields[k])} is not a number") from None

    def number(self, k: int) -> float:
        """Return the number in a field, or the sum of the first two; 0 if the line has no such field."""
        try:
            number = sum(map(float, self.fields[k].split(b",")[:2])) if k < len(self.fields) else 0.0
        except ValueError:
            number = nan
        if not isfinite(number):
            raise self.error(f"{_shown(self.fields[k])} is not a finite number")
        return number

    def error(self, problem: str, remedy: str = _FORMATS) -> CorpusError:
        return CorpusError(f"{self.place}: {problem}. {remedy}")


def _shown(field: bytes) -> str:
    return repr(field.decode(errors="replace"))


def word_lattices(blocks: Iterable[bytes], name: str) -> Iterator[WordLattice]:
    """Yield the lattices of a file that is given in blocks of whole lines. name: of the file, in errors.

    Raises:
        CorpusError: a line is not of these formats; or a lattice is empty, or has a cycle or no path.
    """
    lines: list[_Line] = []  # of a lattice
    number = 0
    for block in blocks:
        for text in block.splitlines():
            number += 1
            line = _Line(f"{name}, line {number}", text.removeprefix(b"\xef\xbb\xbf").split())
            if not lines and line.fields[1:2] == [b"["]:
                yield _confusion_network(line)
            elif line.fields:
                lines.append(line)
            elif lines:
                yield _lattice(lines)
                lines = []
    if lines:
        yield _lattice(lines)


def _lattice(lines: list[_Line]) -> WordLattice:
    head, name = lines[0], b""
    if len(head.fields) == 1:
        (name,) = lines.pop(0).fields
    if not lines:
        raise head.error(f"the lattice {_shown(name)} is empty")
    n_labels = 2 if any(len(line.fields) == 5 for line in lines) else 1
    arcs: list[tuple[int, int, bytes, float]] = []
    final: dict[int, float] = {}
    for line in lines:
        n = len(line.fields)
        if n < 3:
            final[line.state(0)] = line.number(1)
        elif n - n_labels in (2, 3):
            arcs.append((line.state(0), line.state(1), line.fields[1 + n_labels], line.number(2 + n_labels)))
        else:
            raise line.error(f"it has {n} fields, so it is neither an arc nor a final state")
    return _ordered(head, name, arcs, lines[0].state(0), final)


def _confusion_network(line: _Line) -> WordLattice:
    arcs: list[tuple[int, int, bytes, float]] = []
    state = opened = 0
    for k, field in enumerate(line.fields):
        if field == b"[":
            opened = k
        elif field == b"]":
            state += 1
        elif opened and (k - opened) % 2:  # a word, before its probability
            probability = line.number(k + 1)
            if not 0 <= probability <= _MOST:
                raise line.error(f"{probability:g} is not a probability")
            if probability:
                arcs.append((state, state + 1, field, -log(probability)))
    if line.fields[-1] != b"]":
        raise line.error("the last ] is missing")
    return _ordered(line, line.fields[0], arcs, 0, {state: 0.0})


def _ordered(
    head: _Line, name: bytes, arcs: list[tuple[int, int, bytes, float]], start: int, final: dict[int, float]
) -> WordLattice:
    """Return a lattice with its states in topological order."""
    before: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys((start, *final), ()))
    for source, target, *_ in arcs:
        before.add(target, source)
    try:
        numbers = {state: number for number, state in enumerate(before.static_order())}
    except CycleError as error:
        cycle = " ".join(map(str, error.args[1]))
        raise head.error(f"the lattice has a cycle: {cycle}", "Only acyclic ones can be searched.") from None
    words: dict[bytes, int] = {}
    rows = [
        (numbers[source], numbers[target], words.setdefault(b"" if word in _EMPTY else word, len(words)), cost)
        for source, target, word, cost in arcs
    ]
    rows.sort(key=lambda row: row[0])
    reached = {numbers[start]}
    for source, target, *_ in rows:
        if source in reached:
            reached.add(target)
    ends = np.full(len(numbers), np.inf)
    for state, cost in final.items():
        ends[numbers[state]] = cost
    if not any(ends[state] < np.inf for state in reached):
        raise head.error(
            "the lattice has no path from its first state to a final state",
            "Add a line for each final state, such as `3` or `3 0.5`.",
        )
    return WordLattice(name, list(words), np.array(rows, ARC), numbers[start], ends)
