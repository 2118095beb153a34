"""Compare one model of eight languages with a model per language: the gain from other languages, and the cost of
detecting the language of each line.

    \b
    python scripts/data/word_lists.py de en es fr it nl pt tr -o words
    python scripts/experiments/multilingual.py words --document docs/research/languages.md

WORDS is a folder of word lists. The tables, with sentence case restored, are of held-out lines: the language's `test`
text, or, for Turkish, which has none, the last tenth of each training text.

    \b
    1. Accuracy, F1 and CER by language: the levels of the language's own model;
       the joint model; with word lists; and with the `dev` texts instead, a
       little text similar to the test text.
    2. The percentage of lines for which the joint model detects another
       language; F1 without and with the language given; F1 on alternating
       lines of the language and of English, and on lines that join two of
       them; words per second of processor time.
    3. F1 by language of the joint model: with word lists, without, and pruned.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
from helpers.corpora import bundled_sources, data_option, document_option, quick_option, read_lines
from helpers.markdown import show, table
from helpers.models import fastest, levels
from helpers.overlap import overlap

import capfst
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt", "tr")
PRUNED = (450_000, 1_000_000), (190_000, 420_000)
"""Numbers of surface forms and n-grams of pruned models; the last is as large as the bundled model of English."""
FEW, FEW_PRUNED = 500, ((10_000, 20_000), (5_000, 10_000))
"""With --quick, the number of lines taken from each text, and the sizes of pruned models."""
TURNS = 3


@click.command(help=__doc__)
@click.argument("words", type=click.Path(exists=True, file_okay=False, path_type=Path))
@data_option
@document_option
@quick_option
def main(words: Path, data: Path, document: Path | None, quick: bool) -> None:
    languages = LANGUAGES[:2] if quick else LANGUAGES
    with TemporaryDirectory() as name:
        folder = Path(name)
        tests = {language: split(data, language, FEW if quick else None, folder) for language in languages}
        texts = [f"{language}={folder}/{language}" for language in languages]
        dev = [f"{language}={file}" for language in languages for file in add_dev(data, language, tests, folder)]
        together, listed, more, own = (folder / f"{name}.fst" for name in ("together", "listed", "more", "own"))
        capfst.train(texts, together)
        capfst.train(texts, listed, words=[f"{language}={words}/{language}.txt" for language in languages])
        capfst.train(texts + dev, more)
        accuracies, companies = [], []
        for language, test in tests.items():
            capfst.train(f"{language}={folder}/{language}", own)
            outputs = [recase(test) for recase in levels(own).values()]
            outputs += [
                capfst.load(model, sentence_case=True, input_case="ignore")(test) for model in (together, listed, more)
            ]
            accuracies += measures(language, test, outputs)
            named = capfst.load(together, sentence_case=True, input_case="ignore", language=language)(test)
            wrong = sum(found != language for found in detected_languages(together, test)) / len(test)
            cells = [f"{100 * wrong:.1f} %", f1(test, outputs[-3]), f1(test, named)]
            cells += with_english(together, test, tests["en"]) if language != "en" else ["", ""]
            companies.append([language, *cells, *(f"{n:,.0f}" for n in words_per_second([own, together], test))])
            click.echo(" ".join(companies[-1]), err=True)
        sizes = [of_size(listed, tests), of_size(together, tests)]
        for n_words, n_ngrams in FEW_PRUNED if quick else PRUNED:
            capfst.train(texts, own, max_words=n_words, max_ngrams=n_ngrams)
            sizes.append(of_size(own, tests))
    systems = ["own unigram", "own LM", "own LM + context", "one model", "and word lists", "and dev text"]
    head = ["wrong language", "F1", "language named", "beside English", "two in a line", "words/s, own", "one model"]
    tables = [
        table(["", "measure", *systems], accuracies, 2),
        table(["", *head], companies),
        table(["MB", *languages], sizes),
    ]
    printed = "\n\n".join(tables)
    show(printed, "several languages", document)


def f1(reference: list[str], recased: list[str]) -> str:
    return f"{capfst.score(references=reference, hypotheses=recased).f1:.2f}"


def measures(language: str, test: list[str], outputs: list[list[str]]) -> list[list[str]]:
    """Return a row per measure."""
    scores = [capfst.score(references=test, hypotheses=output) for output in outputs]
    return [
        [language, "accuracy", *(f"{score.accuracy:.2f}" for score in scores)],
        ["", "F1", *(f"{score.f1:.2f}" for score in scores)],
        ["", "CER", *(f"{score.capitalization_error_rate:.2f}" for score in scores)],
    ]


def of_size(model: Path, tests: dict[str, list[str]]) -> list[str]:
    """Return a model's size in MB, and its F1 on each text."""
    recaser = capfst.load(model, sentence_case=True, input_case="ignore")
    return [f"{model.stat().st_size / 1e6:,.1f}", *(f1(test, recaser(test)) for test in tests.values())]


