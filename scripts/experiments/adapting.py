"""Adapt a model to 1,500 sentences of another kind of text, and measure how well held-out text of it is recased.

    \b
    python scripts/experiments/adapting.py --document docs/research/experiments.md

The table has the F1 of four models, with `--sentence-case`: the base; a model of the sentences alone; the mixture of
both (`capfst mix --tune`, on a tenth of the sentences); and the base adapted to the sentences (`capfst train --base`).
The base is the bundled model, or a model of 1.2 million words without text of this kind, which is kept in
build/adapting, and trained if it is not there. Sentences are evenly spread over the first 60 % of a text, and held-out
lines, at most 4,000, over the rest; of calls, every other one is held out. Held-out lines that have a run of eight
words in common with the sentences are left out.

\b
* calls: the references of Earnings-21; the bundled model has seen other calls.
* meetings: AMI and ICSI.
* press conferences: presidents of the United States.
* tweets: WNUT 2017, as they are cased.
* manuals: the help of LibreOffice, and the manual of PHP.
* committees, dialogs: the parliaments of Wales and Canada; Taskmaster. The
  bundled model has seen all of them, so the base is a model of Simple English
  Wikipedia.
* German laws: the base is a model of Klexikon, an encyclopedia for children.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from helpers import earnings21
from helpers.bitext import spread
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.markdown import fill, table
from helpers.models import kept_model
from helpers.overlap import overlap

import capfst
from capfst.cli.exit_status import exit_status
from capfst.evaluate.compare import compare
from capfst.evaluate.score import MEASURES, measures
from capfst.models.convert import mix_models
from capfst.text.unicode import lower

BUILD = Path(__file__).resolve().parents[2] / "build" / "adapting"
SENTENCES, HELD_OUT = 1500, 4000
TUNED_ON = 10
"""One in this many sentences tunes the weights of the mixture."""
WORDS, QUICK_WORDS = 1_200_000, 20_000
"""Numbers of words of the models that replace the bundled one."""
QUICK, QUICK_EVERY = 300, 4
"""With --quick, the number of sentences and of held-out lines, and the kinds that are measured: one in so many."""
COLUMNS = ("base", "own", "mix", "train --base")


class Kind(NamedTuple):
    name: str
    sentences: list[str]
    held_out: list[str]
    base: str | Path = "en"


def ends(lines: list[str]) -> list[str]:
    """Select the lines that are sentences of four words or more."""
    return [line for line in lines if line[:1].isupper() and line[-1:] in ".?!" and line.count(" ") > 2]


def calls(data: Path) -> Iterator[list[str]]:
    """Yield the sentences of each call."""
    for call in earnings21.read(data / "speech" / "earnings21.tar.zst").values():
        words, sentences, begin = call.texts[earnings21.REFERENCE], [], 0
        for end in earnings21.sentence_ends(words):
            sentences.append(" ".join(word.text + word.mark for word in words[begin:end]))
            begin = end
        yield [line for line in sentences if "<" not in line and line[-1:] in (".", "?", "!") and line.count(" ") > 1]


def tweets(data: Path) -> list[str]:
    blocks = "\n".join(read_lines(data / "ner" / "wnut17_train.conll.zst")).split("\n\n")
    return [" ".join(row.split("\t")[0] for row in block.split("\n")) for block in blocks if block.strip()]


def kind(name: str, sentences: list[str], held_out: list[str], base: str | Path = "en") -> Kind:
    sentences = spread(sentences, SENTENCES)
    known = set(sentences)
    common = overlap(held_out, ["\n".join(sentences)]).lines.tolist()
    others = [line for line, left_out in zip(held_out, common, strict=True) if not left_out and line not in known]
    return Kind(name, sentences, spread(others, HELD_OUT), base)


def halves(name: str, lines: list[str], base: str | Path = "en") -> Kind:
    cut = len(lines) * 6 // 10
    return kind(name, lines[:cut], lines[cut:], base)


def kinds(data: Path, quick: bool) -> Iterator[Kind]:
    english, german = data / "train" / "en", data / "train" / "de"
    heard = list(calls(data))
    yield kind("calls", [line for call in heard[::2] for line in call], [line for call in heard[1::2] for line in call])
    yield halves("meetings", read_lines(english / "speech_meetings.txt.zst"))
    yield halves("press conferences", read_lines(english / "speech_press_conferences.txt.zst"))
    yield halves("tweets", tweets(data))
    for name, corpus in ("LibreOffice", "libreoffice"), ("PHP", "phpdoc"):
        yield halves(f"manual of {name}", ends(read_lines(data / "parallel" / f"{corpus}.en-fr.en.txt.zst")))
    wikipedia = small_model(english / "simple_wikipedia.txt.zst", quick)
    yield halves("committees", read_lines(english / "speech_committees.txt.zst"), wikipedia)
    yield halves("dialogs", read_lines(english / "taskmaster_dialogs.txt.zst"), wikipedia)
    klexikon = small_model(german / "wikipedia_klexikon.txt.zst", quick)
    yield halves("German laws", ends(read_lines(german / "gesetze.txt.zst")), klexikon)


def small_model(corpus: Path, quick: bool) -> Path:
    """Return a model of the first words of a corpus."""

    def train(model: Path) -> None:
        lines = read_lines(corpus, most=QUICK_WORDS if quick else None)
        counts = np.cumsum([line.count(" ") + 1 for line in lines])
        text = write(lines[: int(np.searchsorted(counts, QUICK_WORDS if quick else WORDS))], "words.txt")
        capfst.train(text, model)

    return kept_model(BUILD / ("quick" if quick else "") / f"{corpus.name.partition('.')[0]}.fst", train)


def write(lines: list[str], name: str) -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / name).write_text("\n".join(lines) + "\n", "utf-8")
    return BUILD / name


def f1(model: str | Path, lines: list[str]) -> float:
    recased = capfst.load(model, sentence_case=True)([lower(line) for line in lines])
    sums = np.concatenate(list(compare(lines, recased))).sum(axis=0).astype(np.float64)
    return float(measures(sums)[list(MEASURES).index("f1")])


def models(given: Kind) -> Iterator[str | Path]:
    """Yield the models of COLUMNS."""
    train = partial(capfst.train, clean=False)
    text = write(given.sentences, "sentences.txt")
    rest = write([line for k, line in enumerate(given.sentences) if k % TUNED_ON], "rest.txt")
    yield given.base
    train(text, BUILD / "own.fst")
    yield BUILD / "own.fst"
    train(rest, BUILD / "rest.fst")
    tuned_on = "\n".join(given.sentences[::TUNED_ON]) + "\n"
    tuned = mix_models([given.base, BUILD / "rest.fst"], BUILD / "mix.fst", tune_on=[tuned_on.encode()])
    mix_models([given.base, BUILD / "own.fst"], BUILD / "mix.fst", weights=tuned.weights)
    yield BUILD / "mix.fst"
    begin = time.perf_counter()
    train(text, BUILD / "adapted.fst", base=given.base)
    print(f"* {given.name}: adapted in {time.perf_counter() - begin:.1f} s", flush=True)
    yield BUILD / "adapted.fst"


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    logging.disable(logging.WARNING)
    rows = []
    for given in islice(kinds(data, quick), 0, None, QUICK_EVERY if quick else 1):
        held_out = given.held_out[: QUICK if quick else None]
        if quick:
            given = given._replace(sentences=given.sentences[:QUICK])
        base = given.base if isinstance(given.base, str) else given.base.stem.replace("_", " ")
        rows.append([given.name, base, *(f"{f1(model, held_out):.2f}" for model in models(given))])
    printed = table(["text", "base", *("F1: base", *COLUMNS[1:])], rows, texts=2)
    print(f"\n{printed}")
    if document:
        fill(document, "adapting", printed)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
