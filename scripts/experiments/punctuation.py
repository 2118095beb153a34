"""Measure the punctuation that a model restores, and the case of text with it.

    \b
    python scripts/experiments/punctuation.py --document docs/research/punctuation.md
    python scripts/experiments/punctuation.py --lm talk.fst

Precision, recall and F1 of commas (with colons and dashes), periods (with `!` and `;`) and question marks:

\b
* on the reference words of IWSLT 2011 (TED talks, no line ends), whole and as a stream, and on the development set of
  IWSLT 2012, which is 24 times as large;
* on thirty earnings calls (Earnings-21), a call per line: on the words of the reference and of recognizers, aligned
  with the reference's; there also F1 of case by the bundled model, with the reference's marks, and with restored ones.

Recognizers that give times add rows with pauses. The weights of pauses (capfst/punctuation/marks.py) are those with
the highest F1 on every other call of theirs; the rows are of the other calls.

Words per second are per second of processor time, on one core.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from helpers import earnings21
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.earnings21 import REFERENCE, Call, Word
from helpers.intrinsic_case import inside_case
from helpers.markdown import show, table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.io.running_text import RunningText, Span, SpokenText
from capfst.punctuation.marks import Punctuation, biases, decided, lengths_of
from capfst.punctuation.train import f1
from capfst.recaser import Recaser

RECOGNIZERS = ("google", "amazon", "microsoft", "rev kaldi")
TIMED = ("google", "amazon", "speechmatics", "rev kaldi")
"""Recognizers that give times."""
LOOK_AHEADS = (4, 8)
LABELS = ("O", "COMMA", "PERIOD", "QUESTION")
"""Of the tables of IWSLT, by the class of the mark."""
MEASURES = tuple(f"{mark} {part}" for mark in ("comma", "period", "question", "all") for part in ("P", "R", "F1"))
"""The columns of `cells`."""
_CLASSES = {",": 1, ":": 1, "-": 1, "–": 1, "—": 1, ".": 2, ";": 2, "!": 2, "…": 2, "?": 3}
_WEIGHTS = np.arange(0, 4.1, 0.25)  # of pauses, that are tried
_QUICK_WORDS, _QUICK_CALLS, _TURNS = 2_000, 2, 3

Marks = npt.NDArray[np.int64]
Talk = tuple[list[str], Marks]
"""Words, and the class of the mark after each."""


def inserted(words: Sequence[str], text: str) -> Marks:
    """Return the class of the mark after each word of a punctuated text."""
    marks = []
    for old, new in zip(words, text.split(), strict=True):
        mark = next((b for a, b in zip(f"{old} ", new, strict=False) if a.lower() != b.lower()), "")
        marks.append(_CLASSES[mark] if mark else 0)
    return np.array(marks)


def cells(true: Marks, found: Marks) -> list[str]:
    """Return the cells of a table with precision, recall and F1, in percent, of each mark and of all."""
    counts = [((found == k) & (true == k), found == k, true == k) for k in (1, 2, 3)]
    sums = np.array([[int(part.sum()) for part in parts] for parts in counts])
    measures = (
        (right / max(1, n) for n in (given, wanted, (given + wanted) / 2))
        for right, given, wanted in [*sums, sums.sum(0)]
    )
    return [f"{100 * value:.1f}" for row in measures for value in row]


def talk(data: Path, name: str, most: int | None) -> Talk:
    """Return words of IWSLT, and the class of the mark after each. (A few words and labels of the data are empty.)"""
    rows = [line.split("\t") for line in read_lines(data / f"punctuation/iwslt_{name}.tsv.zst")]
    labeled = [(row[0], row[1].strip()) for row in rows if len(row) > 1 and row[0] and row[1].strip()][:most]
    return [word for word, _ in labeled], np.array([LABELS.index(label) for _, label in labeled])


def streamed(recaser: Recaser, look_ahead: int, words: Sequence[str]) -> str:
    stream = recaser.stream(look_ahead)
    return "".join([*map(stream.add, words), stream.end()])


def marks_of(words: Sequence[Word]) -> Marks:
    return np.array([max((_CLASSES.get(character, 0) for character in word.mark), default=0) for word in words])


def aligned(call: Call, name: str) -> Marks:
    """Return the reference's marks for the words of a recognizer: that of each word, and of those before the next word
    that it did not recognize."""
    reference, marks = call[REFERENCE], marks_of(call[REFERENCE])
    found = earnings21.positions(reference, call[name])
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


def spoken(words: Sequence[Word]) -> SpokenText:
    """Return words as running text, with the pauses between them."""
    spans = [Span(k, k, word.text.lower(), " " if k else "") for k, word in enumerate(words)]
    times = {k: word.times for k, word in enumerate(words) if word.times}
    text = RunningText("", spans, times=lambda: times).text
    assert isinstance(text, SpokenText)
    return text


def pause_weights(marks: Recaser, texts: Sequence[tuple[Sequence[Word], Marks]]) -> tuple[float, float]:
    """Return the weights of pauses for commas and for sentence ends that have the highest F1 of all marks on texts."""
    punctuator, scores, lengths = marks.pipeline.punctuator, [], []
    assert punctuator is not None
    for words, _ in texts:
        text = spoken(words)
        gaps = punctuator.gaps(np.frombuffer(text, np.uint8))
        ends = np.cumsum([len(word.text.lower().encode()) + 1 for word in words]) - 1
        last = np.searchsorted(gaps.ends, ends, "right") - 1  # the last gap of each word
        scores.append(punctuator.scores(gaps)[last])
        lengths.append(lengths_of(gaps.ends, text.running.pauses())[last])
    scored, length = np.concatenate(scores), np.concatenate(lengths)
    true, bias = np.concatenate([true for _, true in texts]), Punctuation.of(marks.pipeline.loaded.model).bias
    tried = [(comma, end) for comma in _WEIGHTS.tolist() for end in _WEIGHTS.tolist()]
    return max(tried, key=lambda weights: f1(true, decided(scored + biases(length, *weights), bias)))


def f1_of_case(true: Sequence[str], found: Sequence[str]) -> float:
    """Return F1, in percent, of words that are not in lower case."""
    cased = [
        (word, guess) for word, guess in zip(true, found, strict=True) if word != word.lower() or guess != guess.lower()
    ]
    right = sum(word == guess for word, guess in cased)
    both = sum((word != word.lower()) + (guess != guess.lower()) for word, guess in cased)
    return 200 * right / max(1, both)


def case_of(marks: Recaser, case: Recaser, calls: Sequence[Call], is_intrinsic: bool) -> list[str]:
    """Return F1 of case of the calls with the reference's marks, with restored ones, and the difference. is_intrinsic:
    first words of sentences count with the case that they have inside sentences."""
    texts = [call[REFERENCE] for call in calls]
    true = [[word.text for word in words] for words in texts]
    if is_intrinsic:
        true = inside_case([(words, earnings21.positional(text)) for words, text in zip(true, texts, strict=True)])
    expected = [word for words in true for word in words]
    found = []
    for has_marks in (True, False):
        cased = []
        for words in texts:
            said = " ".join(word.text + word.mark * has_marks for word in words).lower()
            tokens = case(said if has_marks else marks(said), sentence_case=not is_intrinsic).split()
            cased += [token[: len(word.text)] for token, word in zip(tokens, words, strict=True)]
        found.append(f1_of_case(expected, cased))
    return [f"{value:.1f}" for value in (*found, found[1] - found[0])]


def of_talks(marks: Recaser, test: Talk, dev: Talk) -> list[list[str]]:
    """Return the rows of TED talks."""
    rows = []
    for name, (words, true) in {"TED talks (IWSLT 2011)": test, "TED talks (IWSLT 2012)": dev}.items():
        rows.append([name, *cells(true, inserted(words, marks(" ".join(words))))])
    words, true = test
    for look_ahead in LOOK_AHEADS:
        found = inserted(words, streamed(marks, look_ahead, words))
        rows.append([f"IWSLT 2011 as a stream, {look_ahead} words ahead", *cells(true, found)])
    return rows


def of_pauses(
    marks: Recaser, calls: Sequence[Call], true: dict[str, list[Marks]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of recognizers' words without and with their pauses, on every other call, and the weights of
    pauses that are best on the other calls. true: the marks of each call, by recognizer."""
    rows = []
    for name in TIMED:
        tested = [call[name] for call in calls[1::2]]
        wanted = np.concatenate(true[name][1::2])
        for kind, text_of in (("without pauses", bytes), ("with pauses", lambda text: text)):
            texts = [bytes(marks.pipeline.recase_utf8(text_of(spoken(words)))).decode() for words in tested]
            found = [
                inserted([word.text.lower() for word in words], text) for words, text in zip(tested, texts, strict=True)
            ]
            rows.append([f"{name}, {kind}", *cells(wanted, np.concatenate(found))])
    learned = [
        (call[name], of_call) for name in TIMED for call, of_call in zip(calls[::2], true[name][::2], strict=True)
    ]
    return rows, [[f"{weight:.2f}" for weight in pause_weights(marks, learned)]]


