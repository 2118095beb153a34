"""Train on translations: cased bitext and its word alignments → a model that also uses the case of the source.

Input: a model, and three files with equally many lines: cased translations, their cased source, alignments. Output: the
same model with another part (bilingual/evidence.py).

The weights are learned from an even sample of the lines. One of _UNALIGNED lines is also used without its alignment, so
that the source is evidence without alignments too. The files are read twice, and are never all in memory.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.bilingual.evidence import N_TEMPLATES, PART, Evidence, fill_templates, learn_evidence
from capfst.bilingual.word_facts import AN, MAY_BEGIN, AnnotatedText
from capfst.corpus.diagnose import beginnings, diagnose
from capfst.exceptions import CorpusError, quantity
from capfst.fst.write import write_fst
from capfst.io.alignments import Block, Names, side_by_side
from capfst.io.blocks import ended, read_stream
from capfst.io.files import refuse_special
from capfst.kernels import allocating
from capfst.kernels.types import BoolArray, I32Array, I64Strided, U8Array, U32Matrix
from capfst.options import Errors
from capfst.recaser import Recaser, load
from capfst.system.atomic import check_output
from capfst.text.tokenizer import COMPOUND, WORD

_READ = 1 << 20  # bytes
_MOST_SAMPLED = 8 << 20  # bytes of translations: 400 MB of features
_UNALIGNED = 8

_log = logging.getLogger(__name__)


@dataclass
class TrainedBilingual:
    """The report of `train_bilingual`."""

    path: str
    pairs: int
    rows: int  # with nonzero weights

    def load(self, **options: Any) -> Recaser:
        """Open the model, as `capfst.load(self.path, **options)` does."""
        return load(self.path, **options)

    def __str__(self) -> str:
        pairs = quantity(self.pairs, "pair of lines", "pairs of lines")
        rows = quantity(self.rows, "row of weights", "rows of weights")
        return f"learned from {pairs}\nwrote {self.path}: {rows}"


@allocating
def _examples(
    target: AnnotatedText, source: AnnotatedText, blank: AnnotatedText, links: I32Array, lines: I64Strided
) -> tuple[U32Matrix, U32Matrix, U8Array, BoolArray]:
    """Return the words of the lines whose source has contrast, as `learn_evidence` takes them. blank: the source
    without the facts of its lines."""
    n = 0
    for line in lines:
        n += target.lines[line].end - target.lines[line].begin
    features, without = np.empty((n, N_TEMPLATES), np.uint32), np.empty((n, N_TEMPLATES), np.uint32)
    shapes, may_begin = np.empty(n, np.uint8), np.empty(n, np.bool_)
    row, no_links = np.empty(N_TEMPLATES, np.uint64), np.full(links.size, -1, np.int32)
    n = 0
    for line in lines:
        if line >= source.lines.size or not source.lines[line].has_contrast:
            continue
        for i in range(target.lines[line].begin, target.lines[line].end):
            token_type, tag = target.words.token_types[i], target.facts[i].tag
            if tag == AN or (token_type != WORD and token_type != COMPOUND):
                continue
            fill_templates(target, source, links, i, line, row)
            for k in range(N_TEMPLATES):
                features[n, k] = row[k]
            fill_templates(target, blank, no_links, i, line, row)
            for k in range(N_TEMPLATES):
                without[n, k] = row[k]
            shapes[n], may_begin[n] = tag, target.facts[i].position <= MAY_BEGIN
            n += 1
    return features[:n], without[:n], shapes[:n], may_begin[:n]


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
    """Learn from cased translations how their case follows from their source (after Wang, Knight & Marcu 2006), and
    write the model with what was learned to `output`.

    Warns if the beginning of the translations does not look like cased text.

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
        CapfstError: the output cannot be written.
    """
    check_output(output, target, source, align, lm)
    for file in (target, source, align):
        refuse_special(file)
    recaser = load(lm, align_words=align_words, restore="case")
    if cause := diagnose(beginnings([Path(target)], lambda file, size: read_stream(file, size=size, errors="replace"))):
        _log.warning("%s: %s", target, cause)
    paths = Path(target), Path(source), Path(align)
    names = Names(*map(str, paths))

    def blocks() -> Iterator[Block]:
        of_target, of_source, pairs = (
            (ended(text) for text in read_stream(path, size=_READ, errors=errors)) for path in paths
        )
        return side_by_side(of_target, of_source, pairs, names)

    sizes = [(block.target.count(b"\n"), len(block.target)) for block in blocks()]
    n_lines, n_bytes = map(sum, zip(*sizes, strict=True)) if sizes else (0, 0)
    every = 1 + n_bytes // _MOST_SAMPLED
    examples = [example for block in blocks() for example in _sampled(recaser, block, every)]
    if not sum(len(shapes) for _, _, shapes, _ in examples):
        raise CorpusError(
            f"{names.target}, {names.source}: too few pairs of lines to learn from. Use some hundreds of pairs that are"
            " cased on both sides."
        )
    weights = learn_evidence(*map(np.concatenate, zip(*examples, strict=True)))
    model = recaser.model
    parts = {**model.parts, PART: Evidence(weights, n_lines).part()}
    write_fst(output, model.states, model.arcs, model.symbols, model.start, model.signature, parts)
    return TrainedBilingual(os.fspath(output), n_lines, int(np.count_nonzero(weights.any(axis=1))))


def _sampled(recaser: Recaser, block: Block, every: int) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """Yield the examples of one of `every` lines of a block, and those of fewer lines without their alignment."""
    pipeline = recaser.pipeline
    buf = pipeline.text(np.frombuffer(block.target, np.uint8), block).buf
    target, source, links = pipeline.linked(buf, pipeline.words(buf), block)
    is_same = source.facts["lower_hash"][links] == target.facts["lower_hash"] if len(source.facts) else links < 0
    unaligned = np.where(is_same, links, np.int32(-1))
    lines, blank = np.arange(len(target.lines) - 1), source._replace(lines=np.zeros_like(source.lines))
    for of_pairs, step in ((links, every), (unaligned, every * _UNALIGNED)):
        yield _examples(target, source, blank, of_pairs, lines[::step])
