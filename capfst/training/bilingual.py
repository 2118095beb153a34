"""Train on translations: cased bitext and its word alignments → a model that also uses the case of the source.

Input: a model, and three files with equally many lines: cased translations, their cased source, alignments. Output: the
same model with another part (bilingual/weights.py).

The weights are learned from the classifier's output on lines that it was not trained on. There are four *folds*: in
each, the weights are learned from every fourth block of lines, and the classifier from the other blocks. One fold is
enough for a long text. The weights are not learned from lines that also occur in the other blocks. The final classifier
is learned from all lines.

An LM assigns too low costs to lines that it was trained on, and would get too much weight. If nearly all n-grams of the
translations are in the model, it was probably trained on them. Then the weights are learned with a *stand-in*: a
temporary model of the same kind, trained on the lines that the classifier is learned from.

The lines are read several times, and are never all in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.candidates import LM
from capfst.bilingual.classifier import learn_classifier
from capfst.bilingual.crf import ProblemCollector, check_scipy, learn
from capfst.bilingual.source_features import N_TEMPLATES, fill_templates
from capfst.bilingual.weights import PART, Bilingual
from capfst.bilingual.word_facts import AN, AnnotatedText
from capfst.exceptions import CapfstError, CorpusError, quantity
from capfst.fst.write import ArcArray, StateArray, write_fst
from capfst.io.alignments import Block, Names, side_by_side
from capfst.io.blocks import ended, read_stream
from capfst.io.files import refuse_special
from capfst.kernels import allocating, kernel
from capfst.kernels.types import BoolArray, I32Array, I64Array, I64Strided, U8Array, U32Array, U32Matrix, i64, u8, u64
from capfst.lm.query import SENTENCE_END, step
from capfst.options import Errors
from capfst.pipeline import Pipeline
from capfst.recaser import Recaser, load
from capfst.system.atomic import check_output
from capfst.system.binary_search import lower_bound
from capfst.system.hashing import hash_pair
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.training.stages import train

_READ = 1 << 20  # bytes
_FOLDS = 4
_LINES = 512  # at most, in a block of lines of one fold
_MOST_LINES = 16_000  # from which the weights are learned, in all folds
_MOST_SAMPLED = 8 << 20  # bytes of translations that the classifier is learned from: 200 MB of features
_UNALIGNED = 8
"""The classifier is also learned from one of this many lines without its alignment."""
_LONG = 64_000  # lines: one fold is enough for more
_SEEN_BITS = 26
_KNOWN = 0.9
"""A model that has at least this fraction of a text's n-grams was probably trained on the text."""
_FEW = 100  # lines
_MOST_STAND_IN_LINES = 300_000


@dataclass
class TrainedBilingual:
    """The report of `train_bilingual`."""

    path: str
    pairs: int
    taught: int  # pairs that the weights were learned from
    rows: int  # of the classifier, with nonzero weights
    lm_weight: float
    sigma: float
    known: float  # fraction of the translations' n-grams that the model has
    held_out: dict[float, float] = field(default_factory=dict)

    def load(self, **options: Any) -> Recaser:
        """Open the model, as `capfst.load(self.path, **options)` does."""
        return load(self.path, **options)

    def __str__(self) -> str:
        stand_in = " and a temporary LM, as the model has seen these translations" if self.known >= _KNOWN else ""
        pairs = quantity(self.pairs, "pair of lines", "pairs of lines")
        rows = quantity(self.rows, "row of weights", "rows of weights")
        prior = f"{self.sigma:g}{stand_in}"
        return (
            f"learned from {pairs}; the weights from {self.taught:,} of them, with a prior of {prior}\n"
            f"wrote {self.path}: {rows}"
        )


