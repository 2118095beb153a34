"""Tag named entities in recased text with a tagger trained on true case (Lita et al. 2003, Table 2).

    \b
    python scripts/experiments/named_entities.py --document docs/research/experiments.md

A tagger (a linear-chain conditional random field) is trained on text in true case, and tested on other text in true
case, in lower case, and recased from lower case by each level of the bundled model. An entity is right if it has the
type, beginning and end of the reference's. Tables give the F1 of each type and of all types, and the percentage of the
F1 in true case that remains, with 95 % intervals over sentences.

\b
* GUM has a training part and a test part. Its types are those of mentions
  whose head is a name.
* Earnings-21, wikigold and WNUT-17 are cross-validated in five folds
  (of whole calls; of blocks of sentences).
* Earnings-21 is also recased call by call: as documents (`--document`).
* The types of Earnings-21 are grouped as in MUC: ENAMEX is PERSON, ORG and
  PLACE (GPE, LOC, FAC), NUMEX is MONEY and PERCENT, TIMEX is DATE, TIME and
  YEAR. Other tags (CARDINAL, PRODUCT, CONTRACTION, …) are ignored. Of two
  overlapping spans the longer one is used.
* Recognized words are aligned with the reference by edit distance, and get
  the labels and sentences of the aligned words. An entity of which no word
  was recognized counts as missed. The taggers of Earnings-21 are trained on
  each sentence twice, with and without punctuation, because some recognizers
  write none.

Sentences that have eight consecutive words in common with the training text of the bundled model or of their tagger are
counted, and left out of the scores.

The features of a word: the word, its lowercase, its shape (Xx, d.d), its first 1 to 3 and last 2 or 3 characters; the
lowercase and the shape of two words on either side; pairs with its neighbors.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from helpers.bootstrap import bootstrap
from helpers.corpora import bundled_text, data_option, document_option, quick_option
from helpers.entity_corpora import CORPORA, TRAINING, Corpus, Sentence, without_marks
from helpers.markdown import fill, table, with_interval
from helpers.models import ALL, LEVELS, Recase, levels
from helpers.overlap import overlap
from helpers.packages import require

import capfst
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower

TRUE, LOWER, OWN, DOCUMENTS = "true case", "lowercase", "as recognized", "documents"

# The tagger

LETTERS, DIGITS, REPEATED = re.compile(r"[^\W\d_]"), re.compile(r"\d"), re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """Return the shape of a word: "O'Neill" → "X'Xx", "2.50" → "d.d"."""
    cased = LETTERS.sub(lambda letter: "X" if letter[0].isupper() else "x", word)
    return REPEATED.sub(r"\1", DIGITS.sub("d", cased))


def features(words: list[str]) -> list[list[str]]:
    """Return the features of each word."""
    lowered, shapes = [word.lower() for word in words], [shape(word) for word in words]
    n, found = len(words), []
    for k, word in enumerate(words):
        of_word = ["", f"w{word}", f"l{lowered[k]}", f"s{shapes[k]}"]
        of_word += [f"p{length}{word[:length]}" for length in (1, 2, 3)]
        of_word += [f"e{length}{lowered[k][-length:]}" for length in (2, 3)]
        for distance in (-2, -1, 1, 2):
            inside = 0 <= k + distance < n
            of_word += (
                [f"{distance}l{lowered[k + distance]}", f"{distance}s{shapes[k + distance]}"]
                if inside
                else [f"{distance}"]
            )
        if k > 0:
            of_word += [f"<s{shapes[k - 1]} {shapes[k]}", f"<l{lowered[k - 1]} {lowered[k]}"]
        if k + 1 < n:
            of_word.append(f">s{shapes[k]} {shapes[k + 1]}")
        found.append(of_word)
    return found


def tagged(training: list[Sentence], lines: list[str]) -> dict[str, list[str]]:
    """Train a tagger on the training sentences, and return the labels of each line."""
    import sklearn_crfsuite  # noqa: PLC0415  (of the extra `experiments`)

    tagger = sklearn_crfsuite.CRF(algorithm="ap", max_iterations=10)
    tagger.fit([features(words) for words, _, _ in training], [labels for _, labels, _ in training])
    return {line: list(tagger.predict_single(features(line.split(" ")))) for line in dict.fromkeys(lines) if line}


def entities(labels: list[str]) -> set[tuple[str, int, int]]:
    """Return the type, beginning and end of each entity."""
    found, begin = set(), 0
    for k, (label, last) in enumerate(zip([*labels, "O"], ["O", *labels], strict=True)):
        if label[0] != "I" or label[2:] != last[2:]:
            if last != "O":
                found.add((last[2:], begin, k))
            begin = k
    return found


# Scores

Version = list[str]
"""The lines of a text in one casing."""


def versions(cased: Iterable[list[str]], recasers: dict[str, Recase]) -> dict[str, Version]:
    """Return the sentences of a text in true case, in lower case, and recased by each level."""
    true = [" ".join(words) for words in cased]
    lowered = [lower(line) for line in true]
    recased = {name: recase(lowered) for name, recase in recasers.items()}
    return {TRUE: true, LOWER: lowered, **recased}


def by_document(recaser: capfst.Recaser, documents: npt.NDArray[np.int64]) -> Recase:
    """Return a function that recases lines as documents, which are separated by blank lines."""

    def recase(lines: list[str]) -> list[str]:
        kept = [k for k, line in enumerate(lines) if line]
        text, last = [], kept[0] if kept else 0
        for k in kept:
            text += [""] * int(documents[k] != documents[last]) + [lines[k]]
            last = k
        recased = dict(zip(kept, filter(None, recaser("\n".join(text)).split("\n")), strict=True))
        return [recased.get(k, "") for k in range(len(lines))]

    return recase


def counts(
    sentences: list[Sentence], texts: dict[str, Version], labels: list[dict[str, list[str]]], folds: Sequence[int],
    types: list[str],
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Count the entities found, those of the reference, and the right ones: float64[n, versions, types, 3]."""
    counted = np.zeros((len(sentences), len(texts), len(types), 3))
    number = {type: k for k, type in enumerate(types)}
    for k, (sentence, fold) in enumerate(zip(sentences, folds, strict=True)):
        reference = entities(sentence.labels)
        for v, lines in enumerate(texts.values()):
            found = entities(labels[fold][lines[k]]) if lines[k] else set()
            for column, each in enumerate((found, reference, found & reference)):
                for type, _, _ in each:
                    counted[k, v, number[type], column] += 1
        for type in sentence.missed:
            counted[k, :, number[type], 1] += 1
    return counted


