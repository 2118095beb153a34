"""Compile the table grammars/protected.tsv, text that is not words, to the automaton capfst/text/protected.npy.

    python scripts/maintain/make_protected.py [FILE]

Run it after each change of the table. Each row becomes a regular expression over symbols (`Node`), of which the states
of the automaton are derivatives: what must follow after the symbols that have been read (Brzozowski 1964). A state is
the set of these for all rows. States from which the same follows are merged.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.text import protected as pt
from capfst.text.facts import rows
from capfst.text.unicode import CLASS, INFO, SPACE

FILE = Path(pt.__file__).with_suffix(".npy")
Table = npt.NDArray[np.int64]

# ---- Symbols

WHITE, OTHER, WORD_END, NEWLINE, ESCAPE = "\u00a0", "\0", "¦", "\n", "\x1b"


def _symbol(code: int) -> str:
    """Return what stands in patterns for a character of ASCII."""
    char_class = INFO[code] & CLASS
    if char_class == SPACE and chr(code) not in " \t\n":
        return WHITE
    return chr(code).lower() if char_class or chr(code) == ESCAPE else OTHER


ASCII = [_symbol(code) for code in range(pt.OTHERS)]
BY_NUMBER = [*ASCII, OTHER, *"λμν", WHITE, *"πıδ", WORD_END]
"""As capfst.text.protected numbers them: OTHER, LETTER, MARK, NUMBER, SPACE, PUNCT are the classes."""
SYMBOLS = frozenset(BY_NUMBER)
ANY = SYMBOLS - {NEWLINE, WORD_END}
ESCAPED = {
    "s": frozenset({" ", "\t", WHITE}), "0": frozenset({OTHER, ESCAPE}), "e": frozenset(ESCAPE),
    "n": frozenset(NEWLINE), "t": frozenset("\t"),
}  # fmt: skip

# ---- Regular expressions


class Node:
    """A regular expression. Equal ones are the same object (`node`)."""

    def __init__(self, kind: str, *parts: Any) -> None:
        self.kind, self.parts = kind, parts
        nullable: list[bool] = [part.is_nullable for part in parts if isinstance(part, Node)]
        every, some = all(nullable), any(nullable)
        facts = {"empty": True, "star": True, "sequence": every, "both": every, "either": some, "not": not every}
        self.is_nullable: bool = facts.get(kind, False)
        """Whether it matches the empty text."""


node = cache(Node)


def one_of(symbols: Iterable[str]) -> Node:
    return node("symbols", frozenset(symbols))


EMPTY, NEVER = node("empty"), one_of(())
ALWAYS = node("not", NEVER)


def sequence(first: Node, second: Node) -> Node:
    if NEVER in (first, second):
        return NEVER
    if first is EMPTY or second is EMPTY:
        return second if first is EMPTY else first
    if first.kind == "sequence":
        return sequence(first.parts[0], sequence(first.parts[1], second))
    return node("sequence", first, second)


def either(*parts: Node) -> Node:
    found = _flat("either", parts)
    if ALWAYS in found:
        return ALWAYS
    sets = [part for part in found if part.kind == "symbols"]
    merged = one_of(frozenset().union(*(part.parts[0] for part in sets)))
    rest = [part for part in found if part.kind != "symbols"]
    return _combined("either", [merged, *rest] if merged is not NEVER else rest, NEVER)


def both(*parts: Node) -> Node:
    found = _flat("both", parts)
    return NEVER if NEVER in found else _combined("both", [part for part in found if part is not ALWAYS], ALWAYS)


def _flat(kind: str, parts: Iterable[Node]) -> list[Node]:
    return [inner for part in parts for inner in (part.parts if part.kind == kind else (part,))]


def _combined(kind: str, parts: list[Node], neutral: Node) -> Node:
    unique = sorted(dict.fromkeys(parts), key=id)
    return node(kind, *unique) if len(unique) > 1 else unique[0] if unique else neutral


def negation(regex: Node) -> Node:
    return regex.parts[0] if regex.kind == "not" else node("not", regex)


def star(regex: Node) -> Node:
    return EMPTY if regex in (EMPTY, NEVER) else regex if regex.kind == "star" else node("star", regex)


@cache
def derivative(regex: Node, symbol: str) -> Node:
    """Return what must follow after the symbol."""
    parts = regex.parts
    match regex.kind:
        case "symbols":
            return EMPTY if symbol in parts[0] else NEVER
        case "sequence":
            follows = sequence(derivative(parts[0], symbol), parts[1])
            return either(follows, derivative(parts[1], symbol)) if parts[0].is_nullable else follows
        case "star":
            return sequence(derivative(parts[0], symbol), regex)
        case "either":
            return either(*(derivative(part, symbol) for part in parts))
        case "both":
            return both(*(derivative(part, symbol) for part in parts))
        case "not":
            return negation(derivative(parts[0], symbol))
    return NEVER


def backwards(regex: Node) -> Node:
    """Return the expression of the texts read backwards."""
    if regex.kind == "sequence":
        return sequence(backwards(regex.parts[1]), backwards(regex.parts[0]))
    return node(regex.kind, *map(backwards, regex.parts)) if regex.kind in ("either", "star") else regex


# ---- Patterns

Parsed = Callable[[Node], Node]
"""A part of a pattern: from what follows it to both together."""
TOKEN = re.compile(r"\(\?<?[=!]|\{[A-Z]+\}|\{\d+(?:,\d*)?\}|\\.|\[\^?|\*\?|.", re.DOTALL)


class Patterns:
    """Reads patterns. names: the patterns of the names in them. Raises: ValueError if one is wrong."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._tokens: list[str] = []  # of the pattern that is being read, the next one last
        self._n_lookaheads = 0

    def read(self, pattern: str) -> Parsed:
        outer, self._tokens = self._tokens, TOKEN.findall(pattern)[::-1]
        parsed = self._alternatives()
        if self._tokens:
            raise ValueError(f"{pattern}: unexpected {self._tokens[-1]!r}")
        self._tokens = outer
        return parsed

    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _alternatives(self) -> Parsed:
        found = [self._sequence()]
        while self._next() == "|":
            self._tokens.pop()
            found.append(self._sequence())
        return lambda rest: either(*(part(rest) for part in found))

    def _sequence(self) -> Parsed:
        found: list[Parsed] = []
        while self._next() not in ("", "|", ")"):
            n_lookaheads = self._n_lookaheads
            part = self._single()
            if re.fullmatch(r"[*+?]|\*\?|\{\d.*\}", self._next()):
                if self._n_lookaheads > n_lookaheads:
                    raise ValueError("a lookahead cannot be repeated")
                part = self._repeated(part(EMPTY), self._tokens.pop())
            found.append(part)
        return lambda rest: reduce(lambda rest, part: part(rest), reversed(found), rest)

    def _repeated(self, part: Node, sign: str) -> Parsed:
        least, comma, most = {"*": "0,", "*?": "0,", "+": "1,", "?": "0,1"}.get(sign, sign[1:-1]).partition(",")
        n_optional = int(most) - int(least) if most else 0
        optional = [star(part)] if comma and not most else n_optional * [either(part, EMPTY)]
        repeated = [*int(least) * [part], *optional]
        return lambda rest: reduce(lambda rest, part: sequence(part, rest), reversed(repeated), rest)

    def _single(self) -> Parsed:
        token = self._tokens.pop()
        if token.startswith("("):
            inside = self._alternatives()
            if not self._tokens:
                raise ValueError(f"{token} is not closed")
            self._tokens.pop()
            self._n_lookaheads += token in ("(?=", "(?!")
            match token:
                case "(?=":
                    return lambda rest: both(inside(ALWAYS), rest)
                case "(?!":
                    return lambda rest: both(negation(inside(ALWAYS)), rest)
                case "(?<!":
                    return lambda rest: sequence(one_of(SYMBOLS - inside(EMPTY).parts[0]), rest)
            return inside
        if token[0] == "{" and len(token) > 1:
            return self.read(self._names[token[1:-1]])
        if token == "i":
            return lambda rest: either(sequence(self._dotted, rest), sequence(one_of("ı"), rest))
        symbols = self._class(token == "[^") if token[0] == "[" else ANY if token == "." else self._symbols(token)
        return lambda rest: sequence(one_of(symbols), rest)

    _dotted = sequence(one_of("i"), either(one_of("δ"), EMPTY))

    def _class(self, is_negated: bool) -> frozenset[str]:
        found: set[str] = set()
        while (token := self._tokens.pop()) != "]":
            if self._next() == "-":
                self._tokens.pop()
                found |= set(map(chr, range(ord(token), ord(self._tokens.pop()) + 1)))
            elif token[0] == "{" and len(token) > 1:
                found |= self.read(self._names[token[1:-1]])(EMPTY).parts[0]
            else:
                found |= self._symbols(token)
        return ANY - found if is_negated else frozenset(found)

    def _symbols(self, token: str) -> frozenset[str]:
        symbols = ESCAPED.get(token[1:], frozenset(token[-1]))
        if not symbols <= SYMBOLS:
            raise ValueError(f"{token} is no symbol")
        return symbols


