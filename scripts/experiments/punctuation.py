"""Measure punctuation restored by an n-gram LM (Gravano, Jansche & Bacchiani 2009) and by a log-linear model.

    \b
    python scripts/experiments/punctuation.py --document docs/research/punctuation.md

Prints precision, recall and F1 of commas, periods (with `!` and `;`) and question marks on the reference words of
IWSLT 2011 (TED talks, no line ends), by system. All are trained on texts of `train`: first on general ones, then on
speech, then on the development set of IWSLT 2012, which also sets their thresholds. A second table has F1 on the end
of the development set, after training on its rest: of the log-linear model with some of its parts, which learns from
speech first, and of the systems of the first table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from helpers.corpora import data_option, document_option, quick_option
from helpers.gap_model import Table, Templates, compiled, empty, forget_rate, padded, run
from helpers.hidden_marks import hidden_marks
from helpers.markdown import show, table
from helpers.marked_words import EVENTS, MEASURES, SYMBOLS, Marked, Reader, Vocabulary, cells, joined, measures
from helpers.packages import require

import capfst
from capfst.cli.exit_status import exit_status
from capfst.context.classes import label_classes

GENERAL = ("wikinews_archive", "speech_press_conferences", "novels_1889_1929_dialogue")
SPEECH = (
    *("openstax", "wikinews", "trivia_questions", "usgov_web", "masc", "state_union", "common_voice"),
    *("taskmaster_dialogs", "speech_meetings", "earnings_calls", "speech_committees"),
)
"""Texts of speech, and others of the present, in the order in which they are learned."""
HELD_OUT = 36_000
"""The last words of the development set, on which parts of the model are compared."""
CLASSES, FEW_CLASSES = 250, 48
CHUNK = 20_000
"""Words that the first pass scores before the second one does."""
BITS, RATE, DOMAIN_RATE, KEPT = 24, 0.04, 0.06, 0.02
LIKELY = 0.3
"""From this probability on, a mark counts as one in the second pass."""
LEVELS = np.array([0.01, 0.03, 0.08, 0.2, 0.4, 0.6, 0.8, 0.93])
DISTANCES = np.array([1, 2, 3, 4, 5, 6, 8, 11, 15, 20, 30])
ORDER, CUTOFFS = 5, (0, 0, 1)
MOST, QUICK = 4_000_000, 20_000
"""Words that are taken of a text."""
DECAY = 1e-4
"""Weight decay of the combination of systems."""
SMALL = 1_500_000
"""Rows of a small model, of 8 bytes: four weights, and the check of a feature."""
TIMES = 5


def span(column: str, first: int, last: int) -> str:
    return " ".join(f"{column}{k}" for k in range(first, last + 1))


COLUMNS = "wckpqrdeabstSTUmnMNxz"
"""w: word, c: its class, k: its class of few; of the second pass: levels of probabilities (p: of a mark, q: of a
question mark, r: of a sentence boundary), distances to likely boundaries (d: the last one, e: the next one) and marks
(a, b); first words of the sentence (s, t) and their classes (S, T, U); of the segment since the last mark (m, n, M,
N); the last word of the segment and the first one of the next (z, x)."""
NEAR = ["", "w-2", "w-1", "w0", "w1", "w2", "w3", "w0 w2", "w-1 w1"]
NEAR += [span("w", k, k + 1) for k in range(-2, 3)] + [span("w", k, k + 2) for k in range(-2, 2)]
WIDE = ["w-5", "w-4", "w-3", "w4", "w5", "w6"]
BY_CLASS = [span("c", k, k) for k in range(-5, 7)] + [span("c", k, k + 1) for k in (-1, 0, 1)]
BY_CLASS += [span("c", k, k + 2) for k in range(-2, 2)] + [span("c", k, k + 3) for k in (-3, -1, 1)]
BY_CLASS += ["c-2 c-1 c0 c1 c2", "c-1 c0 c1 c2 c3", span("c", -2, 3), "c-1 c0 w1", "w0 c1 c2", "c0 w1 c2"]
FAR = [f"{one}1 c{k}" for k in range(3, 7) for one in "cw"] + [f"c{-k} c0" for k in range(2, 6)]
FAR += [f"c{-k} w1" for k in range(2, 6)]
FAR += [span("k", -4, 0), span("k", 1, 5), span("k", 1, 6), span("k", 0, 4), span("k", -1, 4), span("k", -3, 2)]
FAR += [span("k", -2, 3), "w1 k2 k3 k4", "k-3 k-2 k-1 k0 w1", "w1 w2 k3 k4", "k-1 k0 w1 k2 k3"]
DECISIONS = ["p0", "p0 q0", "p-1 p1", "w0 p0", "w1 p0", "c0 c1 p0", *(f"p0 p{k}" for k in range(-4, 5) if k)]
PLACES = ["d0 e0", "d0 e0 p0", "a0 b0 p0", "a0 b0 c1", "a0 w1", "b0 w1", "d0 w1", "d0 w0", "e0 w1"]
OPENINGS = ["s0 p0", "s0 t0", "s0 t0 r0", "s0 w1", "m0 w1", "m0 n0", "m0 c0 c1", "M0 N0 w1", "S0 T0 U0 r0"]
OPENINGS += ["s0 T0 U0 r0", "x0 w1", "z0 w1 b0"]
FIRST = [*NEAR, *WIDE, *BY_CLASS, *FAR]
SECOND = [*FIRST, *DECISIONS, *PLACES, *OPENINGS]


class Texts(NamedTuple):
    general: Marked
    speech: Marked
    dev: Marked  # without the held-out words
    held_out: Marked
    test: Marked
    endings: npt.NDArray[np.int64]  # of the words of the vocabulary


def read(data: Path, most: int) -> Texts:
    """Read the texts, at most this many words of each in `train` and of the development set."""
    reader = Reader()
    general, speech = (
        joined([reader.text(data / f"train/en/{name}.txt.zst", most) for name in names]) for names in (GENERAL, SPEECH)
    )
    dev, test = (reader.table(data / f"punctuation/iwslt_{name}.tsv.zst") for name in ("dev2012", "test2011"))
    dev, held_out = dev.cut(-HELD_OUT - most, -HELD_OUT), dev.cut(-HELD_OUT)
    vocabulary = Vocabulary(reader.numbers, [general, speech, dev])
    general, speech, dev, held_out, test = map(vocabulary, (general, speech, dev, held_out, test))
    return Texts(general, speech, dev, held_out, test, vocabulary.endings())


class Classes(NamedTuple):
    """Classes of words, int32[words]."""

    many: npt.NDArray[np.int32]
    few: npt.NDArray[np.int32]


class Punctuator:
    """The log-linear model: two passes, of which the second reads the probabilities of the first."""

    def __init__(self, classes: Classes, first: Sequence[str] = FIRST, second: Sequence[str] = SECOND) -> None:
        self.classes = classes
        self.passes = [(compiled(templates, COLUMNS), empty(BITS)) for templates in (first, second) if templates]

    def learn(self, text: Marked, rate: float = RATE, kept: float = 1.0) -> npt.NDArray[np.float32]:
        """Learn from text, and return the probabilities that its marks had before they were learned."""
        for _, weights in self.passes:
            forget_rate(weights, kept)
        return self(text, rate)

    def __call__(self, text: Marked, rate: float = 0.0) -> npt.NDArray[np.float32]:
        """Return P, float32[n, 4]: the probability of each mark after each word."""
        p = np.empty((len(text.words), len(SYMBOLS)), np.float32)
        for begin in range(0, len(p), CHUNK):
            part = slice(begin, begin + CHUNK)
            words = text.words[part]
            columns = [words, self.classes.many[words], self.classes.few[words]]
            for k, (templates, weights) in enumerate(self.passes):
                if k:
                    columns += self._evidence(p[part], *columns[:2])
                score(columns, templates, text.marks[part], weights, rate, p[part])
        return p

    def _evidence(
        self, p: npt.NDArray[np.float32], words: npt.NDArray[np.int32], classes: npt.NDArray[np.int32]
    ) -> list[npt.NDArray[np.int32]]:
        """Return the columns of the second pass."""
        ends, questions = p[:, 2] + p[:, 3], p[:, 3]
        end, comma, question = (np.searchsorted(LEVELS, values) for values in (ends, p[:, 1], questions))
        of_sentence, to_end = neighbors(ends > LIKELY)
        of_segment, to_mark = neighbors(p[:, 0] < 1 - LIKELY)
        here = np.arange(len(words))
        found = [end * (len(LEVELS) + 1) + comma, question, end]
        found += [
            np.searchsorted(DISTANCES, np.abs(here - place))
            for place in (of_sentence - 1, to_end, of_segment - 1, to_mark)
        ]
        words, classes = (np.append(symbols, [0, 0, 0]) for symbols in (words, classes))
        found += [words[of_sentence], words[of_sentence + 1]]
        found += [classes[of_sentence + k] for k in range(3)]
        found += [words[of_segment], words[of_segment + 1], classes[of_segment], classes[of_segment + 1]]
        found += [words[to_mark + 1], words[to_mark]]
        return [column.astype(np.int32) for column in found]


def score(
    columns: Sequence[npt.NDArray[np.int32]],
    templates: Templates,
    marks: npt.NDArray[np.uint8],
    weights: Table,
    rate: float,
    p: npt.NDArray[np.float32],
) -> None:
    run(padded(columns), templates, marks, weights, rate, np.empty(len(templates.starts), np.uint64), p)


def neighbors(ends: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return, for the gap after each word, the first word after the last end before this gap, and the word before the
    next end after it (or the text's last word)."""
    here = np.arange(len(ends))
    last = np.maximum.accumulate(np.where(ends, here + 1, 0))
    following = np.minimum.accumulate(np.where(ends, here, len(ends) - 1)[::-1])[::-1]
    return np.append(0, last[:-1]), np.append(following[1:], len(ends) - 1)