@kernel
def _known(states: StateArray, arcs: ArcArray, start: i64, labels: U32Array) -> tuple[i64, i64]:
    """Count the words that have an arc in the state before them, and all words; SENTENCE_END ends a sentence."""
    state = i64(start)
    known = n = 0
    for label in labels:
        if label == SENTENCE_END:
            state = i64(start)
            continue
        pos = i64(states[state].pos)
        end = pos + i64(states[state].narcs)
        arc = lower_bound(arcs["ilabel"], pos + 1, end, i64(label)) if state != 0 else end
        known += arc < end and arcs[arc].ilabel == label
        n += 1
        state = step(states, arcs, state, label)[1]
    return known, n


@allocating
def _features(
    target: AnnotatedText, source: AnnotatedText, links: I32Array, lines: I64Strided
) -> tuple[U32Matrix, U8Array]:
    """Return the features of the lines' words, uint32[words, N_TEMPLATES], and the words' shapes."""
    n = 0
    for line in lines:
        n += target.lines[line].end - target.lines[line].begin
    features, shapes = np.empty((n, N_TEMPLATES), np.uint32), np.empty(n, np.uint8)
    row = np.empty(N_TEMPLATES, np.uint64)
    n = 0
    for line in lines:
        if line >= source.lines.size or not source.lines[line].has_contrast:
            continue
        for i in range(target.lines[line].begin, target.lines[line].end):
            token_type, tag = target.words.token_types[i], target.facts[i].tag
            if tag != AN and (token_type == WORD or token_type == COMPOUND):
                fill_templates(target, source, links, i, line, row)
                for k in range(N_TEMPLATES):
                    features[n, k] = row[k]
                shapes[n] = tag
                n += 1
    return features[:n], shapes[:n]


@allocating
def _unseen(target: AnnotatedText, source: AnnotatedText, lines: I64Array, seen: U8Array) -> BoolArray:
    """Return which of the lines, with their source, are not in `seen`, by hashes of their words, and add them to it."""
    new = np.zeros(lines.size, np.bool_)
    for n in range(lines.size):
        line = lines[n]
        h = u64(0)
        for i in range(target.lines[line].begin, target.lines[line].end):
            h = hash_pair(h, target.facts[i].cased_hash)
        if line < source.lines.size:
            for i in range(source.lines[line].begin, source.lines[line].end):
                h = hash_pair(h, source.facts[i].cased_hash)
        position = i64(h >> u64(64 - _SEEN_BITS))
        bit = u8(1 << (position & 7))
        new[n] = seen[position >> 3] & bit == 0
        seen[position >> 3] |= bit
    return new


class _Texts(NamedTuple):
    """A block of the bitext."""

    target: AnnotatedText
    source: AnnotatedText
    links: npt.NDArray[np.int32]
    for_classifier: npt.NDArray[np.int64]  # the lines that the classifier is learned from
    for_weights: npt.NDArray[np.int64]  # the lines that the weights are learned from


