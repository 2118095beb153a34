"""Earnings-21 (Del Rio et al. 2021): earnings calls, transcribed by people and by seven recognizers.

In: its archive. Out: for each call, the words of the reference and of each recognizer; the ends of the reference's
sentences; and the alignment of recognized words with the reference's.
"""

from __future__ import annotations

import tarfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.evaluate.compare import words_in_common
from capfst.io.compression import decompressed

REFERENCE = "reference"
TITLES = {"mr", "ms", "mrs", "dr"}


class Word(NamedTuple):
    text: str  # as it is cased
    mark: str  # the punctuation after it, or ""
    speaker: str
    times: tuple[float, float] | None = None  # its begin and end in seconds, if a recognizer gives them


class Call(dict[str, list[Word]]):
    """The words of `REFERENCE`, and of each recognizer by its name. Each table is read when it is first needed, because
    that takes time."""

    def __init__(self) -> None:
        self.tables: dict[str, str] = {}

    def __missing__(self, name: str) -> list[Word]:
        self[name] = _words(self.tables[name])
        return self[name]


def read(archive: Path) -> dict[str, Call]:
    """Read the calls; they are sorted by name."""
    calls: dict[str, Call] = defaultdict(Call)
    with decompressed(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as files:
        for member in files:
            path = PurePath(member.name)
            if path.suffix == ".nlp" and (file := files.extractfile(member)):
                folders = [part for part in path.parts[1:-1] if part not in ("nlp", "output")]
                name = REFERENCE if "nlp_references" in folders else " ".join(folders)
                calls[path.name.partition(".")[0]].tables[name] = file.read().decode()
    return dict(sorted(calls.items()))


def _words(text: str) -> list[Word]:
    """Read the words of a table with one word per line.

    Some recognizers write % as punctuation; here it belongs to its number. TRUE that is marked as lowercase becomes
    true: a spreadsheet has changed it.
    """
    rows = [line.split("|") for line in text.splitlines()[1:]]
    words = []
    for (token, speaker, begin, end, _, case, *_), mark in zip(rows, _marks(rows), strict=True):
        if token := "".join(token.split()) + "%" * ("%" in mark):
            if token == "TRUE" and case == "LC":
                token = "true"
            times = (float(begin), float(end)) if begin.strip() and end.strip() else None
            words.append(Word(token, mark.replace("%", "").strip(), speaker, times))
    return words


def _marks(rows: list[list[str]]) -> list[str]:
    """Return the punctuation after each word.

    From some line of one call on, punctuation and case are recorded one line too low; this is corrected.
    """
    marks = [row[4] for row in rows]
    is_lower = np.array([row[0] == row[0].lower() for row in rows])
    said_lower = np.array([row[5] == "LC" for row in rows])
    here, below = is_lower == said_lower, np.append(is_lower[:-1] == said_lower[1:], False)
    # By the line at which the shift begins.
    fitting = np.cumsum(np.append(0, here)) + np.append(np.cumsum(below[::-1])[::-1], 0)
    begin = len(rows) - int(fitting[::-1].argmax())
    return marks[:begin] + marks[begin + 1 :] + [""] * (begin < len(rows))


def sentence_ends(words: list[Word]) -> list[int]:
    """Return the ends of sentences: after their marks, and where the speaker changes."""
    pairs = pairwise(words)
    ends = (
        (word.mark[-1:] in (".", "?", "!", "…") and word.text.lower() not in TITLES)
        or word.speaker != following.speaker
        for word, following in pairs
    )
    return [k for k, end in enumerate(ends, 1) if end] + [len(words)]


def positional(words: list[Word]) -> list[bool]:
    """Return whether each word may have a capital for its position: the first word of a sentence, and the word after
    a broken-off first word or a remark like <laugh>."""
    first = np.isin(range(len(words)), [0, *sentence_ends(words)])
    for k, word in enumerate(words[:-1]):
        first[k + 1] |= word.text.startswith("<") or (first[k] and word.text.endswith("-"))
    return list(first)


def positions(reference: list[Word], hypothesis: list[Word]) -> npt.NDArray[np.int64]:
    """Align recognized words with the reference's by the least number of edits, ignoring case.

    Returns int64[len(hypothesis)]: the position of the reference's word, or −1 for an inserted word.
    """
    found = np.full(len(hypothesis), -1)
    pairs = words_in_common([word.text for word in reference], [word.text for word in hypothesis])
    ends = [*pairs.tolist(), [len(reference), len(hypothesis)]]
    for (i, j), (next_i, next_j) in pairwise([[-1, -1], *ends]):
        substituted = min(next_i - i, next_j - j) - 1
        found[j + 1 : j + 1 + substituted] = range(i + 1, i + 1 + substituted)
        if next_j < len(found):
            found[next_j] = next_i
    return found
