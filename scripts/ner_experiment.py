"""Named entities in recased text (Lita et al. 2003, Table 2): how well does a tagger that knows true case find them?

    python scripts/ner_experiment.py [--data ../shared/data] [--quick] [--document docs/experiments.md]

A tagger, a linear-chain conditional random field, is trained on text in true case, and tested on other text in true
case, in lower case, and as each level of the ready model recases its lowercase. A found entity is right if it has the
type, the beginning and the end of the reference's. Tables give the F1 of each type and of all, and how much of the F1
in true case remains, with 95 % intervals over sentences.

* GUM has a part to train on and one to test on. Its types are those of mentions with a name as their head.
* Earnings-21, wikigold and WNUT-17 are tested fifth by fifth with taggers of the other four (whole calls; blocks of
  sentences).
* Earnings-21 is also recased call by call: as documents (`--document`).
* The types of Earnings-21 are grouped as in MUC: ENAMEX is PERSON, ORG and PLACE (GPE, LOC, FAC), NUMEX is MONEY and
  PERCENT, TIMEX is DATE, TIME and YEAR. Other tags (CARDINAL, PRODUCT, CONTRACTION, …) are none. Of two spans that
  overlap the longer one is taken.
* Recognizers' words are aligned with the reference's by edit distance, and take the labels and the sentences of those
  that they stand for. An entity of which no word was recognized counts as missed. So that they also suit recognizers
  which write no punctuation, the taggers of Earnings-21 have each sentence twice, once without it.

Sentences that have eight words in a row in common with the training text of the ready model, or of their tagger, are
counted, and left out of the scores.

The features of a word: itself, its lowercase, its shape (Xx, d.d), 1 to 3 characters at its beginning and 2 or 3 at its
end; the lowercase and the shape of two words on either side; pairs of it and its neighbours.
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
from command import run  # beside this script, as the next four
from document import fill
from entity_corpora import CORPORA, TRAINING, Corpus, Sentence, without_marks
from experiments import (
    bootstrap,
    data_option,
    help_text,
    overlap,
    quick_option,
    ready_text,
    require,
    table,
    with_interval,
)
from levels import ALL, LEVELS, Recase, levels

import capfst
from capfst.text.unicode import lower

TRUE, LOWER, OWN, DOCUMENTS = "true case", "lowercase", "as recognized", "documents"

# The tagger

LETTERS, DIGITS, REPEATED = re.compile(r"[^\W\d_]"), re.compile(r"\d"), re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """ "O'Neill" → "X'Xx", "2.50" → "d.d"."""
    cased = LETTERS.sub(lambda letter: "X" if letter[0].isupper() else "x", word)
    return REPEATED.sub(r"\1", DIGITS.sub("d", cased))


def features(words: list[str]) -> list[list[str]]:
    """The features of each word."""
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
    """The labels of each line, by a tagger of the training sentences."""
    import sklearn_crfsuite  # noqa: PLC0415  (of the extra `experiments`)

    tagger = sklearn_crfsuite.CRF(algorithm="ap", max_iterations=10)
    tagger.fit([features(words) for words, _, _ in training], [labels for _, labels, _ in training])
    return {line: list(tagger.predict_single(features(line.split(" ")))) for line in dict.fromkeys(lines) if line}


def entities(labels: list[str]) -> set[tuple[str, int, int]]:
    """The type, beginning and end of each."""
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
    """A text of sentences in true case, lower case, and as each level recases it."""
    true = [" ".join(words) for words in cased]
    lowered = [lower(line) for line in true]
    recased = {name: recase(lowered) for name, recase in recasers.items()}
    return {TRUE: true, LOWER: lowered, **recased}


def by_document(recaser: capfst.Recaser, documents: npt.NDArray[np.int64]) -> Recase:
    """A function that recases the lines of documents, with a blank line between two of these."""

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
    """float64[n, versions, types, 3]: the entities found, those of the reference, and the right ones."""
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
    """float64[2, versions, columns]: F1, and its percentage of that of the first version, which is in true case
    (of nothing, 100 % remain)."""
    found, wanted, right = np.moveaxis(np.einsum("ct,vtn->vcn", of_columns, sums), 2, 0)
    values = 200 * right / np.maximum(1, found + wanted)
    in_true_case = np.broadcast_to(values[:1], values.shape)
    remaining = np.divide(100 * values, in_true_case, out=np.full_like(values, 100), where=in_true_case > 0)
    return np.stack([values, remaining])


class Result(NamedTuple):
    """What `f1` gives of a text, and the ends of the intervals."""

    values: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    versions: list[str]

    def cells(self, version: str, measure: int) -> list[str]:
        """The F1 of all columns (measure 0), or its percentage of that in true case (1); "" without this version."""
        if version not in self.versions:
            return [""] * self.values.shape[-1]
        row = measure, self.versions.index(version)
        return [with_interval(*each) for each in zip(self.values[row], self.low[row], self.high[row], strict=True)]


def measured(corpus: Corpus, recasers: dict[str, Recase], left_out: npt.NDArray[np.bool_]) -> dict[str, Result]:
    """The scores of the corpus, and of each recognizer; `left_out`, bool[n], are sentences that they do not count."""
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
    """bool[n] of each corpus: which sentences have a run of words in common with the training text of the model, or of
    their tagger. Prints how many."""
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
    """ENAMEX of the reference and of each recognizer in each version, and what remains of ENAMEX and of all types."""
    column, shown = list(corpus.columns).index("ENAMEX"), (OWN, LOWER, *LEVELS, DOCUMENTS, TRUE)
    rows = []
    for name, result in results.items():
        remaining = result.cells(DOCUMENTS, 1)
        of_versions = [result.cells(version, 0)[column] for version in shown]
        rows.append([name.replace(corpus.name, "reference"), *of_versions, remaining[column], remaining[-1]])
    return table(["ENAMEX, F1", *shown, f"{DOCUMENTS}, % of {TRUE}", "all types, %"], rows)


@click.command(help=help_text(__doc__))
@data_option
@quick_option
@click.option("--document", type=click.Path(exists=True, path_type=Path), help="Put the tables there.")
@click.option("--corpus", type=click.Choice([*CORPORA]), help="One of the corpora alone.  [default: all]")
def main(data: Path, quick: bool, document: Path | None, corpus: str | None) -> None:
    require("sklearn_crfsuite")
    corpora = [read(data, quick) for name, read in CORPORA.items() if corpus in (None, name)]
    left_out = overlapping(corpora, itertools.islice(ready_text(data), 1 if quick else None))
    recasers, with_memory = levels(None), capfst.load(sentence_case=True, document=True)
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
    run(main)