def word_classes(texts: Sequence[Marked], n_words: int) -> Classes:
    """Classify words by their neighbors, words and marks."""
    sources = []
    for text in texts:
        stream = np.stack([text.words.astype(np.uint32) + len(SYMBOLS), text.marks.astype(np.uint32)], 1).ravel()
        sources.append(np.append(stream[stream > 0], np.uint32(0)))
    n_labels = n_words + len(SYMBOLS)
    found = [label_classes(sources, n_labels, n)[len(SYMBOLS) :].astype(np.int32) for n in (CLASSES, FEW_CLASSES)]
    return Classes(*found)


class NgramModel:
    """An n-gram LM of words and marks."""

    def __init__(self, texts: Sequence[Marked], n_words: int, folder: Path) -> None:
        # Numbers instead of words: some words, such as <s>, are reserved.
        corpus = folder / "marked.txt"
        with corpus.open("w", encoding="ascii") as file:
            for text in texts:
                symbols = np.stack([text.words + len(SYMBOLS), text.marks], 1).ravel()
                symbols = symbols[symbols > 0]
                for begin in range(0, len(symbols), CHUNK):
                    file.write(" ".join(f"n{symbol}" for symbol in symbols[begin : begin + CHUNK]) + "\n")
        model = folder / "marked.fst"
        capfst.train(corpus, model, order=ORDER, cutoffs=CUTOFFS, clean=False, pretokenized=True, context=False)
        self.fst = capfst.load(model, context=False).model
        known = {form: label for label, form in enumerate(self.fst.symbols)}
        labels = [known.get(f"n{k}", known["<unk>"]) for k in range(n_words + len(SYMBOLS))]
        self._labels = np.array(labels, np.uint32)

    def __call__(self, text: Marked) -> npt.NDArray[np.float32]:
        words = self._labels[text.words + len(SYMBOLS)]
        return hidden_marks(self.fst.states, self.fst.arcs, self.fst.start, words, self._labels[: len(SYMBOLS)])


