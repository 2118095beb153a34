"""Train punctuation: labels of cased text with marks → the network, the words that it knows, and a bias of each mark.

All of the text is learned once, and then a part of each source several times, in proportion to the square root of its
size, so that neither the largest sources nor the many small ones decide alone. The last part of each source is not
learned. On these, which count alike and have no breaks, the biases are chosen that have the highest F1 of all marks
(without them, marks are too rare wherever the network is uncertain).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.context.classes import label_classes
from capfst.context.sample import slices, smaller
from capfst.exceptions import CorpusError, quantity
from capfst.fst.symbols import Symbols
from capfst.kernels.types import BoolArray, F32Array, F32Matrix, F64Array, I32Array, U8Array, U32Array
from capfst.punctuation.learn import Stage, Text, learn
from capfst.punctuation.marks import Punctuation, decided
from capfst.punctuation.network import AHEAD, MARKS, N_CLASSES, N_ENDINGS, NONE
from capfst.punctuation.score import score, scorer_of
from capfst.punctuation.text import IGNORED, Marked, label_endings, label_kinds, read_labels
from capfst.system.progress import Progress

MOST_LABELS, AGAIN_LABELS, RUN = 60_000_000, 15_000_000, 100
"""The largest numbers of labels that are learned once, and again; sentences stay together in runs of this length."""
AGAIN, LEAST_STEPS = 3, 2_000
"""The second text is learned this often, or more often until this many steps are done."""
FIRST_FALL, LAST_FALL = 0.4, 0.02
"""The learning rate falls to these fractions at the end of the first and of the second text."""
FREQUENT, MOST_WORDS = 8, 24_000
"""Words that occur at least this often have an embedding of their own; at most this many of them."""
LINE_BREAK, WORD_BREAK = 1 / 8, 1 / 400
"""The probability that a text ends after a line, and after any word."""
HELD_OUT = 20
"""The last of this many parts of each source is held out."""
FOR_CLASSES = 10_000_000
"""The largest number of words from which classes are learned."""
LEAST_MARKS = 1_000
"""The least number of marks from which punctuation can be learned."""

Weights = F64Array | int

_SEED = 3


def marked_text(sample: list[U32Array], kinds: U8Array, small: BoolArray, has_breaks: bool = True) -> list[Marked]:
    """Return the words of the labels of each source, with the marks after them."""
    random, parts = np.random.default_rng(_SEED), []
    for labels in sample:
        breaks = random.random(labels.size) < has_breaks * np.where(labels == 0, LINE_BREAK, WORD_BREAK)
        size = labels.size + AHEAD * int(breaks.sum())
        marked = Marked(np.empty(size, np.uint32), np.empty(size, np.uint8))
        n = read_labels(np.ascontiguousarray(labels), kinds, small, breaks, marked)
        parts.append(Marked(marked.labels[:n], marked.marks[:n]))
    return parts


def learn_marks(
    sample: list[U32Array], symbols: Symbols, starts: I32Array, abbreviations: set[bytes], threads: int, show: Progress
) -> Punctuation:
    """Learn from the labels of whole sentences. starts: as from `symbols.check`."""
    small = np.unpackbits(symbols.small_forms, bitorder="little")[: len(symbols)].astype(np.bool_)
    kinds = label_kinds(symbols, abbreviations)
    ends = [labels.size - slices(labels, HELD_OUT)[-1].size for labels in sample]
    learned = [labels[:end] for labels, end in zip(sample, ends, strict=True)]
    held_out = [labels[end:] for labels, end in zip(sample, ends, strict=True)]
    parts = (learned, True), (smaller(learned, AGAIN_LABELS, RUN, tempers=True), True), (held_out, False)
    by_source = [marked_text(labels, kinds, small, has_breaks) for labels, has_breaks in parts]
    marked = [Marked(*map(np.concatenate, zip(*sources, strict=True))) for sources in by_source]
    if (n := int(((marked[0].marks > NONE) & (marked[0].marks < len(MARKS))).sum())) < LEAST_MARKS:
        raise CorpusError(
            f"it has only {quantity(n, 'punctuation mark')}, too few to learn punctuation. Use more text, or leave out"
            " `restore`."
        )
    word_of = np.searchsorted(starts, np.arange(len(symbols)), "right").astype(np.int32) - 1  # of each label
    words = word_of[marked[0].labels]  # −1: padding
    counts = np.bincount(words[words >= 0], minlength=len(starts) - 1)
    frequent = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    frequent = frequent[counts[frequent] >= FREQUENT]
    row_of = np.zeros(len(starts), np.int32)
    row_of[frequent] = np.arange(1, len(frequent) + 1)
    row_of[-1] = -1
    rows, endings = row_of[word_of], label_endings(symbols)
    whole, again, rest = (Text(rows[part.labels], endings[part.labels], part.marks) for part in marked)
    stages = Stage.of(whole, 1, FIRST_FALL), Stage.of(again, AGAIN, LAST_FALL, LEAST_STEPS)
    with show(sum(stage.n_steps for stage in stages), "learning punctuation", "steps") as advance:
        network = learn(stages, _classes(whole, len(frequent) + 1), threads, advance)
    labels = starts[frequent].astype(np.uint32)
    rounded = network.rounded(np.append(np.int32(0), endings[labels]))
    n = len(rest.rows)
    scores = score(_vectors(rest), np.arange(AHEAD, AHEAD + n), np.array([0, n]), scorer_of(rounded))
    known = rest.marks != IGNORED
    weights = np.concatenate([np.full(len(part.marks), 1 / max(1, len(part.marks)) ** 0.5) for part in by_source[-1]])
    return Punctuation(rounded, labels, best_bias(scores[known], rest.marks[known], weights[known]))


def _classes(text: Text, n_rows: int) -> I32Array:
    """Return the class of each row, int32[rows]: of words with similar neighbors, words and marks."""
    rows, marks = text.rows[:FOR_CLASSES], text.marks[:FOR_CLASSES]
    of_word = np.where(rows < 0, 0, rows + len(MARKS)).astype(np.uint32)  # of a rare word: len(MARKS)
    of_mark = np.where(marks < len(MARKS), marks, NONE).astype(np.uint32)
    both = np.stack([of_word, of_mark], 1).ravel()
    sentences = np.append(both[both > 0], np.uint32(0))
    return label_classes([sentences], len(MARKS) + n_rows, N_CLASSES)[len(MARKS) :].astype(np.int32)


def _vectors(text: Text) -> I32Array:
    vectors = np.where(text.rows > 0, N_ENDINGS + text.rows, 1 + text.endings)
    return np.pad(np.where(text.rows < 0, 0, vectors), AHEAD).astype(np.int32)


def best_bias(scores: F32Matrix, marks: U8Array, weights: Weights = 1) -> F32Array:
    """Return what to add to the scores for the highest F1 of all marks, by coordinate search."""
    bias = np.zeros(len(MARKS), np.float32)
    best = f1(marks, decided(scores, bias), weights)
    for size in (0.4, 0.2, 0.1, 0.05):
        for mark in (1, 2, 3) * 3:
            for change in (-size, size):
                tried = bias.copy()
                tried[mark] += change
                if (found := f1(marks, decided(scores, tried), weights)) > best:
                    bias, best = tried, found
    return bias


def f1(marks: npt.NDArray[np.integer], found: npt.NDArray[np.intp], weights: Weights = 1) -> float:
    """Return F1 of all marks, of which each counts as much as the weight of its gap."""
    right = float((weights * ((found == marks) & (found != NONE))).sum())
    both = float((weights * (found != NONE)).sum() + (weights * (marks != NONE)).sum())
    return 2 * right / both if both else 0.0