def words_per_second(models: list[Path], lines: list[str]) -> list[float]:
    """Return the speed of each model: the fastest of several turns."""
    recasers = [capfst.load(model, input_case="ignore") for model in models]
    text = "\n".join(lower(line) for line in lines)
    return [len(text.split()) / seconds for seconds in fastest(recasers, [text] * len(models), TURNS)]


def split(data: Path, language: str, most: int | None, folder: Path) -> list[str]:
    """Write the lines to train on, at most `most` of each text, to folder/language; return the lines to test on. The
    English texts are those of the bundled model."""
    test = [line for file in sorted(data.glob(f"test/{language}/wiki*")) for line in read_lines(file)][:most]
    (folder / language).mkdir()
    train, held_out = [], []
    for file in sorted(data.glob(f"train/{language}/*")):
        if language == "en" and file not in bundled_sources(data):
            continue
        lines = read_lines(file, most=most)
        end = len(lines) if test else len(lines) * 9 // 10
        held_out += lines[end:]
        (folder / language / file.stem).write_text("".join(line + "\n" for line in lines[:end]), "utf-8")
        train += lines[:end]
    click.echo(f"{language}: {overlap(test or held_out, train)}", err=True)
    return test or held_out


def add_dev(data: Path, language: str, tests: dict[str, list[str]], folder: Path) -> Iterator[Path]:
    """Write the language's `dev` text of Wikipedia, except lines that have a run of words in common with the test."""
    for file in data.glob(f"dev/{language}/wiki*"):
        lines = read_lines(file)
        written = folder / f"{language}.{file.stem}"
        kept = zip(lines, overlap(lines, tests[language]).lines, strict=True)
        written.write_text("".join(line + "\n" for line, common in kept if not common), "utf-8")
        yield written


def with_english(model: Path, lines: list[str], english: list[str]) -> list[str]:
    """Return F1 on lines that end in a period, each paired with an English one: alternating, and joined in one line."""
    pairs = [(one, other) for one, other in zip(lines, english, strict=False) if one.endswith(".")]
    recaser = capfst.load(model, sentence_case=True, input_case="ignore")
    return [f1(text, recaser(text)) for text in (list(chain(*pairs)), [" ".join(pair) for pair in pairs])]


def detected_languages(model: Path, lines: list[str]) -> list[str]:
    """Return the language that the model detects for each line."""
    recaser = capfst.load(model, input_case="ignore")
    assert recaser.pipeline.context is not None
    names = recaser.model.signature.lowercasing.split("+")
    detected = []
    for line in lines:
        words = recaser.pipeline.loaded.transducer.words(np.frombuffer(line.encode(), np.uint8))
        log_odds = recaser.pipeline.context.language_log_odds[words.first_labels[words.n_forms > 0]]
        detected.append(names[int(log_odds.sum(0, dtype=np.int64).argmax())])
    return detected


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