class Combination:
    """A softmax regression on the log-probabilities that systems give the marks of a gap and of its neighbors."""

    def __init__(self, systems: Sequence[npt.NDArray[np.float32]], marks: npt.NDArray[np.uint8]) -> None:
        from scipy.optimize import minimize  # noqa: PLC0415

        inputs, true = self._inputs(systems), np.eye(len(SYMBOLS))[marks]

        def loss(flat: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
            self.weights = flat.reshape(-1, len(SYMBOLS))
            p = self._p(inputs)
            gradient = inputs.T @ (p - true) / len(true) + 2 * DECAY * self.weights
            return -np.log((p * true).sum(1)).mean() + DECAY * flat @ flat, gradient.ravel()

        start = np.zeros(inputs.shape[1] * len(SYMBOLS))
        self.weights = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x.reshape(-1, 4)

    def __call__(self, systems: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        return self._p(self._inputs(systems)).astype(np.float32)

    def _p(self, inputs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        scores = inputs @ self.weights
        p = np.exp(scores - scores.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)

    @staticmethod
    def _inputs(systems: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float64]:
        logs = [np.log(p.astype(np.float64) + 1e-5) for p in systems]
        return np.concatenate(
            [np.roll(log, k, 0) for log in logs for k in (-1, 0, 1)] + [np.ones((len(logs[0]), 1))], 1
        )


def decided(p: npt.NDArray[np.float32], bias: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    return (np.log(p + 1e-9) + bias).argmax(1)


def best_bias(p: npt.NDArray[np.float32], marks: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return what to add to the log-probabilities of marks for the largest F1 of all marks, by coordinate search."""
    bias, best = np.zeros(len(SYMBOLS)), 0.0
    for size in (0.4, 0.2, 0.1, 0.05):
        for mark in (1, 2, 3) * 3:
            for change in (-size, size):
                tried = bias.copy()
                tried[mark] += change
                if (f1 := measures(marks, decided(p, tried))[-1][2]) > best:
                    bias, best = tried, f1
    return bias


def prune(model: Punctuator, rows: int) -> None:
    """Keep the rows of the model that matter most, and round their weights to bytes."""
    worth = [np.abs(weights[:, :-1]).max(1) * np.sqrt(weights[:, -1]) for _, (weights, _) in model.passes]
    least = np.partition(np.concatenate(worth), -rows)[-rows]
    for (_, (weights, _)), of_row in zip(model.passes, worth, strict=True):
        weights[of_row < least] = 0
        unit = np.abs(weights[:, :-1]).max() / 127
        weights[:, :-1] = np.round(weights[:, :-1] / unit) * unit


def fastest(system: Callable[[Marked], object], text: Marked) -> float:
    """Return the least seconds of processor time that a system took for a text."""
    seconds = []
    for _ in range(TIMES):
        start = time.process_time()
        system(text)
        seconds.append(time.process_time() - start)
    return min(seconds)


def of_parts(texts: Texts, classes: Classes) -> Iterator[list[str]]:
    """Yield a row for each part of the model: with it and those above."""
    systems: list[tuple[str, list[str], list[str], float]] = [
        ("words", [*NEAR, *WIDE], [], KEPT),
        ("classes of words", [*NEAR, *WIDE, *BY_CLASS], [], KEPT),
        ("longer sequences of classes", FIRST, [], KEPT),
        ("second pass: decisions, distances", FIRST, [*FIRST, *DECISIONS, *PLACES], KEPT),
        ("second pass: first words of sentence and segment", FIRST, SECOND, KEPT),
        ("… without larger steps in the domain", FIRST, SECOND, 1.0),
    ]
    for name, first, second, kept in systems:
        model = Punctuator(classes, first, second)
        model.learn(texts.speech)
        before = model.learn(texts.dev, DOMAIN_RATE, kept)
        yield [name, *held_out_cells(before, model(texts.held_out), texts)]


def held_out_cells(of_dev: npt.NDArray[np.float32], p: npt.NDArray[np.float32], texts: Texts) -> list[str]:
    """Return F1 of the marks of the held-out words, with thresholds from the end of the development set before them."""
    end = slice(len(of_dev) // 2, None)
    return cells(texts.held_out.marks, decided(p, best_bias(of_dev[end], texts.dev.marks[end])))[2::3]


class Result(NamedTuple):
    """What a system makes of the development set, of the held-out words and of the test set.

    p: P for each of them. A part of the first two is predicted before it is learned from, or without learning from it.
    """

    name: str
    p: Sequence[npt.NDArray[np.float32]]
    seconds: float  # of processor time, for the test set

    def on_held_out(self, texts: Texts) -> list[str]:
        return held_out_cells(self.p[0], self.p[1], texts)

    def on_test(self, texts: Texts) -> list[str]:
        """Return the row of the table, with thresholds from the second half of the development set."""
        p, marks = np.concatenate(self.p[:2]), np.append(texts.dev.marks, texts.held_out.marks)
        end = slice(len(p) // 2, None)
        speed = len(texts.test.words) / self.seconds
        return [self.name, *cells(texts.test.marks, decided(self.p[2], best_bias(p[end], marks[end]))), f"{speed:,.0f}"]


def combined(name: str, systems: Sequence[Result], marks: npt.NDArray[np.uint8]) -> Result:
    """Combine systems; marks: those of the development set."""
    combine = Combination([system.p[0] for system in systems], marks)
    p = [combine(of_all) for of_all in zip(*(system.p for system in systems), strict=True)]
    return Result(name, p, sum(system.seconds for system in systems))


def of_models(texts: Texts, classes: Classes) -> Iterator[Result]:
    """Yield the results of the n-gram LM, of the log-linear model and of its small version."""
    with TemporaryDirectory() as folder:
        lm = NgramModel([texts.general, texts.speech], len(texts.endings), Path(folder))
        yield Result("n-gram LM", [*map(lm, (texts.dev, texts.held_out, texts.test))], fastest(lm, texts.test))
    model = Punctuator(classes)
    model.learn(texts.general)
    model.learn(texts.speech, kept=KEPT)
    before = [model.learn(texts.dev, DOMAIN_RATE, KEPT), model(texts.held_out)]
    model.learn(texts.held_out, DOMAIN_RATE)
    seconds = fastest(model, texts.test)
    yield Result("log-linear", [*before, model(texts.test)], seconds)
    prune(model, SMALL)
    yield Result("log-linear, 12 MB", [*before, model(texts.test)], seconds)


def of_systems(texts: Texts, classes: Classes) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of the systems on the test set, and those of some on the held-out words."""
    lm, log_linear, small = of_models(texts, classes)
    both = combined("both", [log_linear, lm], texts.dev.marks)
    parts = [log_linear._replace(name="general texts first"), both._replace(name="and the n-gram LM")]
    systems = [lm, log_linear, small, both]
    return [system.on_test(texts) for system in systems], [[part.name, *part.on_held_out(texts)] for part in parts]


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    require("numba", "scipy")
    texts = read(data, QUICK if quick else MOST)
    amount = (
        f"Trained on {len(texts.general.words):,} words of general texts, {len(texts.speech.words):,} of speech and "
        f"others of the present, and {len(texts.dev.words) + HELD_OUT:,} of TED talks."
    )
    click.echo(amount, err=True)
    classes = word_classes([texts.general, texts.speech, texts.dev], len(texts.endings))
    systems, parts = of_systems(texts, classes)
    head = ["system", *MEASURES, "words/s"]
    show(f"{amount}\n\n{table(head, systems)}", "punctuation-systems", document)
    show(table(["with", *EVENTS, "all"], [*of_parts(texts, classes), *parts]), "punctuation-parts", document)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
