"""Pairs of sentences and their translations: read, split into training and held-out text, tokenized, aligned.

The corpora are the help of LibreOffice and the PHP manual, English beside German, Spanish and French. They do not say
which files their pairs come from, but are in the order of these: so blocks of successive pairs, each about as long as a
chapter, are held out, not single lines.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from experiments import overlap, read_lines

CORPORA = ("libreoffice", "phpdoc")
BLOCK, EVERY = 500, 10
"""Of every so many blocks of so many pairs, the last one is held out."""

Pair = tuple[str, str]
Link = tuple[int, int]
"""Two words that are aligned: (place in the first sentence, place in the second one), from 0."""
Links = list[Link]
"""The word alignment of a pair."""

_TOKEN = re.compile(r"(?:[cdjlmnst]|qu)['’](?=\w)|\w+(?:[-_.:/\\'’@]+\w+)*|[^\w\s]", re.IGNORECASE)


class Bitext(NamedTuple):
    """Pairs to train on, and held-out ones; left_out: how many of these were left out, since their targets are in the
    training text, or have a run of eight words in common with it."""

    training: list[Pair]
    held_out: list[Pair]
    left_out: int


def read_pairs(data: Path, language: str, corpus: str) -> list[Pair]:
    """(English, its translation)."""
    files = (data / "parallel" / f"{corpus}.en-{language}.{side}.txt.zst" for side in ("en", language))
    return list(zip(*map(read_lines, files), strict=True))


def read_bitext(data: Path, language: str, *, into_english: bool, limit: int | None = None) -> Bitext:
    """The pairs of all corpora, (source, target). limit: how many pairs of each corpus are read."""
    training: list[Pair] = []
    candidates: list[Pair] = []
    for corpus in CORPORA:
        pairs = read_pairs(data, language, corpus)[:limit]
        if into_english:
            pairs = [(source, target) for target, source in pairs]
        for k, pair in enumerate(pairs):
            (candidates if k // BLOCK % EVERY == EVERY - 1 else training).append(pair)
    return without_overlap(training, candidates)


def without_overlap(training: list[Pair], candidates: list[Pair]) -> Bitext:
    """Holds those of the candidates out that have nothing in common with the training text."""
    known = {target.lower() for _, target in training}
    targets = [target for _, target in candidates]
    common = overlap(targets, ["\n".join(target for _, target in training)]).lines
    held_out = [
        pair for pair, seen in zip(candidates, common, strict=True) if not seen and pair[1].lower() not in known
    ]
    return Bitext(training, held_out, len(candidates) - len(held_out))


def spread(pairs: Sequence[Pair], number: int) -> list[Pair]:
    """So many of the pairs, or all if there are fewer, evenly spread over them."""
    places = np.linspace(0, len(pairs) - 1, min(number, len(pairs))).astype(int)
    return [pairs[k] for k in places]


def tokenized(line: str) -> str:
    """The words and punctuation marks of a line, with spaces between."""
    return " ".join(_TOKEN.findall(line))


def align(pairs: Sequence[Pair]) -> list[Links]:
    """Word alignments of tokenized pairs by eflomal, in both directions, symmetrized."""
    from eflomal import Aligner  # noqa: PLC0415  (an optional package)

    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("forward", "reverse")]
        Aligner().align([f for f, _ in pairs], [e for _, e in pairs], *files)
        sides = ([_links(line) for line in read_lines(Path(file))] for file in files)
        return [symmetrized(forward, reverse) for forward, reverse in zip(*sides, strict=True)]


def _links(line: str) -> set[Link]:
    return {(int(i), int(j)) for i, _, j in (link.partition("-") for link in line.split())}


def symmetrized(forward: set[Link], reverse: set[Link]) -> Links:
    """The links of two directions as grow-diag-final-and joins them (Koehn, Och & Marcu 2003; Koehn et al. 2005)."""
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
