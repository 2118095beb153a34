"""Read a user's grammar as a map of characters: the replacement of each.

In: an FST over UTF-8 bytes that lowers text: it accepts any text, and gives one output. Out: the map, if the FST lowers
each character independently of its context. Models store this map, so that recasing does not need pynini.

Try it, in a checkout:

    python -c "from capfst.text import character_map as m; print(m.read('docs/examples/apostrophes.py'))"
"""

import os
import runpy
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pynini
import pywrapfst
from pynini.lib import utf8

from capfst.exceptions import CorpusError

NAME = "LOWERING"
"""The name of the FST in a file."""

_CHARACTERS = utf8.VALID_UTF8_CHAR


def read(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the map of the grammar in a file: a `.far` with one FST, or with one that is named LOWERING; or a `.py`
    that assigns LOWERING.

    Raises:
        CorpusError: the file has no grammar, or the grammar is not a map of characters.
    """
    file = Path(path)
    if not file.is_file():
        raise CorpusError("no such file. Give the path of a grammar, .far or .py.")
    if file.suffix == ".py":
        fst = _run(file)
    elif file.suffix == ".far":
        fst = _stored(file)
    else:
        raise CorpusError(f"not a grammar. Use a .far file, or a .py file that assigns an FST to {NAME}.")
    return of(fst)


def _run(file: Path) -> pynini.Fst:
    try:
        fst = runpy.run_path(str(file)).get(NAME)
    except Exception as error:
        raise CorpusError(f"cannot run the grammar: {type(error).__name__}: {error}. Correct the file.") from error
    if not isinstance(fst, pynini.Fst):
        raise CorpusError(f"no FST is assigned to {NAME}. Assign the grammar to it.")
    return fst


def _stored(file: Path) -> pynini.Fst:
    try:
        stored = dict(pynini.Far(str(file), mode="r"))
    except pywrapfst.FstIOError as error:
        raise CorpusError("not an archive of FSTs. Export the grammar again.") from error
    if NAME in stored:
        return stored[NAME]
    if len(stored) != 1:
        raise CorpusError(f"{len(stored)} FSTs, and none is named {NAME}. Export exactly one, or name it {NAME}.")
    return next(iter(stored.values()))


def of(fst: pynini.Fst) -> dict[str, str]:
    """Return the replacements of the characters that an FST changes.

    Raises:
        CorpusError: the FST is not a map of characters.
    """
    lowering = pynini.arcmap(fst, map_type="rmweight").optimize()
    back = pynini.invert(lowering)
    two = _difference(pynini.compose(back, lowering).rmepsilon())
    if two:
        raise CorpusError(
            f"the grammar lowers one text both to {two[0]!r} and to {two[1]!r}. Give each text one result."
        )
    of_one = pynini.compose(_CHARACTERS, lowering).rmepsilon().optimize()
    missing = pynini.difference(_CHARACTERS, _acceptor(of_one))
    if missing.num_states():
        character = next(missing.paths().ostrings())
        raise CorpusError(f"the grammar does not accept the character {character!r}. It must accept any text.")
    left = dict(_changes(of_one))
    by_itself = pynini.closure(of_one).optimize()
    if not pynini.equivalent(_acceptor(lowering), _acceptor(by_itself)):
        raise CorpusError("the grammar accepts every character, but not every text. It must accept any text.")
    two = _difference(pynini.compose(back, by_itself).rmepsilon())
    if two:
        raise CorpusError(
            f"the grammar lowers some text to {two[0]!r}, but its characters one by one to {two[1]!r}. It must lower"
            " each character independently of its context."
        )
    return left


def _acceptor(fst: pynini.Fst) -> pynini.Fst:
    """Return an acceptor of the inputs of an FST."""
    return pynini.determinize(pynini.project(fst, "input").rmepsilon()).minimize()


def _changes(of_one: pynini.Fst) -> Iterator[tuple[str, str]]:
    """Yield the paths of a function on characters whose output differs from their input."""
    same: dict[int, bool] = {}

    def stays(state: int) -> bool:
        """Return whether no path from the state changes anything."""
        if state not in same:
            same[state] = all(arc.ilabel == arc.olabel and stays(arc.nextstate) for arc in of_one.arcs(state))
        return same[state]

    stack = [(of_one.start(), b"", b"")]
    while stack:
        state, source, target = stack.pop()
        if source == target and stays(state):
            continue
        if source != target and float(of_one.final(state)) != float("inf"):
            yield source.decode(), target.decode()
        for arc in of_one.arcs(state):
            stack.append((arc.nextstate, source + bytes([arc.ilabel] * (arc.ilabel > 0)), target + _byte(arc.olabel)))


def _byte(label: int) -> bytes:
    return bytes([label]) if label else b""


def _difference(relation: pynini.Fst) -> tuple[str, str] | None:
    """Return two different texts that are related; None if each text is related only to itself.

    In the latter case all paths to a state have the same delay: the text by which one side is ahead of the other (Béal
    et al. 2003, squaring transducers).
    """
    relation = relation.connect()
    start = relation.start()
    reached = {start: (b"", b"")} if relation.num_states() else {}
    queue = deque(reached)
    while queue:
        state = queue.popleft()
        one, other = reached[state]
        if one != other and float(relation.final(state)) != float("inf"):
            return one.decode(), other.decode()
        for arc in relation.arcs(state):
            sides = one + _byte(arc.ilabel), other + _byte(arc.olabel)
            before = reached.setdefault(arc.nextstate, sides)
            if before is sides:
                queue.append(arc.nextstate)
            if all(_delay(sides)) or _delay(sides) != _delay(before):
                ends = _shortest(relation, arc.nextstate)
                completed = [(a + ends[0], b + ends[1]) for a, b in (sides, before)]
                a, b = next((a, b) for a, b in completed if a != b)
                return a.decode(), b.decode()
    return None


def _delay(sides: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Return the rest of both sides after their common prefix."""
    common = 0
    while common < min(map(len, sides)) and sides[0][common] == sides[1][common]:
        common += 1
    return sides[0][common:], sides[1][common:]


def _shortest(relation: pynini.Fst, state: int) -> tuple[bytes, bytes]:
    """Return both sides of a shortest path from a state to a final state."""
    paths = pynini.shortestpath(relation.copy().set_start(state)).paths()
    return bytes(filter(None, paths.ilabels())), bytes(filter(None, paths.olabels()))
