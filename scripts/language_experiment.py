#!/usr/bin/env python3
"""Languages with their own rules of case, against Unicode's: what `--language` changes.

In: the corpora of DATA. Out: a Markdown table of accuracy, F1 and CER, sentence case restored. The models of a language
are trained on the same lines, and measured on lines that none of them has seen: its `dev` texts, or, of Turkish, which
has none, the last tenth of each training text.

    python scripts/language_experiment.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click
from experiments import data_option, overlap, quick_option, read_lines, table

import capfst

LANGUAGES = ("tr", "fr", "it", "nl")
LINES = 60_000
"""Of each training text."""
FEW = 2_000


@click.command()
@data_option
@quick_option
def main(data: Path, quick: bool) -> None:
    """Trains and measures the models of each language."""
    rows = []
    for language in LANGUAGES[:1] if quick else LANGUAGES:
        train, test = split(data, language, FEW if quick else LINES)
        click.echo(f"{language}: {len(train):,} lines, tested on {len(test):,}: {overlap(test, train)}", err=True)
        rows += [[language, *row] for row in measured(language, train, test)]
    click.echo(table(["language", "rules", "accuracy", "F1", "CER"], rows, 2))


def split(data: Path, language: str, most: int) -> tuple[list[str], list[str]]:
    """Lines to train on, up to `most` of each text, and lines to test on."""
    train, test = [], [line for file in sorted(data.glob(f"dev/{language}/*")) for line in read_lines(file)]
    held_out: list[str] = []
    for file in sorted(data.glob(f"train/{language}/*")):
        lines = read_lines(file)[:most]
        end = len(lines) if test else len(lines) * 9 // 10
        train += lines[:end]
        held_out += lines[end:]
    return train, test or held_out


def measured(language: str, train: list[str], test: list[str]) -> list[list[str]]:
    """The rows of a language: the rules of a model, and its scores on the text, which it lowercases by them."""
    rows = []
    with TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus.txt", Path(folder) / "cap.fst"
        corpus.write_text("".join(line + "\n" for line in train), "utf-8")
        for rules in None, language:
            capfst.train(corpus, model, language=rules)
            recased = capfst.load(model, sentence_case=True)(test)
            scores = capfst.score(references=test, hypotheses=recased)
            rates = (scores.accuracy, scores.f1, scores.capitalization_error_rate)
            figures = (f"{figure:.2f}" for figure in rates)
            rows.append([rules or "Unicode", *figures])
    return rows


if __name__ == "__main__":
    main()