def f1(of_columns: npt.NDArray[np.float64], sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return F1 and its percentage of the first version's (true case), float64[2, versions, columns].

    100 % remain where the F1 in true case is 0.
    """
    found, wanted, right = np.moveaxis(np.einsum("ct,vtn->vcn", of_columns, sums), 2, 0)
    values = 200 * right / np.maximum(1, found + wanted)
    in_true_case = np.broadcast_to(values[:1], values.shape)
    remaining = np.divide(100 * values, in_true_case, out=np.full_like(values, 100), where=in_true_case > 0)
    return np.stack([values, remaining])


class Result(NamedTuple):
    """The result of `f1` for a text, and the ends of the intervals."""

    values: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    versions: list[str]

    def cells(self, version: str, measure: int) -> list[str]:
        """Return the F1 of all columns (measure 0), or its percentage of true case (1); "" without this version."""
        if version not in self.versions:
            return [""] * self.values.shape[-1]
        row = measure, self.versions.index(version)
        return [with_interval(*each) for each in zip(self.values[row], self.low[row], self.high[row], strict=True)]


def measured(corpus: Corpus, recasers: dict[str, Recase], left_out: npt.NDArray[np.bool_]) -> dict[str, Result]:
    """Return the scores of the corpus and of each recognizer, without the sentences `left_out`, bool[n]."""
    tested = np.flatnonzero(corpus.folds != TRAINING)
    folds = [int(fold) for fold in corpus.folds[tested]]
    reference = [corpus.sentences[k] for k in tested]
    texts = {corpus.name: (reference, versions((sentence.words for sentence in reference), recasers))}
    for name, heard in corpus.heard.items():
        sentences = [sentence for sentence, _ in heard]
        of_name = versions((cased for _, cased in heard), recasers)
        texts[name] = sentences, {**of_name, OWN: [" ".join(sentence.words) for sentence in sentences]}
    trainings, lines = [], []
    for fold in range(max(folds) + 1):
        training = [corpus.sentences[k] for k in np.flatnonzero(corpus.folds != fold)]
        trainings.append(training + [without_marks(sentence) for sentence in training] * corpus.unmarked)
        lines.append(
            [
                version[k]
                for _, of_name in texts.values()
                for version in of_name.values()
                for k in np.flatnonzero(np.equal(folds, fold))
            ]
        )
    with ProcessPoolExecutor(2) as pool:
        labels = list(pool.map(tagged, trainings, lines))
    types = sorted({type for column in corpus.columns.values() for type in column})
    columns = [*corpus.columns.values(), tuple(types)]
    of_columns = np.array([[float(type in column) for type in types] for column in columns])
    kept = ~left_out[tested]
    return {
        name: Result(
            *bootstrap(counts(sentences, of_name, labels, folds, types)[kept], partial(f1, of_columns)), list(of_name)
        )
        for name, (sentences, of_name) in texts.items()
    }


def overlapping(corpora: list[Corpus], text: Iterable[bytes]) -> list[npt.NDArray[np.bool_]]:
    """Find the sentences that have a run of words in common with the training text of the model or of their tagger.

    Prints their numbers, and returns bool[n] for each corpus.
    """
    lines = [[" ".join(sentence.words) for sentence in corpus.sentences] for corpus in corpora]
    of_model = overlap([line for of_corpus in lines for line in of_corpus], text).lines
    found = []
    for corpus, of_corpus, common in zip(
        corpora, lines, np.split(of_model, np.cumsum([len(each) for each in lines])[:-1]), strict=True
    ):
        tested = corpus.folds != TRAINING
        of_tagger = np.zeros(len(common), np.bool_)
        for fold in range(corpus.folds.max() + 1):
            these = corpus.folds == fold
            training = [line for line, inside in zip(of_corpus, these, strict=True) if not inside]
            of_tagger[these] = overlap([of_corpus[k] for k in np.flatnonzero(these)], ["\n".join(training)]).lines
        found.append(common | of_tagger)
        print(
            f"* {corpus.name}: {tested.sum():,} sentences; {(common & tested).sum():,} have eight words in common with "
            f"the model's training text, {of_tagger.sum():,} with their tagger's",
            flush=True,
        )
    return found


# Tables


def corpus_table(corpus: Corpus, result: Result) -> str:
    shown = [version for version in (TRUE, LOWER, *LEVELS, DOCUMENTS) if version in result.versions]
    rows = [[version, *result.cells(version, 0)] for version in shown]
    rows += [[f"{version}, % of {TRUE}", *result.cells(version, 1)] for version in shown if version in (ALL, DOCUMENTS)]
    return table([f"{corpus.name}, F1", *corpus.columns, "all"], rows)


def recognizer_table(corpus: Corpus, results: dict[str, Result]) -> str:
    """Tabulate ENAMEX of the reference and of each recognizer in each version, and the percentages that remain."""
    column, shown = list(corpus.columns).index("ENAMEX"), (OWN, LOWER, *LEVELS, DOCUMENTS, TRUE)
    rows = []
    for name, result in results.items():
        remaining = result.cells(DOCUMENTS, 1)
        of_versions = [result.cells(version, 0)[column] for version in shown]
        rows.append([name.replace(corpus.name, "reference"), *of_versions, remaining[column], remaining[-1]])
    return table(["ENAMEX, F1", *shown, f"{DOCUMENTS}, % of {TRUE}", "all types, %"], rows)


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
@click.option("--corpus", type=click.Choice([*CORPORA]), help="Use only this corpus.  [default: all]")
def main(data: Path, quick: bool, document: Path | None, corpus: str | None) -> None:
    require("sklearn_crfsuite")
    corpora = [read(data, quick) for name, read in CORPORA.items() if corpus in (None, name)]
    left_out = overlapping(corpora, itertools.islice(bundled_text(data), 1 if quick else None))
    recasers, with_memory = levels(None), capfst.load(sentence_case=True, input_case="ignore", document=True)
    for each, of_corpus in zip(corpora, left_out, strict=True):
        of_documents = {} if each.documents is None else {DOCUMENTS: by_document(with_memory, each.documents)}
        results = measured(each, recasers | of_documents, of_corpus)
        tables = {each.name: corpus_table(each, results[each.name])}
        if each.heard:
            tables["recognizers"] = recognizer_table(each, results)
        for name, printed in tables.items():
            print(f"\n{printed}", flush=True)
            if document:
                fill(document, f"entities: {name}", printed)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
