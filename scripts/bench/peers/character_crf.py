"""A CRF over characters that labels each one as a capital or not.

Its features are the strings of up to five characters that begin or end with the character, and those of three and five
around it. Labels depend on the label before; L1 regularization of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pycrfsuite

from peers import Recase, Sentence, lowered, with_capitals

CRF = "crf"
ITERATIONS = 50
LONGEST, AROUND = 5, 2


def features(text: str) -> Iterator[list[str]]:
    """Yield the features of each character of lowercase text."""
    at = f"{'^' * LONGEST}{text}{'$' * LONGEST}"
    for k in range(LONGEST, LONGEST + len(text)):
        yield [
            *("<" + at[k - length : k + 1] for length in range(LONGEST)),
            *(">" + at[k : k + 1 + length] for length in range(1, LONGEST)),
            *("=" + at[k - side : k + 1 + side] for side in range(1, AROUND + 1)),
        ]


def train(sentences: list[Sentence], folder: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 1, "c2": 0, "max_iterations": ITERATIONS})
    for sentence in sentences:
        text = " ".join(sentence)
        labels = ["U" if character != lowered(character) else "L" for character in text]
        trainer.append(list(features(lowered(text))), labels)
    trainer.train(str(folder / CRF))


def load(folder: Path) -> Recase:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / CRF))

    def recase(sentences: list[Sentence]) -> list[Sentence]:
        texts = map(" ".join, sentences)
        labels = (tagger.tag(list(features(text))) for text in texts)
        return [
            with_capitals(sentence, [label == "U" for label in row])
            for sentence, row in zip(sentences, labels, strict=True)
        ]

    return recase
