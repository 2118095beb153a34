"""A CRF over words like the truecaser of Stanford CoreNLP: it labels each word as lower, capitalized, upper or mixed.

Its features follow CoreNLP's properties for text without case (`truecasing.fast.caseless.prop`): the word, its prefixes
and suffixes of up to six characters, the words before and after it, those up to five words away regardless of their
distance, shapes, the last and next words of more than three letters, and whether it is the first. Labels depend on the
label before; L1 regularization of 1. A word labeled as mixed is written in its most frequent mixed casing in the
training text.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pycrfsuite

from peers import Recase, Sentence, capitalized, most_frequent

CRF, MIXED = "crf", "mixed.json"
ITERATIONS = 100
AFFIX, WINDOW, FUNCTION_WORD = 6, 5, 3


def label(word: str) -> str:
    low = word.lower()
    if word == low:
        return "lower"
    if word == capitalized(low):
        return "capitalized"
    return "upper" if word == low.upper() else "mixed"


def shape(word: str) -> str:
    """Return the kinds of characters of a word, each run as one: "x-d" for "covid-19"."""
    return re.sub(r"(.)\1+", r"\1", "".join("x" if c.isalpha() else "d" if c.isdigit() else c for c in word))


def features(words: Sentence) -> Iterator[list[str]]:
    """Yield the features of each lowercase word."""
    ends = "<s>", "</s>"
    at = [ends[0], *words, ends[1]]
    shapes = list(map(shape, at))
    for k, word in enumerate(words, 1):
        before, after = at[max(0, k - WINDOW) : k], at[k + 1 : k + 1 + WINDOW]
        yield [
            "w=" + word,
            "p=" + at[k - 1],
            "n=" + at[k + 1],
            *("^" + word[:length] for length in range(1, min(len(word), AFFIX) + 1)),
            *("$" + word[-length:] for length in range(1, min(len(word), AFFIX) + 1)),
            *{"before=" + other for other in before},
            *{"after=" + other for other in after},
            "s=" + shapes[k],
            f"ps={shapes[k - 1]} {shapes[k]}",
            f"sn={shapes[k]} {shapes[k + 1]}",
            f"psn={shapes[k - 1]} {shapes[k]} {shapes[k + 1]}",
            "last=" + next((other for other in before[::-1] if len(other) > FUNCTION_WORD), ends[0]),
            "next=" + next((other for other in after if len(other) > FUNCTION_WORD), ends[1]),
            *(["first"] if k == 1 else []),
        ]


def train(sentences: list[Sentence], folder: Path) -> None:
    mixed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 1, "c2": 0, "max_iterations": ITERATIONS})
    for sentence in sentences:
        labels = list(map(label, sentence))
        trainer.append(list(features([word.lower() for word in sentence])), labels)
        for word, its in zip(sentence, labels, strict=True):
            if its == "mixed":
                mixed[word.lower()][word] += 1
    trainer.train(str(folder / CRF))
    best = {word: most_frequent(casings) for word, casings in mixed.items()}
    (folder / MIXED).write_text(json.dumps(best, ensure_ascii=False), "utf-8")


def load(folder: Path) -> Recase:
    mixed = json.loads((folder / MIXED).read_text("utf-8"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / CRF))
    writers = {
        "lower": lambda word: word,
        "capitalized": capitalized,
        "upper": str.upper,
        "mixed": lambda word: mixed.get(word, word),
    }

    def recase(sentences: list[Sentence]) -> list[Sentence]:
        return [
            [writers[its](word) for word, its in zip(words, tagger.tag(list(features(words))), strict=True)]
            for words in sentences
        ]

    return recase