def cpu_seconds(recaser: Recaser, text: str) -> float:
    begin = time.process_time()
    recaser(text)
    return time.process_time() - begin


@click.command(help=__doc__)
@click.option("--lm", default="en", show_default=True, help="Model that restores the marks.")
@data_option
@quick_option
@document_option
def main(lm: str, data: Path, quick: bool, document: Path | None) -> None:
    test, dev = (talk(data, name, _QUICK_WORDS if quick else None) for name in ("test2011", "dev2012"))
    marks = capfst.load(lm, restore="punctuation")
    rows = of_talks(marks, test, dev)
    calls = list(earnings21.read(data / "speech" / "earnings21.tar.zst").values())[: _QUICK_CALLS if quick else None]
    true = {name: [aligned(call, name) for call in calls] for name in {*RECOGNIZERS, *TIMED}}
    true[REFERENCE] = [marks_of(call[REFERENCE]) for call in calls]
    for name in (REFERENCE, *RECOGNIZERS):
        said = [[word.text.lower() for word in call[name]] for call in calls]
        found = [inserted(words, marks(" ".join(words))) for words in said]
        rows.append([f"calls (Earnings-21), {name}", *cells(np.concatenate(true[name]), np.concatenate(found))])
    pauses, weights = of_pauses(marks, calls, true)
    english = capfst.load()
    kinds = ("with first words", False), ("intrinsic", True)
    case = [[name, *case_of(marks, english, calls, is_intrinsic)] for name, is_intrinsic in kinds]
    text = " ".join(dev[0])
    kinds_of_work = "punctuation", "case, by the bundled model"
    seconds = [min(cpu_seconds(recaser, text) for _ in range(_TURNS)) for recaser in (marks, english)]
    speeds = [[kind, f"{len(dev[0]) / least:,.0f}"] for kind, least in zip(kinds_of_work, seconds, strict=True)]
    for name, shown in (
        ("restored-marks", table(["text", *MEASURES], rows)),
        ("restored-pauses", table(["words of", *MEASURES], pauses)),
        ("pause-weights", table(["comma", "period and question"], weights)),
        ("restored-case", table(["F1 of case", "the reference's marks", "restored marks", "difference"], case)),
        ("restored-speed", table(["restores", "words/s"], speeds)),
    ):
        show(shown, name, document)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