# ---- The automaton

State = tuple[tuple[int, Node], ...]
"""The rules that may still match, and what must follow for each."""
MARK = range(pt.ATTACHED + pt.JOINED + pt.MAY_BEGIN_PATH + 1)
WHERE = {
    "any": [*MARK],
    "apart": [context for context in MARK if not context & pt.ATTACHED],
    "free": [context for context in MARK if not context & (pt.ATTACHED | pt.JOINED)],
    "begins": [context for context in MARK if context & pt.MAY_BEGIN_PATH],
    "path": [context for context in MARK if context & pt.MAY_BEGIN_PATH and not context & pt.ATTACHED],
    "word": [pt.WORD_START, pt.PATH_START],
    "once": [pt.PATH_START],
    "whole": [pt.WHOLE_WORD],
    "after": [pt.AFTER_SPAN],
}
"""The contexts of the places in the table."""


def compiled(table: Iterable[Sequence[str]]) -> pt.Automaton:
    """Return the automaton of the rows of a table. Raises: ValueError if a row is wrong."""
    names: dict[str, str] = {}
    patterns = Patterns(names)
    rules = [(0, -1, 0)]
    starts: list[list[tuple[int, Node]]] = [[] for _ in range(pt.N_CONTEXTS)]
    lazy: set[int] = set()
    befores: dict[str, int] = {}
    for kind, where, pattern, before, note in table:
        if kind == "=":
            names[note] = f"{names[note][:-1]}|{pattern})" if note in names else f"({pattern})"
            continue
        rule = len(rules)
        regex, ahead = _rule(patterns.read(pattern), pattern)
        for context in {context for place in where.split(", ") for context in WHERE[place]}:
            starts[context].append((rule, regex))
        if "*?" in pattern:
            lazy.add(rule)
        rules.append((pt.KINDS.index(kind), befores.setdefault(before, len(befores)) if before else -1, ahead))
    states = [tuple(start) for start in starts]
    states += [((0, backwards(patterns.read(before)(EMPTY))),) for before in befores]
    following, matched, first = _minimized(*_explored(states, lazy))
    of_rules = [(kind, first[pt.N_CONTEXTS + before] if before >= 0 else 0, ahead) for kind, before, ahead in rules]
    _, unlike, columns = np.unique(following, axis=1, return_index=True, return_inverse=True)
    parts = {
        "columns": columns.ravel().astype(np.uint8),
        "starts": first[: pt.N_CONTEXTS],
        "rules": np.array(of_rules),
        "table": following[:, unlike],
        "matched": matched[matched > 0] - 1,
        "begins": (following[following[first[: pt.N_CONTEXTS]]] != 0).any(axis=1)[:, : pt.OTHERS],
        "goes_on": _goes_on(following, first),
    }
    return pt.Automaton(
        **{n: np.ascontiguousarray(a, np.uint16 if a.dtype == np.int64 else None) for n, a in parts.items()}
    )


