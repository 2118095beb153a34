"""Training on translations: cased bitext and its word alignments → a model that learns case from the source, too.

In: a model, and three files of as many lines: cased translations, their cased source, alignments. Out: the same model
with a part more (bilingual/weights.py).

The weights are learned from what the classifier says of lines that it has not learned from: so in each of four *folds*
every fourth stretch of lines teaches the weights, and the others the classifier, unless the text is long; then one fold
is enough. Lines that are also among those others do not teach. In the end, the classifier learns from all.

An LM is surer of lines that it has been trained on than of others, and would get too much weight for it. If the model
seems to have seen the translations, as nearly all of their n-grams are in it, then a *stand-in* takes its place while
the weights are learned: a model of the same kind, trained on the lines that the classifier learns from.

The lines are read several times, and never held all at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.casings import LM
from capfst.bilingual.classifier import learn_classifier
from capfst.bilingual.crf import Collector, check_scipy, learn
from capfst.bilingual.source_features import N_TEMPLATES, fill_templates
from capfst.bilingual.weights import PART, Bilingual
from capfst.bilingual.word_facts import AN, Text
from capfst.casing import encode
from capfst.exceptions import CapfstError
from capfst.fst.write import ArcArray, StateArray, write_fst
from capfst.io.blocks import Errors, ended, read_stream
from capfst.io.side_by_side import Block, Names, side_by_side
from capfst.kernels import allocating, kernel
from capfst.kernels.types import BoolArray, I32Array, I64Array, I64Strided, U8Array, U32Array, U32Matrix, i64, u8, u64
from capfst.lm.query import SENTENCE_END, step
from capfst.recaser import Recaser, load
from capfst.system.atomic import refuse_to_replace
from capfst.system.binary_search import lower_bound
from capfst.system.hashing import hash_pair
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.training import train

_READ = 1 << 20  # bytes
_FOLDS = 4
_LINES = 512  # that are together in one fold
_MOST_LINES = 16_000  # that teach, in all folds
_MOST_SAMPLED = 8 << 20  # bytes of translations that the classifier learns from, which are 200 MB of features
_UNALIGNED = 8
"""One of so many lines also teaches what there is to know without its alignment."""
_LONG = 64_000  # lines, of which one fold is enough
_SEEN_BITS = 26
_KNOWN = 0.9
"""A model has been trained on text if it has at least this share of its n-grams."""
_FEW = 100  # lines
_MOST_STAND_IN_LINES = 300_000


@dataclass
class TrainedBilingual:
    """What a bilingual part was learned from."""

    path: str
    pairs: int
    taught: int  # pairs that the weights were learned from
    rows: int  # of the classifier, that have weights
    lm_weight: float
    sigma: float
    known: float  # share of the n-grams of the translations that the model has
    held_out: dict[float, float] = field(default_factory=dict)

    def __str__(self) -> str:
        stand_in = ", with a stand-in for the model, which has been trained on them" if self.known >= _KNOWN else ""
        return (
            f"learned from {self.pairs:,} pairs of lines; the weights from {self.taught:,} of them, with a prior of"
            f" {self.sigma:g}{stand_in}\nwrote {self.path}: {self.rows:,} rows of weights"
        )


@kernel
def _known(states: StateArray, arcs: ArcArray, start: i64, labels: U32Array) -> tuple[i64, i64]:
    """How many of the labels, in sentences that end with SENTENCE_END, have an arc in the state before; and how many
    there are."""
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
def _features(target: Text, source: Text, links: I32Array, lines: I64Strided) -> tuple[U32Matrix, U8Array]:
    """What the classifier learns from lines: (uint32[words, N_TEMPLATES], the words' shapes)."""
    n = 0
    for line in lines:
        n += target.lines[line].end - target.lines[line].begin
    features, shapes = np.empty((n, N_TEMPLATES), np.uint32), np.empty(n, np.uint8)
    room = np.empty(N_TEMPLATES, np.uint64)
    n = 0
    for line in lines:
        if line >= source.lines.size or not source.lines[line].has_contrast:
            continue
        for i in range(target.lines[line].begin, target.lines[line].end):
            token_type, tag = target.words.token_types[i], target.facts[i].tag
            if tag != AN and (token_type == WORD or token_type == COMPOUND):
                fill_templates(target, source, links, i, line, room)
                for k in range(N_TEMPLATES):
                    features[n, k] = room[k]
                shapes[n] = tag
                n += 1
    return features[:n], shapes[:n]


@allocating
def _unseen(target: Text, source: Text, lines: I64Array, seen: U8Array) -> BoolArray:
    """Which of the lines, with their source, are not among those seen, as hashes of words tell; and marks them."""
    new = np.zeros(lines.size, np.bool_)
    for n in range(lines.size):
        line = lines[n]
        h = u64(0)
        for i in range(target.lines[line].begin, target.lines[line].end):
            h = hash_pair(h, target.facts[i].cased_hash)
        if line < source.lines.size:
            for i in range(source.lines[line].begin, source.lines[line].end):
                h = hash_pair(h, source.facts[i].cased_hash)
        place = i64(h >> u64(64 - _SEEN_BITS))
        bit = u8(1 << (place & 7))
        new[n] = seen[place >> 3] & bit == 0
        seen[place >> 3] |= bit
    return new


class _Texts(NamedTuple):
    """A block of the bitext."""

    target: Text
    source: Text
    links: npt.NDArray[np.int32]
    others: npt.NDArray[np.int64]  # the lines that the classifier learns from
    teaching: npt.NDArray[np.int64]  # those that the weights are learned from


class _Corpus:
    """The bitext, block by block, and which of its lines teach the weights, fold by fold."""

    def __init__(self, recaser: Recaser, paths: tuple[Path, Path, Path], errors: Errors) -> None:
        self.recaser = recaser
        self.paths = paths
        self.names = Names(*map(str, paths))
        self.errors = errors
        self.n_lines = n_bytes = 0
        for block in self._blocks():
            self.n_lines += block.target.count(b"\n")
            n_bytes += len(block.target)
        self.sampled = 1 + n_bytes // _MOST_SAMPLED  # every so many lines teach the classifier
        self.size = max(1, min(_LINES, self.n_lines // 16))
        self.folds = _FOLDS if self.n_lines <= _LONG else 1
        self.stride = max(_FOLDS, -(-self.n_lines * self.folds // _MOST_LINES))

    def _blocks(self) -> Iterator[Block]:
        target, source, align = (
            (ended(block) for block in read_stream(path, size=_READ, errors=self.errors)) for path in self.paths
        )
        return side_by_side(target, source, align, self.names)

    def known(self) -> float:
        """The share of the words of the lines that teach, each behind those before it, that the LM has an n-gram
        for."""
        total = np.zeros(2)
        model, recaser = self.recaser.model, self.recaser
        for texts in self.texts(0):
            labels = recaser.pipeline.loaded.labels(_lines(texts.target, texts.teaching))
            total += _known(model.states, model.arcs, model.start, labels)
        return float(total[0] / max(1, total[1]))

    def texts(self, fold: int | None = None, recaser: Recaser | None = None) -> Iterator[_Texts]:
        """The blocks. fold: which lines teach; None: none. recaser: whose words the texts are made of; None: the
        model's."""
        recaser = recaser or self.recaser
        for block in self._blocks():
            target, source, links = recaser.pipeline.linked(block)
            lines = np.arange(len(target.lines) - 1)
            teaches = (lines + block.line - 1) // self.size % self.stride == (-1 if fold is None else fold)
            yield _Texts(target, source, links, lines[~teaches], lines[teaches])


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
    """Learns from cased translations how their source tells their case (Wang, Knight & Marcu 2006), and writes the
    model with what it has learned to `output`.

    Args:
        target: cased translations, a sentence on each line, in the language of the model.
        source: their cased source, line by line.
        align: word alignments, line by line: pairs `i-j`, as fast_align and eflomal write them; word j of the
            translation is translated from word i of the source.
        output: the path of the new model.
        lm: the model, as in `capfst.load`.
        align_words: alignments count the words that `capfst tokenize` gives, not what white space separates.
        errors: what becomes of text that is not UTF-8: `strict` raises, `replace` puts U+FFFD.

    Raises:
        CapfstError: bad input, files with different numbers of lines, an unwritable output, too few pairs, or no SciPy.
    """
    check_scipy()
    refuse_to_replace(output, target, source, align)
    recaser = load(lm, align_words=align_words, restore="case")
    corpus = _Corpus(recaser, (Path(target), Path(source), Path(align)), errors)
    known = corpus.known()
    collector = Collector()
    for fold in range(corpus.folds):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows removes no file that is mapped
            try:
                teacher = _stand_in(corpus, fold, Path(folder)) if known >= _KNOWN else recaser
            except CapfstError as error:
                if corpus.n_lines < _FEW:
                    raise _too_few(corpus) from error
                raise
            _collect(teacher, corpus, fold, collector)
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


def _too_few(corpus: _Corpus) -> CapfstError:
    return CapfstError(
        f"{corpus.names.target}, {corpus.names.source}: they have too few pairs of lines to learn from: give some"
        " hundreds, cased on both sides"
    )


def _classifier(
    corpus: _Corpus, texts: Iterable[_Texts], seen: npt.NDArray[np.uint8] | None = None
) -> npt.NDArray[np.int8]:
    """What the other lines, or an even sample of them, teach the classifier; `seen` gets the marks of all."""
    features, shapes = [np.empty((0, N_TEMPLATES), np.uint32)], [np.empty(0, np.uint8)]
    for target, source, links, others, _ in texts:
        if seen is not None:
            _unseen(target, source, others, seen)
        is_same = source.facts["lower_hash"][links] == target.facts["lower_hash"] if len(source.facts) else links < 0
        unaligned = np.where(is_same, links, np.int32(-1))
        for of_pairs, every in ((links, corpus.sampled), (unaligned, corpus.sampled * _UNALIGNED)):
            of_words = _features(target, source, of_pairs, others[::every])
            features.append(of_words[0])
            shapes.append(of_words[1])
    return learn_classifier(np.concatenate(features), np.concatenate(shapes))


def _stand_in(corpus: _Corpus, fold: int, folder: Path) -> Recaser:
    """A model like that of the corpus, trained on the lines of a fold but those that teach, or the first of them."""
    model = corpus.recaser.model
    text, path = folder / "others.txt", folder / "stand-in.fst"
    with text.open("wb") as file:
        n = 0
        for texts in corpus.texts(fold):
            file.write(_lines(texts.target, texts.others))
            n += len(texts.others)
            if n >= _MOST_STAND_IN_LINES:
                break
    train(
        text, path, order=model.order, clean=False, pretokenized=corpus.recaser.pipeline.loaded.pretokenized,
        context=corpus.recaser.pipeline.context is not None,
    )  # fmt: skip
    return load(path, align_words=corpus.recaser.options.align_words)


def _collect(teacher: Recaser, corpus: _Corpus, fold: int, collector: Collector) -> None:
    """Gathers the lines of a fold that teach, as `teacher` sees them."""
    seen = np.zeros(1 << _SEEN_BITS - 3, np.uint8)
    classifier = _classifier(corpus, corpus.texts(fold), seen)
    search = teacher.pipeline.loaded.lm.unknown, teacher.pipeline.engine.starts, teacher.pipeline.engine.tables
    for target, source, links, _, teaching in corpus.texts(fold, teacher):
        new = teaching[_unseen(target, source, teaching, seen)]
        symbols, unknown = teacher.model.symbols, teacher.pipeline.loaded.lm.unknown
        gold = encode.labels(target.buf, target.words, symbols, unknown, teacher.pipeline.loaded.pretokenized)
        costs = teacher.pipeline.monolingual(target)
        lines = new.tolist()
        collector.add(
            target,
            source,
            links,
            lines,
            gold,
            costs,
            teacher.pipeline.loaded.forms,
            classifier,
            teacher.options.oov == "guess",
            search,
        )


def _lines(text: Text, lines: npt.NDArray[np.int64]) -> bytes:
    """Some of the lines of a text."""
    every = text.buf.tobytes().split(b"\n")
    return b"".join(every[line] + b"\n" for line in lines.tolist())
