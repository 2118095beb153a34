#!/usr/bin/env python3
"""One model of eight languages against a model of each: what languages learn from each other, and what telling a line's
language apart costs.

In: the corpora of DATA. Out: a Markdown table by language, sentence case restored, of lines that no model has seen:
the language's `test` text, or, of Turkish, which has none, the last tenth of each training text. The levels of
the language's own model are those of levels.py; the model of all languages is asked without and with the line's
language. The last column: of how many lines another language is found.

    python scripts/multilingual_experiment.py --document docs/languages.md
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
from document import fill
from experiments import data_option, overlap, quick_option, read_lines, table
from levels import levels

import capfst

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt", "tr")
LEFT_OUT = ("eltec_novels", "frus", "un_general_debate")
"""Of English: what the ready model is not trained on, either."""
FEW = 3_000
"""Lines of each text, if it has to be quick."""


@click.command()
@data_option
@click.option("--document", type=click.Path(exists=True, path_type=Path), help="Put the table there.")
@quick_option
def main(data: Path, document: Path | None, quick: bool) -> None:
    """Trains a model of each language and one of all, and measures them."""
    languages = LANGUAGES[:2] if quick else LANGUAGES
    rows = []
    with TemporaryDirectory() as folder:
        tests = {}
        for language in languages:
            train, tests[language] = split(data, language, FEW if quick else None)
            click.echo(f"{language}: {overlap(tests[language], chain(*train.values()))}", err=True)
            (Path(folder) / language).mkdir()
            for name, lines in train.items():
                (Path(folder) / language / name).write_text("".join(line + "\n" for line in lines), "utf-8")
        together = Path(folder) / "together.fst"
        capfst.train([f"{language}={folder}/{language}" for language in languages], together)
        own = Path(folder) / "own.fst"
        for language in languages:
            capfst.train(f"{language}={folder}/{language}", own)
            test = tests[language]
            outputs = [recase(test) for recase in levels(own).values()]
            outputs += [capfst.load(together, sentence_case=True, language=of)(test) for of in (None, language)]
            scores = [capfst.score(test, output) for output in outputs]
            wrong = sum(found != language for found in found_languages(together, test)) / len(test)
            rows.append([language, *(f"{score.f1:.2f}" for score in scores), f"{100 * wrong:.1f} %"])
            click.echo(" ".join(rows[-1]), err=True)
    header = ["F1", "own unigram", "own LM", "own LM + context", "one model", "language named", "wrong language"]
    printed = table(header, rows)
    click.echo(printed)
    if document:
        fill(document, "several languages", printed)


def split(data: Path, language: str, most: int | None) -> tuple[dict[str, list[str]], list[str]]:
    """Lines to train on, up to `most` of each text, by its name, and lines to test on."""
    test = [line for file in sorted(data.glob(f"test/{language}/wiki*")) for line in read_lines(file)][:most]
    train, held_out = {}, []
    for file in sorted(data.glob(f"train/{language}/*")):
        if language == "en" and file.name.removesuffix(".txt.zst") in LEFT_OUT:
            continue
        lines = read_lines(file)[:most]
        end = len(lines) if test else len(lines) * 9 // 10
        train[file.name.removesuffix(".zst")] = lines[:end]
        held_out += lines[end:]
    return train, test or held_out


def found_languages(model: Path, lines: list[str]) -> list[str]:
    """The language that the model finds for each line."""
    recaser = capfst.load(model)
    assert recaser.context is not None
    names = recaser.model.signature.lowercasing.split("+")
    found = []
    for line in lines:
        words = recaser.transducer.words(np.frombuffer(line.encode(), np.uint8))
        log_odds = recaser.context.language_log_odds[words.first_labels[words.n_forms > 0]]
        found.append(names[int(log_odds.sum(0, dtype=np.int64).argmax())])
    return found


if __name__ == "__main__":
    main()
