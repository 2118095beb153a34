"""Measure `--repair`: how many words that have lost their case and marks are found, and how many others change.

    \b
    python scripts/experiments/repair.py --document docs/research/figures.md

Of each held-out text, stretches of 20 to 2,000 words lose their marks and their case; 15 of 100 are in capitals.
Between them, 300 to 1,500 words stay.

\b
* found: words of the damaged stretches that are in a stretch that was repaired
* touched: other words that are otherwise after the repair
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.markdown import show, table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.io.running_text import RunningText, Span
from capfst.recaser import Recaser

TEXTS = {
    "podcast": "speech_podcast",
    "self-dialogues": "everyday_self_dialogues",
    "Wikipedia (WikiText-2)": "wikipedia_wikitext2_valid",
}
LENGTHS = (20, 30, 50, 100, 200, 500, 1000, 2000)
CAPITALS = 0.15
"""The share of the stretches that are in capitals."""
_BETWEEN = 300, 1500  # words
_EDGES = '.,;:?!…"“”()'
_QUICK_LINES, _SEED = 150, 1
_removed = re.compile(r"\[[^\]]*\]|[()<>{}♪]|(?<!\S)-").sub
_joined = re.compile(r"\s+(?=[,.;:?!](?!\S))| ?@(?=[-,.]@)|(?<=@[-,.])@ ?").sub
_words = re.compile(rb"\S+").finditer


class Text(NamedTuple):
    """Words, and whether a line ends after each."""

    words: list[str]
    ends: list[bool]


def read(file: Path, most: int | None) -> Text:
    """Read a text, without what subtitles do not have or mean otherwise: brackets, and labels before a colon."""
    text = Text([], [])
    for line in read_lines(file, most=most):
        words = [
            word for word in _joined("", _removed("", line)).replace(": ", ", ").split() if any(map(str.isalnum, word))
        ]
        text.words.extend(words)
        text.ends.extend(k == len(words) - 1 for k in range(len(words)))
    return text


def damaged(words: list[str], length: int, random: np.random.Generator) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """Return words of which stretches of this length have lost marks and case, and whether each is in one."""
    words, lost = words.copy(), np.zeros(len(words), np.bool_)
    begin = int(random.integers(*_BETWEEN))
    while begin + length <= len(words):
        change: Callable[[str], str] = str.upper if random.random() < CAPITALS else str.lower
        for k in range(begin, begin + length):
            words[k] = change(words[k].strip(_EDGES))
        lost[begin : begin + length] = True
        begin += length + int(random.integers(*_BETWEEN))
    return words, lost


def measured(recaser: Recaser, text: Text, length: int) -> Counter[str]:
    """Return the numbers of lost and other words of a text, and of those that were found and touched."""
    words, lost = damaged(text.words, length, np.random.default_rng((_SEED, length)))
    data = "".join(word + ("\n" if ends else " ") for word, ends in zip(words, text.ends, strict=True))
    read = RunningText(data, [Span(0, len(data) - 1, data[:-1])]).text
    pieces = [found for _, _, found in recaser.pipeline.prepared(read) if found]
    starts, found = np.array([word.start() for word in _words(read)], np.int64), np.zeros(len(words), np.bool_)
    for span in (span for piece in pieces for span in piece.spans):
        found[slice(*np.searchsorted(starts, span))] = True
    output = b"".join(piece.text.tobytes() for piece in pieces).decode().split()
    differs = np.array([a != b for a, b in zip(words, output, strict=True)], np.bool_)
    return Counter(
        lost=int(lost.sum()),
        found=int((lost & found).sum()),
        kept=int((~lost).sum()),
        touched=int((~lost & differs).sum()),
    )


def row(name: str, counts: list[Counter[str]]) -> list[str]:
    """Return the shares of lost words that were found, and of others that were touched, in percent."""
    total = sum(counts, Counter[str]())
    found, touched = total["found"] / max(1, total["lost"]), total["touched"] / max(1, total["kept"])
    return [name, f"{100 * found:.1f}", f"{100 * touched:.2f}"]


@click.command(help=__doc__)
@click.option("--lm", default="en", show_default=True, help="Model that repairs.")
@data_option
@quick_option
@document_option
def main(lm: str, data: Path, quick: bool, document: Path | None) -> None:
    recaser = capfst.load(lm, repair=True)
    most = _QUICK_LINES if quick else None
    texts = {title: read(data / "dev" / "en" / f"{name}.txt.zst", most) for title, name in TEXTS.items()}
    counts = {(title, length): measured(recaser, text, length) for title, text in texts.items() for length in LENGTHS}
    lengths = [row(f"{length:,}", [counts[title, length] for title in texts]) for length in LENGTHS]
    lengths.append(row("all", list(counts.values())))
    of_texts = [row(title, [counts[title, length] for length in LENGTHS]) for title in texts]
    show(table(["words of a stretch", "found", "touched"], lengths), "repair-lengths", document)
    show(table(["text", "found", "touched"], of_texts), "repair-texts", document)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