def _rule(pattern: Parsed, text: str) -> tuple[Node, int]:
    """Return the expression of the character before a match, the match, and as many characters after it as a lookahead
    at its end sees, at least one; and their number."""
    for ahead in (1, 2):
        regex = pattern(reduce(sequence, ahead * [one_of(SYMBOLS)]))
        if not text.startswith("(?<"):
            regex = sequence(one_of(SYMBOLS), regex)
        if _can_match(regex):
            return regex, ahead
    raise ValueError(f"{text}: matches nothing")


def _can_match(regex: Node) -> bool:
    reached = {regex: None}
    for after in (order := [regex]):
        if after.is_nullable:
            return True
        new = {derivative(after, symbol): None for symbol in SYMBOLS}
        order += [found for found in new if found not in reached]
        reached |= new
    return False


def _sets(regex: Node) -> set[frozenset[str]]:
    """Return the sets of symbols in an expression."""
    if regex.kind == "symbols":
        return {regex.parts[0]}
    return set().union(*map(_sets, regex.parts))


def _explored(starts: Sequence[State], lazy: set[int]) -> tuple[Table, Table, Table]:
    """Return the states after each symbol, the first rule that each state matches, plus one (0: none), and the number
    of each start. Rules that are lazy match once."""
    sets = set().union(*(_sets(regex) for state in starts for _, regex in state))
    alike: dict[frozenset[frozenset[str]], str] = {}
    group = {symbol: alike.setdefault(frozenset(s for s in sets if symbol in s), symbol) for symbol in BY_NUMBER}
    numbers: dict[State, int] = {(): 0}
    for state in starts:
        numbers.setdefault(state, len(numbers))
    following, matched = [], []
    for state in (order := list(numbers)):
        open_rules = [(rule, regex) for rule, regex in state if not (rule in lazy and regex.is_nullable)]
        after: dict[str, int] = {}
        for symbol in alike.values():
            pairs = ((rule, derivative(regex, symbol)) for rule, regex in open_rules)
            state_after = tuple((rule, regex) for rule, regex in pairs if regex is not NEVER)
            if state_after not in numbers:
                numbers[state_after] = len(numbers)
                order.append(state_after)
            after[symbol] = numbers[state_after]
        following.append([after[group[symbol]] for symbol in BY_NUMBER])
        matched.append(min((rule + 1 for rule, regex in state if regex.is_nullable), default=0))
    return np.array(following), np.array(matched), np.array([numbers[state] for state in starts])


