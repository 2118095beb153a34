"""Measure how many words a stream must look ahead: words that are recased one by one, compared with whole lines.

    \b
    python scripts/experiments/streams.py --document docs/research/figures.md

Texts: sentences of the web and of Wikipedia, and turns of earnings calls (Earnings-21) of up to 2,000 words; in lower
case, with punctuation and `--sentence-case`, and without both. Without punctuation, capitals that only mark the first
word of a sentence do not count.

The first table has the percentage of words whose casing is that of the whole line, the second one F1, the third one the
processor time that a word takes, and the last one F1 of calls whose turns are cut into utterances of so many words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.earnings21 import REFERENCE, positional, read
from helpers.intrinsic_case import inside_case
from helpers.markdown import fill, table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.recaser import Recaser
from capfst.text.unicode import lower

LOOK_AHEADS = (0, 1, 2, 4, 8)
WORDS, QUICK = 20_000, 100
"""Numbers of words that are taken from each text, and with --quick."""
UTTERANCES = (5, 10, 20, 40)
TEXTS = {"web": "web_ewt_dev.txt.zst", "encyclopedia": "wikipedia_wikitext2_valid.txt.zst"}


class Text(NamedTuple):
    """A text in its own case, and how it is recased."""

    name: str
    lines: list[str]
    recaser: Recaser


def lines_of_calls(archive: Path, marked: bool) -> Iterator[str]:
    """Yield the turns of every second call, from the first; without punctuation, in intrinsic case."""
    calls = [call.texts[REFERENCE] for call in list(read(archive).values())[::2]]
    own = inside_case([([word.text for word in call], positional(call)) for call in calls])
    for call, words in zip(calls, own, strict=True):
        pairs = zip(call, words, strict=True)
        for _, turn in groupby(pairs, key=lambda pair: pair[0].speaker):
            yield " ".join(word.text + word.mark if marked else inside for word, inside in turn)


def plain(lines: Iterable[str]) -> list[str]:
    """Return lines, which are sentences, without punctuation, in intrinsic case."""
    words = [re.sub(r"[^\w\s]+(?!\S)|(?<!\S)[^\w\s]+", " ", line).split() for line in lines]
    cased = inside_case([(line, [k == 0 for k in range(len(line))]) for line in words])
    return [" ".join(line) for line in cased if line]


def first(lines: Iterable[str], limit: int) -> list[str]:
    """Return the first lines, with at least this number of words if there are so many; no line has more."""
    taken, n_words = [], 0
    for line in lines:
        if n_words >= limit:
            break
        words = line.split()[:limit]
        taken.append(" ".join(words))
        n_words += len(words)
    return taken


def texts(data: Path, limit: int) -> Iterator[Text]:
    spoken, written = capfst.load(), capfst.load(sentence_case=True)
    for name, file in TEXTS.items():
        lines = first(read_lines(data / "dev" / "en" / file), limit)
        yield Text(name, lines, written)
        yield Text(f"{name}, words alone", plain(lines), spoken)
    for name, marked, recaser in (("calls", True, written), ("calls, words alone", False, spoken)):
        yield Text(name, first(lines_of_calls(data / "speech" / "earnings21.tar.zst", marked), limit), recaser)


def recased(text: Text, look_ahead: int, seconds: list[float]) -> list[list[str]]:
    """Return the words of each line as a stream gives them out; append the processor time of each one, in seconds."""
    stream = text.recaser.stream(look_ahead)
    lines = []
    for line in text.lines:
        cased = []
        for word in lower(line).split():
            begin = time.thread_time()
            cased.append(stream.add(word))
            seconds.append(time.thread_time() - begin)
        lines.append("".join([*cased, stream.end()]).split())
    return lines


def f1(text: Text, lines: list[list[str]]) -> str:
    return f"{capfst.score(references=text.lines, hypotheses=[' '.join(line) for line in lines]).f1:.2f}"


def of_utterances(text: Text) -> list[str]:
    """Return F1 of whole lines, each cut into utterances of a number of words."""
    cells = []
    for size in UTTERANCES:
        lines = []
        for line in text.lines:
            words = lower(line).split()
            cut = text.recaser([" ".join(words[k : k + size]) for k in range(0, len(words), size)])
            lines.append(" ".join(cut).split())
        cells.append(f1(text, lines))
    return cells


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    agreement, scores = [], []
    seconds: dict[int, list[float]] = {look_ahead: [] for look_ahead in LOOK_AHEADS}
    for text in texts(data, QUICK if quick else WORDS):
        whole = [line.split() for line in text.recaser([lower(line) for line in text.lines])]
        n_words = sum(map(len, whole))
        agreement.append([text.name, f"{n_words:,}"])
        scores.append([text.name])
        for look_ahead, of_words in seconds.items():
            lines = recased(text, look_ahead, of_words)
            same = sum(sum(map(str.__eq__, *pair)) for pair in zip(lines, whole, strict=True))
            agreement[-1].append(f"{100 * same / n_words:.2f}")
            scores[-1].append(f1(text, lines))
        scores[-1].append(f1(text, whole))
    times = [
        [f"{look_ahead}", *(f"{1000 * value:.2f}" for value in np.percentile(of_words, [50, 99]))]
        for look_ahead, of_words in seconds.items()
    ]
    ahead = [f"{look_ahead} ahead" for look_ahead in LOOK_AHEADS]
    tables = {
        "streams-agreement": table(["text", "words", *ahead], agreement),
        "streams-f1": table(["text", *ahead, "whole line"], scores),
        "streams-time": table(["words ahead", "median, ms", "99 %, ms"], times),
        "streams-utterances": table(
            [text.name, *(f"{size} words" for size in UTTERANCES), "turns"],
            [["F1", *of_utterances(text), scores[-1][-1]]],
        ),
    }
    for name, shown in tables.items():
        click.echo(f"{name}:\n\n{shown}\n")
        if document:
            fill(document, name, shown)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
