"""Compare the casing rules of a language (`--language`) with Unicode's defaults.

    \b
    python scripts/experiments/language_rules.py

Prints a table of accuracy, F1 and CER, with sentence case restored. The models of a language are trained on the same
lines and measured on other lines: its `dev` texts, or, for Turkish, which has none, the last tenth of each training
text.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click
from helpers.corpora import data_option, quick_option, read_lines
from helpers.markdown import table
from helpers.overlap import overlap

import capfst
from capfst.cli.exit_status import exit_status

LANGUAGES = ("tr", "fr", "it", "nl")
LINES = 60_000
"""Number of lines taken from each training text."""
FEW = 200


@click.command(help=__doc__)
@data_option
@quick_option
def main(data: Path, quick: bool) -> None:
    rows = []
    for language in LANGUAGES[:1] if quick else LANGUAGES:
        train, test = split(data, language, FEW if quick else LINES)
        click.echo(f"{language}: {len(train):,} lines, tested on {len(test):,}: {overlap(test, train)}", err=True)
        rows += [[language, *row] for row in measured(language, train, test)]
    click.echo(table(["language", "rules", "accuracy", "F1", "CER"], rows, 2))


def split(data: Path, language: str, most: int) -> tuple[list[str], list[str]]:
    """Read the lines to train on, at most `most` of each text, and the lines to test on."""
    train, test = [], [line for file in sorted(data.glob(f"dev/{language}/*")) for line in read_lines(file)]
    held_out: list[str] = []
    for file in sorted(data.glob(f"train/{language}/*")):
        lines = read_lines(file, most=most)
        end = len(lines) if test else len(lines) * 9 // 10
        train += lines[:end]
        held_out += lines[end:]
    return train, test or held_out


def measured(language: str, train: list[str], test: list[str]) -> list[list[str]]:
    """Train a model per set of rules; return its rules and its scores on the text, which it lowercases by them."""
    rows = []
    with TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus.txt", Path(folder) / "cap.fst"
        corpus.write_text("".join(line + "\n" for line in train), "utf-8")
        for rules in None, language:
            capfst.train(corpus, model, language=rules)
            recased = capfst.load(model, sentence_case=True, input_case="ignore")(test)
            scores = capfst.score(references=test, hypotheses=recased)
            rates = (scores.accuracy, scores.f1, scores.capitalization_error_rate)
            figures = (f"{figure:.2f}" for figure in rates)
            rows.append([rules or "Unicode", *figures])
    return rows


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