def _minimized(following: Table, matched: Table, starts: Table) -> tuple[Table, Table, Table]:
    """Merge states from which the same follows. Those that match come last."""
    merged, n = matched, 0
    while n < (n := len(np.unique(merged))):
        behavior = np.column_stack([merged, merged[following]])
        merged = np.unique(behavior, axis=0, return_inverse=True)[1].ravel()
    _, first = np.unique(merged, return_index=True)
    order = first[np.lexsort((first, matched[first] > 0))]
    number = np.empty(n, np.int64)
    number[merged[order]] = np.arange(n)
    return number[merged[following[order]]], matched[order], number[merged[starts]]


def _goes_on(following: Table, starts: Table) -> npt.NDArray[np.bool_]:
    """Return `Automaton.goes_on`, from words that do not begin with ww. Raises: ValueError if one matches alone."""
    end, newline = BY_NUMBER.index(WORD_END), BY_NUMBER.index(NEWLINE)
    is_w = np.array([symbol == "w" for symbol in BY_NUMBER])
    others = ~is_w & (np.arange(len(BY_NUMBER)) != end)
    first = np.unique(following[starts[[pt.WORD_START, pt.PATH_START]]])
    with_w = np.unique(following[first][:, is_w])
    reached = np.unique(following[np.append(first, with_w)][:, others]).tolist()
    for state in reached:
        reached += set(np.delete(following[state], end).tolist()) - set(reached)
    ends = np.unique(following[[*reached, *with_w], end])
    if following[ends, newline].any():
        raise ValueError("a row of words matches a word alone that does not begin with ww, which is not searched for")
    alive = (following[following[ends][:, : pt.OTHERS]] != 0).any(axis=0)
    return np.column_stack([alive[:, : pt.OTHERS], alive[:, pt.OTHERS :].any(axis=1)])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=FILE, type=Path, help="file to write (capfst/text/protected.npy)")
    automaton = compiled(rows("protected.tsv"))
    arrays = automaton._asdict()
    record = np.zeros((), np.dtype([(name, array.dtype, array.shape) for name, array in arrays.items()], align=True))
    for name, array in arrays.items():
        record[name] = array
    np.save(parser.parse_args().file, record)
    print(f"{len(automaton.rules) - 1} rules, {automaton.table.shape[0]} states, {automaton.table.shape[1]} columns")


if __name__ == "__main__":
    main()
