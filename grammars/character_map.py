"""A grammar of a user's own, as a map of characters: what it leaves of each.

In: an FST over UTF-8 bytes, which lowers text: it takes any text, and gives one output. Out: the map, if the FST takes
each character by itself; models have this map, so that recasing needs no pynini.

Try it:

    python -c "from capfst.grammars import character_map, diacritics as d; print(character_map.of(d.stripping())['Œ'])"
"""

import os
import runpy
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pynini
import pywrapfst
from pynini.lib import utf8

from capfst.exceptions import CapfstError

NAME = "LOWERING"
"""Of the FST in a file."""

_CHARACTERS = utf8.VALID_UTF8_CHAR


def read(path: str | os.PathLike[str]) -> dict[str, str]:
    """The map of the grammar in a file: a `.far` with one FST, or with one that is called LOWERING; or a `.py` that
    makes it. CapfstError if there is none, or if it is no map of characters."""
    file = Path(path)
    if not file.is_file():
        raise CapfstError("there is no such file: name a grammar, .far or .py")
    if file.suffix == ".py":
        fst = _run(file)
    elif file.suffix == ".far":
        fst = _stored(file)
    else:
        raise CapfstError("a grammar is a .far file, or a .py file that makes the FST LOWERING")
    return of(fst)


def _run(file: Path) -> pynini.Fst:
    try:
        made = runpy.run_path(str(file)).get(NAME)
    except Exception as error:
        raise CapfstError(f"the grammar cannot be run: {type(error).__name__}: {error}") from error
    if not isinstance(made, pynini.Fst):
        raise CapfstError(f"it makes no FST called {NAME}")
    return made


def _stored(file: Path) -> pynini.Fst:
    try:
        stored = dict(pynini.Far(str(file), mode="r"))
    except pywrapfst.FstIOError as error:
        raise CapfstError("it is no archive of FSTs: export the grammar again") from error
    if NAME in stored:
        return stored[NAME]
    if len(stored) != 1:
        raise CapfstError(f"it has {len(stored)} FSTs, none of which is called {NAME}: export one, or call it so")
    return next(iter(stored.values()))


def of(fst: pynini.Fst) -> dict[str, str]:
    """What an FST leaves of each character, if not the same. CapfstError if it is no map of characters."""
    lowering = pynini.arcmap(fst, map_type="rmweight").optimize()
    back = pynini.invert(lowering)
    two = _difference(pynini.compose(back, lowering).rmepsilon())
    if two:
        raise CapfstError(f"the grammar is no function: it lowers one text both to {two[0]!r} and to {two[1]!r}")
    of_one = pynini.compose(_CHARACTERS, lowering).rmepsilon().optimize()
    missing = pynini.difference(_CHARACTERS, _acceptor(of_one))
    if missing.num_states():
        character = next(missing.paths().ostrings())
        raise CapfstError(f"the grammar does not take the character {character!r}: it must take any text")
    left = dict(_changes(of_one))
    by_itself = pynini.closure(of_one).optimize()
    if not pynini.equivalent(_acceptor(lowering), _acceptor(by_itself)):
        raise CapfstError("the grammar does not take any text, though it takes all characters")
    two = _difference(pynini.compose(back, by_itself).rmepsilon())
    if two:
        raise CapfstError(
            f"the grammar lowers some text to {two[0]!r}, but its characters one by one to {two[1]!r}: it must take"
            " each character by itself, whatever stands around it"
        )
    return left


def _acceptor(fst: pynini.Fst) -> pynini.Fst:
    """What an FST takes."""
    return pynini.determinize(pynini.project(fst, "input").rmepsilon()).minimize()


def _changes(of_one: pynini.Fst) -> Iterator[tuple[str, str]]:
    """The paths of a function on characters whose output is another than their input."""
    same: dict[int, bool] = {}

    def stays(state: int) -> bool:
        """Whether no path from the state changes anything."""
        if state not in same:
            same[state] = all(arc.ilabel == arc.olabel and stays(arc.nextstate) for arc in of_one.arcs(state))
        return same[state]

    stack = [(of_one.start(), b"", b"")]
    while stack:
        state, taken, given = stack.pop()
        if taken == given and stays(state):
            continue
        if taken != given and float(of_one.final(state)) != float("inf"):
            yield taken.decode(), given.decode()
        for arc in of_one.arcs(state):
            stack.append((arc.nextstate, taken + bytes([arc.ilabel] * (arc.ilabel > 0)), given + _byte(arc.olabel)))


def _byte(label: int) -> bytes:
    return bytes([label]) if label else b""


def _difference(relation: pynini.Fst) -> tuple[str, str] | None:
    """Two different texts that are related; None if each text is related to itself only.

    Then all paths to a state have one delay: what one side is ahead of the other (Béal et al. 2003, squaring
    transducers).
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
    """What follows what both sides begin with."""
    common = 0
    while common < min(map(len, sides)) and sides[0][common] == sides[1][common]:
        common += 1
    return sides[0][common:], sides[1][common:]


def _shortest(relation: pynini.Fst, state: int) -> tuple[bytes, bytes]:
    """Both sides of a shortest path from a state to an end."""
    paths = pynini.shortestpath(relation.copy().set_start(state)).paths()
    return bytes(filter(None, paths.ilabels())), bytes(filter(None, paths.olabels()))
