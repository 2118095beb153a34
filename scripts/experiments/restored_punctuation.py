"""Measure the punctuation that a model restores, and the case of text with it.

    \b
    python scripts/experiments/restored_punctuation.py --document docs/research-punctuation.md

Precision, recall and F1 of commas (with colons and dashes), periods (with `!` and `;`) and question marks:

\b
* on the reference words of IWSLT 2011 (TED talks, no line ends), whole and as a stream, and on the development set of
  IWSLT 2012;
* on thirty earnings calls (Earnings-21), a call per line: on the words of the reference and of recognizers, aligned
  with the reference's; there also F1 of case with the reference's marks, and with restored ones.

Words per second are per second of processor time, on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from helpers import earnings21
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.earnings21 import REFERENCE, Call, Word
from helpers.intrinsic_case import inside_case
from helpers.markdown import fill, table
from helpers.marked_words import NAMES

import capfst
from capfst.cli.exit_status import exit_status
from capfst.recaser import Recaser

RECOGNIZERS = ("google", "amazon", "microsoft", "rev kaldi")
EVENTS = ("comma", "period", "question")
LOOK_AHEADS = (4, 8)
_CLASSES = {",": 1, ":": 1, "-": 1, "–": 1, "—": 1, ".": 2, "!": 2, ";": 2, "…": 2, "?": 3}
_QUICK_WORDS, _QUICK_CALLS, _TURNS = 2_000, 2, 3

Marks = npt.NDArray[np.int64]


def cells(true: Marks, found: Marks) -> list[str]:
    """Return precision, recall and F1, in percent, of each mark and of all."""
    counts = np.array([[((found == k) & (true == k)).sum(), (found == k).sum(), (true == k).sum()] for k in (1, 2, 3)])
    return [
        f"{100 * right / max(1, n):.1f}"
        for right, given, wanted in [*counts, counts.sum(0)]
        for n in (given, wanted, (given + wanted) / 2)
    ]


def inserted(words: Sequence[str], text: str) -> Marks:
    """Return the class of the mark after each word of a punctuated text."""
    pairs = zip(words, text.split(), strict=True)
    return np.array([_CLASSES[new[len(old) :]] if len(new) > len(old) else 0 for old, new in pairs])


def talk(data: Path, name: str, most: int | None) -> tuple[list[str], Marks]:
    """Return words of IWSLT, and the class of the mark after each."""
    rows = [line.partition("\t")[::2] for line in read_lines(data / f"punctuation/iwslt_{name}.tsv.zst")]
    labeled = [(word, NAMES.index(label.strip())) for word, label in rows if label.strip()][:most]
    return [word for word, _ in labeled], np.array([mark for _, mark in labeled])


def streamed(recaser: Recaser, look_ahead: int, words: Sequence[str]) -> str:
    stream = recaser.stream(look_ahead)
    return "".join([*map(stream.add, words), stream.end()])


def marks_of(words: Sequence[Word]) -> Marks:
    return np.array([max((_CLASSES.get(character, 0) for character in word.mark), default=0) for word in words])


def aligned(call: Call, name: str) -> Marks:
    """Return the reference's marks for the words of a recognizer: that of each word, and of those before the next word
    that it did not recognize."""
    reference, marks = call.texts[REFERENCE], marks_of(call.texts[REFERENCE])
    found = earnings21.positions(reference, call.texts[name])
    true, last = np.zeros(len(found), np.int64), -1
    owner = np.full(len(reference), -1)
    for k, place in enumerate(found.tolist()):
        if place >= 0:
            owner[last + 1 : place] = k - 1
            owner[place], last = k, place
    for place in np.flatnonzero(marks).tolist():
        if owner[place] >= 0:
            true[owner[place]] = max(true[owner[place]], marks[place])
    return true


def f1_of_case(true: Sequence[str], found: Sequence[str]) -> float:
    """Return F1, in percent, of words that are not in lower case."""
    cased = [
        (word, guess) for word, guess in zip(true, found, strict=True) if word != word.lower() or guess != guess.lower()
    ]
    right = sum(word == guess for word, guess in cased)
    both = sum((word != word.lower()) + (guess != guess.lower()) for word, guess in cased)
    return 200 * right / max(1, both)


def case_of(recaser: Recaser, calls: Sequence[Call], is_intrinsic: bool) -> list[str]:
    """Return F1 of case of the calls with the reference's marks, with restored ones, and the difference. is_intrinsic:
    first words of sentences count with the case that they have inside sentences."""
    texts = [call.texts[REFERENCE] for call in calls]
    true = [[word.text for word in words] for words in texts]
    if is_intrinsic:
        true = inside_case([(words, earnings21.positional(text)) for words, text in zip(true, texts, strict=True)])
    expected = [word for words in true for word in words]
    found = []
    for has_marks in (True, False):
        cased = []
        for words in texts:
            said = " ".join(word.text + word.mark * has_marks for word in words).lower()
            options = {"sentence_case": not is_intrinsic} | ({"restore": None} if has_marks else {})
            tokens = recaser(said, **options).split()
            cased += [token[: len(word.text)] for token, word in zip(tokens, words, strict=True)]
        found.append(f1_of_case(expected, cased))
    return [f"{value:.1f}" for value in (*found, found[1] - found[0])]


def speed(run: Callable[[str], object], text: str) -> float:
    """Return words per second of processor time: the most of several turns."""
    seconds = []
    for _ in range(_TURNS):
        begin = time.process_time()
        run(text)
        seconds.append(time.process_time() - begin)
    return len(text.split()) / min(seconds)


@click.command(help=__doc__)
@click.option("--lm", help="Model.  [default: the bundled English model]")
@data_option
@quick_option
@document_option
def main(lm: str | None, data: Path, quick: bool, document: Path | None) -> None:
    recaser = capfst.load(lm, restore="punctuation,case", sentence_case=True)
    most = _QUICK_WORDS if quick else None

    def marked(words: Sequence[str]) -> Marks:
        return inserted(words, recaser(" ".join(words), restore="punctuation", sentence_case=False))

    test, true = talk(data, "test2011", most)
    rows = [["TED talks (IWSLT 2011)", *cells(true, marked(test))]]
    for look_ahead in LOOK_AHEADS:
        rows.append(
            [
                f"… as a stream, {look_ahead} words ahead",
                *cells(true, inserted(test, streamed(recaser, look_ahead, test))),
            ]
        )
    dev, true = talk(data, "dev2012", most)
    rows.append(["TED talks (IWSLT 2012)", *cells(true, marked(dev))])
    calls = list(earnings21.read(data / "speech" / "earnings21.tar.zst").values())[: _QUICK_CALLS if quick else None]
    for name in (REFERENCE, *RECOGNIZERS):
        found = [marked([word.text.lower() for word in call.texts[name]]) for call in calls]
        wanted = [marks_of(call.texts[name]) if name == REFERENCE else aligned(call, name) for call in calls]
        rows.append([f"calls (Earnings-21): {name}", *cells(np.concatenate(wanted), np.concatenate(found))])
    head = ["text", *(f"{event} {part}" for event in (*EVENTS, "all") for part in ("P", "R", "F1"))]
    kinds = ("with first words", False), ("intrinsic", True)
    case = [[name, *case_of(recaser, calls, is_intrinsic)] for name, is_intrinsic in kinds]
    text = " ".join(dev)
    speeds = [
        ("punctuation", speed(lambda text: recaser(text, restore="punctuation", sentence_case=False), text)),
        ("punctuation and case", speed(recaser, text)),
        ("case", speed(lambda text: recaser(text, restore=None), text)),
    ]
    for name, shown in (
        ("restored-marks", table(head, rows)),
        ("restored-case", table(["F1 of case", "the reference's marks", "restored marks", "difference"], case)),
        ("restored-speed", table(["restores", "words/s"], [[what, f"{rate:,.0f}"] for what, rate in speeds])),
    ):
        click.echo(shown)
        if document:
            fill(document, name, shown)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
