"""Sentence pairs (a sentence and its translation): read, split into training and held-out text, tokenized, aligned.

The corpora are the help of LibreOffice and the PHP manual, in English and other languages. They do not
record the files that their pairs come from, but keep the order of these. So blocks of consecutive pairs, each about as
long as a chapter, are held out instead of single lines.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from helpers.corpora import read_lines
from helpers.overlap import overlap

CORPORA = ("libreoffice", "phpdoc")
BLOCK, EVERY = 500, 10
"""The last of every EVERY blocks of BLOCK pairs is held out."""

Pair = tuple[str, str]
Link = tuple[int, int]
"""Two aligned words: (position in the first sentence, position in the second), from 0."""
Links = list[Link]
"""The word alignment of a pair."""

T = TypeVar("T")

_TOKEN = re.compile(r"(?:[cdjlmnst]|qu)['’](?=\w)|\w+(?:[-_.:/\\'’@]+\w+)*|[^\w\s]", re.IGNORECASE)


class Bitext(NamedTuple):
    """Training pairs and held-out pairs.

    Neither side of a held-out pair is in the training text, or has a run of eight words in common with it. left_out:
    the number of pairs that were left out for that reason.
    """

    training: list[Pair]
    held_out: list[Pair]
    left_out: int


def turned(pairs: Iterable[tuple[T, T]]) -> list[tuple[T, T]]:
    """Swap the sides of pairs, or of the links of a pair."""
    return [(second, first) for first, second in pairs]


def read_bitext(data: Path, language: str, limit: int | None = None) -> Bitext:
    """Read the pairs (English, translation) of all corpora, at most `limit` of each corpus."""
    training: list[Pair] = []
    candidates: list[Pair] = []
    for corpus in CORPORA:
        files = (data / "parallel" / f"{corpus}.en-{language}.{side}.txt.zst" for side in ("en", language))
        for k, pair in enumerate(zip(*(read_lines(file, most=limit) for file in files), strict=True)):
            (candidates if k // BLOCK % EVERY == EVERY - 1 else training).append(pair)
    return without_overlap(training, candidates)


def without_overlap(training: list[Pair], candidates: list[Pair]) -> Bitext:
    """Hold out the candidates that have nothing in common with the training text."""
    seen = np.zeros(len(candidates), np.bool_)
    for side in (0, 1):
        text, lines = [pair[side].lower() for pair in training], [pair[side].lower() for pair in candidates]
        known = set(text)
        seen |= overlap(lines, ["\n".join(text)]).lines | np.array([line in known for line in lines], np.bool_)
    held_out = [pair for pair, left_out in zip(candidates, seen, strict=True) if not left_out]
    return Bitext(training, held_out, int(seen.sum()))


def spread(items: Sequence[T], number: int) -> list[T]:
    """Select `number` items, evenly spread, or all if there are fewer."""
    positions = np.linspace(0, len(items) - 1, min(number, len(items))).astype(int)
    return [items[k] for k in positions]


def tokenized(line: str) -> str:
    """Separate the words and punctuation marks of a line by spaces."""
    return " ".join(_TOKEN.findall(line))


def align(pairs: Sequence[Pair]) -> list[Links]:
    """Align the words of tokenized pairs by eflomal, in both directions, symmetrized."""
    from eflomal import Aligner  # noqa: PLC0415  (an optional package)

    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("forward", "reverse")]
        Aligner().align([f for f, _ in pairs], [e for _, e in pairs], *files)
        sides = ([_links(line) for line in read_lines(Path(file))] for file in files)
        return [symmetrized(forward, reverse) for forward, reverse in zip(*sides, strict=True)]


def _links(line: str) -> set[Link]:
    return {(int(i), int(j)) for i, _, j in (link.partition("-") for link in line.split())}


def symmetrized(forward: set[Link], reverse: set[Link]) -> Links:
    """Join the links of two directions by grow-diag-final-and (Koehn, Och & Marcu 2003; Koehn et al. 2005)."""
    union, links = forward | reverse, forward & reverse
    rows, columns = {i for i, _ in links}, {j for _, j in links}

    def put(i: int, j: int) -> None:
        links.add((i, j))
        rows.add(i)
        columns.add(j)

    grown = True
    while grown:  # grow-diag
        grown = False
        for i, j in sorted(links):
            for link in ((i + di, j + dj) for di in (-1, 0, 1) for dj in (-1, 0, 1)):
                if link in union and link not in links and (link[0] not in rows or link[1] not in columns):
                    put(*link)
                    grown = True
    for direction in (forward, reverse):  # final-and
        for i, j in sorted(direction):
            if i not in rows and j not in columns:
                put(i, j)
    return sorted(links)
