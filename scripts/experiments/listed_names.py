"""Measure the gain from names that the user lists: capitalization errors without and with `words`.

    \b
    python scripts/experiments/listed_names.py --document docs/research/figures.md

The text is what was said in thirty earnings calls (Earnings-21), in lower case, with punctuation and without. Each
call's own names are listed, in the case of the reference: people, organizations, products, places and the like, as the
reference marks them. An error is a word whose case differs from the reference's, first words of sentences left out.

\b
* names: listed without weights, so that each always has its case, also where
  it is an ordinary word (US: us; Will: will)
* …, weighted: names that the model knows and, without a list, writes in lower
  case in the same call, have a weight
* names and abbreviations: the same, and the spans marked as abbreviations

Errors are counted of all words, and of those in spans marked as names or abbreviations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from helpers.corpora import data_option, document_option, quick_option
from helpers.earnings21 import REFERENCE, Call, Word, positional, read, sentence_ends
from helpers.markdown import show, table

import capfst
from capfst.cli.exit_status import exit_status

NAMES = frozenset({"PERSON", "ORG", "PRODUCT", "FAC", "GPE", "LOC", "NORP", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"})
ALL = NAMES | {"ABBREVIATION"}
WEIGHT = 8.0


class List(NamedTuple):
    types: frozenset[str]
    weighted: bool  # whether ordinary words have a weight


LISTS = {
    "no list": List(frozenset(), False),
    "names": List(NAMES, False),
    "names, weighted": List(NAMES, True),
    "names and abbreviations, weighted": List(ALL, True),
}
QUICK = 3
"""The number of calls with --quick."""
LINE = 100
"""Words per line of a call without punctuation."""


class Errors(NamedTuple):
    words: int
    all: int
    of_names: int
    examples: Counter[tuple[str, str]]  # (in the reference, as written)


def spans(call: Call, types: frozenset[str]) -> Iterator[list[int]]:
    """Yield the words of each span of these types."""
    found = defaultdict(list)
    for k, word in enumerate(call.texts[REFERENCE]):
        for number in word.tags:
            if call.types.get(number) in types:
                found[number].append(k)
    yield from found.values()


def listed(call: Call, kind: List, marked: bool, recaser: capfst.Recaser) -> dict[str, float | None]:
    """Return the entries of a call, each in its most frequent case; that of first words of sentences counts less."""
    words, is_first = call.texts[REFERENCE], positional(call.texts[REFERENCE])
    casings: dict[str, Counter[str]] = defaultdict(Counter)
    for span in spans(call, kind.types):
        text = " ".join(written(words[k], marked and k != span[-1]) for k in span)
        casings[text.lower()][text] += 1 if is_first[span[0]] else 1000
    best = [of_name.most_common(1)[0][0] for of_name in casings.values()]
    cased = [name for name in best if name != name.lower()]
    ordinary = set(recased(recaser, words, marked, {})) if kind.weighted else set()
    return {name: WEIGHT if name.lower() in ordinary and recaser.knows(name.lower()) else None for name in cased}


def written(word: Word, marked: bool) -> str:
    return word.text + word.mark * marked


def recased(recaser: capfst.Recaser, words: list[Word], marked: bool, entries: dict[str, float | None]) -> list[str]:
    """Return a call's words as recased: with punctuation, by sentence; without, in lines of LINE words."""
    ends = sentence_ends(words) if marked else [*range(LINE, len(words), LINE), len(words)]
    lines = [
        " ".join(written(word, marked).lower() for word in words[begin:end])
        for begin, end in zip([0, *ends], ends, strict=False)
    ]
    tokens = " ".join(recaser(lines, words=entries)).split()
    return [token[: len(word.text)] for token, word in zip(tokens, words, strict=True)]


def errors(call: Call, recaser: capfst.Recaser, marked: bool, kind: List) -> Errors:
    """Count the errors in a call with a list of this kind."""
    words, is_name = call.texts[REFERENCE], np.zeros(len(call.texts[REFERENCE]), bool)
    for span in spans(call, ALL):
        is_name[span] = True
    hypothesis = recased(recaser, words, marked, listed(call, kind, marked, recaser))
    inside = ~np.array(positional(words))
    wrong = inside & np.array([word.text != each for word, each in zip(words, hypothesis, strict=True)])
    examples = Counter((words[k].text, hypothesis[k]) for k in np.flatnonzero(wrong).tolist())
    return Errors(int(inside.sum()), int(wrong.sum()), int((wrong & is_name).sum()), examples)


def total(of_calls: list[Errors]) -> Errors:
    return Errors(*(sum(column, type(column[0])()) for column in zip(*of_calls, strict=True)))


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
@click.option("--examples", default=0, help="Also print this many of the most frequent errors with the lists.")
def main(data: Path, quick: bool, document: Path | None, examples: int) -> None:
    calls = list(read(data / "speech" / "earnings21.tar.zst").values())[: QUICK if quick else None]
    rows, recaser = [], capfst.load()
    for marked in (True, False):
        without, *with_lists = (
            total([errors(call, recaser, marked, kind) for call in calls]) for kind in LISTS.values()
        )
        for name, column in (("all words", "all"), ("names and abbreviations", "of_names")):
            before, *after = (getattr(each, column) for each in (without, *with_lists))
            changes = [f"{each:,} ({100 * (each / before - 1):+.0f} %)" for each in after]
            rows.append(["with" if marked else "without", name, f"{before:,}", *changes])
        for (right, wrong), n in with_lists[-1].examples.most_common(examples):
            print(n, right, wrong)
    printed = table(["punctuation", "errors in", *LISTS], rows, texts=2)
    show(printed, "listed names", document)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
