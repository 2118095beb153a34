"""Measure how well `capfst train --restore diacritics` restores diacritics, and `--restore both` also case.

    \b
    python scripts/experiments/diacritics.py --document docs/research/languages.md

Prints a table of word accuracy (the fraction of words, separated by spaces, that are right) of the text without
diacritics (and case) as it is; with each word in its most frequent form; restored by the LM alone, and with context.
A second table gives words per second of processor time of models that restore case, diacritics and both. Models are
trained on lines of `train` and measured on the texts of `test`. Turkish has no such text: every 20th line of Common
Voice is held out instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.markdown import fill, table
from helpers.models import fastest
from helpers.overlap import overlap

import capfst
from capfst.cli.exit_status import exit_status
from capfst.text.restoring import BOTH, CASE, DIACRITICS, RESTORED, restoring
from capfst.text.unicode import lower

LANGUAGES = ("fr", "es", "pt", "de", "tr", "nl")
LINES = 15_000
"""Number of lines taken from each training text."""
FEW = 200
HELD_OUT = 20
"""Every HELD_OUT-th line is held out where there is no test text."""
SPEED_OF, TIMES = "fr", 5
MARK = "diacritics"


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    rows, speeds = [], ""
    for language in LANGUAGES[:1] if quick else LANGUAGES:
        train, test = split(data, language, FEW if quick else LINES)
        if quick:
            test = test[:FEW]
        click.echo(f"{language}: {len(train):,} lines, tested on {len(test):,}: {overlap(test, train)}", err=True)
        with TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus.txt"
            corpus.write_text("".join(line + "\n" for line in train), "utf-8")
            for restore in DIACRITICS, BOTH:
                rows.append([language, restore, *measured(corpus, language, restore, test)])
                click.echo(" ".join(rows[-1]), err=True)
            if language == SPEED_OF:
                speeds = speed(corpus, language, test)
    head = ["language", "restored", "as it is", "most frequent form", "LM alone", "LM and context"]
    text = f"{table(head, rows, 2)}\n\n{speeds}\n"
    if document:
        fill(document, MARK, text.rstrip())
    click.echo(text)


def split(data: Path, language: str, most: int) -> tuple[list[str], list[str]]:
    """Read the lines to train on, at most `most` of each text, and the lines to test on."""
    test = [line for file in sorted(data.glob(f"test/{language}/*")) for line in read_lines(file)]
    train: list[str] = []
    for file in sorted(data.glob(f"train/{language}/*")):
        lines = read_lines(file, most=most)
        if not test and file.name.startswith("common_voice"):
            test = lines[::HELD_OUT]
            del lines[::HELD_OUT]
        train += lines
    known = set(test)
    return [line for line in train if line not in known], test


def measured(corpus: Path, language: str, restore: str, test: Sequence[str]) -> list[str]:
    """Train the models of a language, and return the accuracies of a row."""
    lowering = restoring(language, restore).lowering
    text = [lower(line, lowering) for line in test]
    model, words = corpus.with_name(f"{restore}.fst"), corpus.with_name("words.fst")
    capfst.train(corpus, model, language=language, restore=restore)
    capfst.train(corpus, words, language=language, restore=restore, order=1, context=False)
    systems = [words, model, model]
    of_words, of_lm, of_all = (
        capfst.load(system, sentence_case=restore == BOTH, context=k == 2) for k, system in enumerate(systems)
    )
    restored = [text, of_words(text), of_lm(text), of_all(text)]
    assert all(lower(line, lowering) == given for lines in restored for line, given in zip(lines, text, strict=True))
    return [f"{100 * accuracy(test, lines):.2f}" for lines in restored]


def accuracy(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Return the fraction of words (separated by spaces) that are right."""
    pairs = [
        pair
        for lines in zip(references, hypotheses, strict=True)
        for pair in zip(*(line.split() for line in lines), strict=True)
    ]
    return sum(one == other for one, other in pairs) / len(pairs)


def speed(corpus: Path, language: str, test: Sequence[str]) -> str:
    """Measure words per second of models that restore case, diacritics (trained before), or both; return a table."""
    capfst.train(corpus, corpus.with_name("case.fst"), language=language)
    recasers = [capfst.load(corpus.with_name(f"{restore}.fst")) for restore in RESTORED]
    lowerings = [restoring(language, restore).lowering for restore in RESTORED]
    texts = ["\n".join(lower(line, lowering) for line in test) for lowering in lowerings]
    n_words = sum(len(line.split()) for line in test)
    least = dict(zip(RESTORED, fastest(recasers, texts, TIMES), strict=True))
    rows = [
        [restore, f"{n_words / least[restore]:,.0f}", f"{least[CASE] / least[restore]:.2f}"] for restore in RESTORED
    ]
    return table(["restored", "words/s", "against case"], rows)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