class _Corpus:
    """The bitext, block by block, divided into lines for the classifier and lines for the weights in each fold."""

    def __init__(self, recaser: Recaser, paths: tuple[Path, Path, Path], errors: Errors) -> None:
        self.recaser = recaser
        self.paths = paths
        self.names = Names(*map(str, paths))
        self.errors = errors
        self.n_lines = n_bytes = 0
        for block in self._blocks():
            self.n_lines += block.target.count(b"\n")
            n_bytes += len(block.target)
        self.sampled = 1 + n_bytes // _MOST_SAMPLED  # the classifier is learned from one of this many lines
        self.size = max(1, min(_LINES, self.n_lines // 16))
        self.folds = _FOLDS if self.n_lines <= _LONG else 1
        self.stride = max(_FOLDS, -(-self.n_lines * self.folds // _MOST_LINES))

    def _blocks(self) -> Iterator[Block]:
        target, source, align = (
            (ended(block) for block in read_stream(path, size=_READ, errors=self.errors)) for path in self.paths
        )
        return side_by_side(target, source, align, self.names)

    def known(self) -> float:
        """Return the fraction of the words, each after its predecessors, for which the LM has an n-gram, in the lines
        for the weights."""
        total = np.zeros(2)
        model, recaser = self.recaser.model, self.recaser
        for texts in self.texts(0):
            labels = recaser.pipeline.loaded.labels(_lines(texts.target, texts.for_weights), as_learned=True)
            total += _known(model.states, model.arcs, model.start, labels)
        return float(total[0] / max(1, total[1]))

    def texts(self, fold: int | None = None, recaser: Recaser | None = None) -> Iterator[_Texts]:
        """Yield the blocks. fold: selects the lines for the weights; None: no lines. recaser: whose words the texts
        have; None: the model's."""
        for block in self._blocks():
            target, source, links = self.recaser.pipeline.linked(block)
            if recaser is not None:
                links, target, source = _moved(links, target, source, recaser.pipeline, block)
            lines = np.arange(len(target.lines) - 1)
            is_for_weights = (lines + block.line - 1) // self.size % self.stride == (-1 if fold is None else fold)
            yield _Texts(target, source, links, lines[~is_for_weights], lines[is_for_weights])


def _moved(
    links: npt.NDArray[np.int32], target: AnnotatedText, source: AnnotatedText, pipeline: Pipeline, block: Block
) -> tuple[npt.NDArray[np.int32], AnnotatedText, AnnotatedText]:
    """Return links, and the two texts that they link, in the words of another model.

    The indices of alignments count the words of the first model. The other one may divide compounds differently.
    """
    moved_target, moved_source = (
        pipeline.annotated(block.target),
        pipeline.annotated(block.source or b"", is_source=True),
    )
    moved = links[_at(target, moved_target.words.starts)]
    is_linked = moved >= 0
    moved[is_linked] = _at(moved_source, source.words.starts[moved[is_linked]])
    return moved, moved_target, moved_source


def _at(text: AnnotatedText, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return the index of the word at each byte offset, int32[n]."""
    return (np.searchsorted(text.words.starts, offsets, "right") - 1).astype(np.int32)


def train_bilingual(
    target: str | os.PathLike[str],
    source: str | os.PathLike[str],
    align: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    lm: str | os.PathLike[str] | None = None,
    align_words: bool = False,
    errors: Errors = "strict",
) -> TrainedBilingual:
    """Learn from cased translations how their case follows from their source (Wang, Knight & Marcu 2006), and write
    the model with what was learned to `output`.

    Args:
        target: cased translations, one sentence per line, in the language of the model.
        source: the cased source of the translations, line by line.
        align: word alignments, line by line: pairs `i-j`, in the format of fast_align and eflomal. Word j of the
            translation is translated from word i of the source.
        output: the path of the new model.
        lm: the model, as in `capfst.load`.
        align_words: alignment indices refer to the output of `capfst tokenize`, not to whitespace-separated words.
        errors: for bytes that are not UTF-8: `strict` raises an error, `replace` replaces them with U+FFFD.

    Returns:
        The report, whose `load()` opens the new model.

    Raises:
        CorpusError: a file cannot be read, the files have different numbers of lines, or too few lines.
        ModelError: the model cannot be used.
        CapfstError: the output cannot be written, or SciPy is not installed.
    """
    check_scipy()
    check_output(output, target, source, align)
    for file in (target, source, align):
        refuse_special(file)
    recaser = load(lm, align_words=align_words, restore="case")
    corpus = _Corpus(recaser, (Path(target), Path(source), Path(align)), errors)
    known = corpus.known()
    collector = ProblemCollector()
    for fold in range(corpus.folds):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows cannot remove mapped files
            try:
                model_of_fold = _stand_in(corpus, fold, Path(folder)) if known >= _KNOWN else recaser
            except CapfstError as error:
                if corpus.n_lines < _FEW:
                    raise _too_few(corpus) from error
                raise
            _collect(model_of_fold, corpus, fold, collector)
    if not len(collector):
        raise _too_few(corpus)
    learned = learn(collector.problem())
    classifier = _classifier(corpus, corpus.texts())
    model = recaser.model
    bilingual = Bilingual(learned.weights.astype(np.float32), classifier, corpus.n_lines)
    parts = {**model.parts, PART: bilingual.part()}
    write_fst(output, model.states, model.arcs, model.symbols, model.start, model.signature, parts)
    return TrainedBilingual(
        os.fspath(output), corpus.n_lines, len(collector), int(np.count_nonzero(classifier.any(axis=1))),
        float(learned.weights[LM]), learned.sigma, known, learned.held_out,
    )  # fmt: skip


def _too_few(corpus: _Corpus) -> CorpusError:
    return CorpusError(
        f"{corpus.names.target}, {corpus.names.source}: too few pairs of lines to learn from. Use some hundreds of"
        " pairs that are cased on both sides."
    )


def _classifier(
    corpus: _Corpus, texts: Iterable[_Texts], seen: npt.NDArray[np.uint8] | None = None
) -> npt.NDArray[np.int8]:
    """Learn the classifier from its lines, or from an even sample of them; mark all of them in `seen`."""
    features, shapes = [np.empty((0, N_TEMPLATES), np.uint32)], [np.empty(0, np.uint8)]
    for target, source, links, lines, _ in texts:
        if seen is not None:
            _unseen(target, source, lines, seen)
        is_same = source.facts["lower_hash"][links] == target.facts["lower_hash"] if len(source.facts) else links < 0
        unaligned = np.where(is_same, links, np.int32(-1))
        for of_pairs, every in ((links, corpus.sampled), (unaligned, corpus.sampled * _UNALIGNED)):
            of_words = _features(target, source, of_pairs, lines[::every])
            features.append(of_words[0])
            shapes.append(of_words[1])
    return learn_classifier(np.concatenate(features), np.concatenate(shapes))


def _stand_in(corpus: _Corpus, fold: int, folder: Path) -> Recaser:
    """Train a model like that of the corpus on a fold's lines for the classifier, at most on the first
    _MOST_STAND_IN_LINES or somewhat more."""
    model = corpus.recaser.model
    text, path = folder / "text.txt", folder / "stand-in.fst"
    with text.open("wb") as file:
        n = 0
        for texts in corpus.texts(fold):
            file.write(_lines(texts.target, texts.for_classifier))
            n += len(texts.for_classifier)
            if n >= _MOST_STAND_IN_LINES:
                break
    pipeline = corpus.recaser.pipeline
    trained = train(
        text, path, order=model.order, clean=False, pretokenized=pipeline.loaded.pretokenized,
        context=pipeline.context is not None,
    )  # fmt: skip
    return trained.load(align_words=corpus.recaser.options.align_words)


def _collect(model: Recaser, corpus: _Corpus, fold: int, collector: ProblemCollector) -> None:
    """Collect a fold's lines for the weights, with the labels and costs that they have in a model."""
    seen = np.zeros(1 << _SEEN_BITS - 3, np.uint8)
    classifier = _classifier(corpus, corpus.texts(fold), seen)
    pipeline = model.pipeline
    loaded = pipeline.loaded
    for target, source, links, _, for_weights in corpus.texts(fold, model):
        new = for_weights[_unseen(target, source, for_weights, seen)].tolist()
        gold, costs = loaded.labels_of(target.buf, target.words), pipeline.monolingual(target)
        collector.add(
            target, source, links, new, gold, costs, loaded.forms, classifier, pipeline.guesses, loaded.lm,
            pipeline.engine.starts,
        )  # fmt: skip


def _lines(text: AnnotatedText, lines: npt.NDArray[np.int64]) -> bytes:
    """Return some of the lines of a text."""
    every = text.buf.tobytes().split(b"\n")
    return b"".join(every[line] + b"\n" for line in lines.tolist())
