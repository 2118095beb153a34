"""Text as lowercase words, each with the mark after it: nothing, a comma, a period or a question mark.

In: text of `train`, one sentence per line, or a table of the punctuation data (a word per line, and O, COMMA, PERIOD or
QUESTION). Out: words and marks, both as numbers, and the vocabulary.

Words are written as in the IWSLT data: in lower case, with clitics (*'s*, *n't*) as words of their own. A colon or dash
counts as a comma, a semicolon or exclamation mark as a period. Quotes, brackets and hesitations (*um*) are dropped.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.io.blocks import read_blocks
from helpers.corpora import read_lines

NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
"""The labels of the punctuation data, by number."""
SYMBOLS = ("", ",", ".", "?")
EVENTS = ("comma", "period", "question")
"""The marks, as tables name them."""
OF_CHARACTER = {",": 1, ":": 1, ".": 2, ";": 2, "!": 2, "?": 3}
MEASURES = tuple(f"{event} {part}" for event in (*EVENTS, "all") for part in ("P", "R", "F1"))
"""The columns of `cells`."""
RARE = 4
"""Words that occur at most this often are known by their last letters only."""

_TITLES = "Mr|Mrs|Ms|Dr|St|Prof|Gen|Jr|Sr|vs|etc|Inc|Co|Ltd|Gov|Sen|Rep|No"
_DROPPED = str.maketrans(dict.fromkeys('"“”„«»()[]{}*_~|<>=+^`#•·…$/@\xa0', " ") | {"’": "'", "‘": "'", "\xad": None})
_REWRITTEN = [  # in this order, in cased text
    (re.compile(r"&"), " and "),
    (re.compile(r"%"), " percent "),
    (re.compile(r"\.\.+"), " "),
    (re.compile(r"\b([A-Za-z])\.(?=[A-Za-z]\.)"), r"\1"),  # U.S. → US.
    (re.compile(rf"\b({_TITLES}|[A-Z])\.(?= )"), r"\1"),
    (re.compile(r"\.(?= +[a-z])"), " "),
    (re.compile(r" --? |--+|[–—]"), " : "),
    (re.compile(r"([;!?]|[,.:](?!\d))"), r" \1 "),
]
_CLITICS = [
    (re.compile(r"(?<=[a-z])(n't|'(?:s|re|m|ll))\b"), r" \1"),
    (re.compile(r"\b(?:um|uh|er|erm|hmm|mm-hmm|mm)\b"), ""),
    (re.compile(r" '(?!(?:s|re|m|ll)\b|\d)|(?<=[a-z])'(?= |$)| -+|-+ "), " "),
]
_ENDINGS = (
    *("ing", "ed", "ly", "ness", "tion", "tions", "ity", "ies", "able", "ous", "ful", "al", "ic", "er", "ers"),
    *("est", "ist", "ism", "ment", "ments", "s", "y", "o", "a", "e"),
)
_RARE = ("<digits>", "<hyphen>", *(f"<{ending}>" for ending in _ENDINGS), "<other>")


class Marked(NamedTuple):
    """words: int32[n]; marks: uint8[n], the mark after each word."""

    words: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint8]

    def cut(self, begin: int | None, end: int | None = None) -> Marked:
        """Return the text from one position to another."""
        return Marked(self.words[begin:end], self.marks[begin:end])


class Reader:
    """Numbers words in the order in which they are met, so that texts are read once; see `Vocabulary`."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def text(self, file: Path, most: int) -> Marked:
        """Read the first words of a text, about `most`. A line that ends without a mark ends with a period."""
        words, marks = array("i"), bytearray()
        for block in read_blocks([file]):
            for token in tokens(block.decode()):
                found = OF_CHARACTER.get(token)
                if found is None:
                    words.append(self.numbers.setdefault(token, len(self.numbers)))
                    marks.append(0)
                elif marks:
                    marks[-1] = max(marks[-1], found)
            if len(words) >= most:
                break
        return Marked(np.array(words, np.int32)[:most], np.frombuffer(bytes(marks), np.uint8)[:most])

    def table(self, file: Path) -> Marked:
        """Read a table of the punctuation data; lines without a label are left out."""
        words, marks = labeled_words(file)
        numbers = [self.numbers.setdefault(word, len(self.numbers)) for word in words]
        return Marked(np.array(numbers, np.int32), np.array(marks, np.uint8))


def labeled_words(file: Path) -> tuple[list[str], list[int]]:
    """Read the words of a table of the punctuation data, and the mark after each."""
    rows = [line.partition("\t")[::2] for line in read_lines(file)]
    labeled = [(word, NAMES.index(name.strip())) for word, name in rows if name.strip()]
    return [word for word, _ in labeled], [mark for _, mark in labeled]


def measures(true: npt.NDArray[np.integer], found: npt.NDArray[np.integer]) -> list[tuple[float, float, float]]:
    """Return precision, recall and F1, in percent, of each mark and of all."""
    counts = [((found == k) & (true == k), found == k, true == k) for k in (1, 2, 3)]
    sums = np.array([[int(part.sum()) for part in parts] for parts in counts])
    rows = [*sums, sums.sum(0)]
    return [
        tuple(100 * right / max(1, n) for n in (given, wanted, (given + wanted) / 2)) for right, given, wanted in rows
    ]


def cells(true: npt.NDArray[np.integer], found: npt.NDArray[np.integer]) -> list[str]:
    """Return the cells of a table with these measures."""
    return [f"{value:.1f}" for row in measures(true, found) for value in row]


class Vocabulary:
    """Numbers for the words of training text by frequency, from 1; 0 is padding.

    Words that occur at most RARE times there share one number with all others of the same ending.
    """

    def __init__(self, numbers: dict[str, int], training: Sequence[Marked]) -> None:
        counts = sum((np.bincount(text.words, minlength=len(numbers)) for text in training), np.int64(0))
        words = np.array(list(numbers), object)
        frequent = np.argsort(-counts, kind="stable")[: int((counts > RARE).sum())]
        self.words = ["", *words[frequent], *_RARE]
        self._number_of = np.array([1 + len(frequent) + _RARE.index(_ending(word)) for word in words], np.int32)
        self._number_of[frequent] = np.arange(1, len(frequent) + 1)

    def __call__(self, text: Marked) -> Marked:
        """Return the text with the numbers of this vocabulary."""
        return Marked(self._number_of[text.words], text.marks)

    def endings(self) -> npt.NDArray[np.int64]:
        """Return the number of each word's ending."""
        endings = [word if word in _RARE else _ending(word) for word in self.words[1:]]
        return np.array([0, *(1 + _RARE.index(ending) for ending in endings)])


def _ending(word: str) -> str:
    if any(character.isdigit() for character in word):
        return "<digits>"
    if "-" in word:
        return "<hyphen>"
    return next((f"<{end}>" for end in _ENDINGS if word.endswith(end)), "<other>")


def tokens(text: str) -> list[str]:
    """Return the words and marks of text with a sentence per line."""
    text = "\n".join(
        line if line.rstrip("\"”')] ")[-1:] in OF_CHARACTER else f"{line} ." for line in text.splitlines() if line
    )
    text = text.translate(_DROPPED)
    for pattern, by in _REWRITTEN:
        text = pattern.sub(by, text)
    text = text.lower()
    for pattern, by in _CLITICS:
        text = pattern.sub(by, text)
    return text.split()


def joined(texts: Sequence[Marked]) -> Marked:
    return Marked(*(np.concatenate(arrays) for arrays in zip(*texts, strict=True)))
