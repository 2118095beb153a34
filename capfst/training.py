"""Training: corpus → clean → tokenize → vocabulary → count → estimate → prune → compile → cap.fst.

In: files of cased text. Out: `cap.fst`, and a report of what the corpus gave. The same corpus and options give the
same bytes, whatever the number of threads.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
import numpy.typing as npt

from capfst import __version__
from capfst import clean as cleaning
from capfst.build import build
from capfst.corpus import Errors, find, read_blocks
from capfst.errors import CapfstError
from capfst.fst import write_fst
from capfst.signature import Signature
from capfst.symbols import Symbols
from capfst.vocabulary import Interner, Vocabulary, reserved, settle

MAX_ORDER = 5


@dataclass
class Trained:
    """What went into a model and what came out."""

    path: str
    signature: Signature
    cleaning: cleaning.Report
    sentences: int
    tokens: int  # without the sentence ends
    ngrams: tuple[int, ...]  # by order

    def report(self) -> str:
        """What the corpus gave, for people."""
        lines = [str(self.cleaning)] if self.cleaning.lines else []
        lines.append(f"learned from {self.sentences:,} sentences, {self.tokens:,} tokens")
        counts = ", ".join(f"{n}: {count:,}" for n, count in enumerate(self.ngrams, 1))
        lines.append(f"wrote {self.path}: n-grams by order {counts}")
        return "\n".join(lines)


def train(
    corpus: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    order: int = 3,
    clean: bool = True,
    skip_filters: Sequence[str] = (),
    pretokenized: bool = False,
    errors: Errors = "strict",
    max_ngrams: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Trained:
    """Trains a capitalization LM of the given order (1 to 5) on files, folders or glob patterns, and writes it to
    `output`.

    clean: leave out lines that do not look like well-cased sentences, but for the filters in `skip_filters`
    (`clean.FILTERS`). pretokenized: the tokens are what white space separates, taken as they are. max_ngrams: prune
    the model to this many n-grams in all (Stolcke 1998). jobs: threads; all cores if None. progress: called with the
    numbers of compressed bytes read.

    Raises:
        CapfstError: bad input, an unwritable output, or a corpus without a single sentence.
    """
    if not 1 <= order <= MAX_ORDER:
        raise CapfstError(f"order {order} is not between 1 and {MAX_ORDER}: use --order 3")
    paths = [corpus] if isinstance(corpus, (str, os.PathLike)) else list(corpus)
    digest = hashlib.blake2b(digest_size=8)
    on = cleaning.select(skip_filters) if clean else 0
    report = cleaning.Report(on)
    files = find([os.fspath(path) for path in paths])
    blocks = read_blocks(files, errors=errors, hash=digest, progress=progress)
    vocabulary, streams = read(blocks, on, pretokenized, report, jobs or os.cpu_count() or 1)
    labels = np.concatenate([*streams, np.empty(0, np.uint32)])
    del streams
    sentences = int(np.count_nonzero(labels == 0))
    tokens = labels.size - sentences
    if not sentences or not tokens:
        raise CapfstError(f"there is no sentence to learn from in {', '.join(map(str, paths))}: {_why(report)}")
    size = len(vocabulary.forms)
    model = build(labels, size, order)
    del labels
    signature = Signature(
        version=__version__,
        order=order,
        smoothing="kn",
        pruning=f"entropy-{max_ngrams}" if max_ngrams is not None else "none",
        tokenizer="none" if pretokenized else "capfst",
        lowercasing="default",
        corpus=digest.hexdigest(),
    )
    write_fst(
        output,
        model.states,
        model.arcs,
        Symbols.from_words(form.decode() for form in vocabulary.forms),
        model.start,
        signature,
    )
    return Trained(os.fspath(output), signature, report, sentences, tokens, tuple(model.ngrams))


def _why(report: cleaning.Report) -> str:
    rejected = report.as_dict()["rejected"]
    assert isinstance(rejected, dict)
    reasons = ", ".join(f"{name} {count:,}" for name, count in rejected.items() if count)
    if not reasons:
        return "it has no words; name another file"
    return f"all lines were left out (by filter: {reasons}); use --no-clean, or --skip-filter NAME"


def read(
    blocks: Iterator[bytes], on: int, pretokenized: bool, report: cleaning.Report, jobs: int
) -> tuple[Vocabulary, list[npt.NDArray[np.uint32]]]:
    """Blocks of lines → the vocabulary, and the labels of the lines that the filters `on` keep, in order, a 0 after
    each."""
    interners = [Interner() for _ in range(jobs)]
    free: SimpleQueue[int] = SimpleQueue()
    for k in range(jobs):
        free.put(k)

    def ids(block: bytes) -> tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        kept, counts = cleaning.clean(block, on) if on else (block, np.zeros(0, np.int64))
        k = free.get()
        try:
            return k, interners[k].block(kept, pretokenized), counts
        finally:
            free.put(k)

    streams: list[tuple[int, npt.NDArray[np.uint32]]] = []

    def take(done: Future[tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]]) -> None:
        k, stream, counts = done.result()
        streams.append((k, stream))
        if on:
            report.add(counts)

    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[Future[tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]]] = deque()
        for block in blocks:
            waiting.append(pool.submit(ids, block))
            if len(waiting) > 2 * jobs:
                take(waiting.popleft())
        while waiting:
            take(waiting.popleft())
    word = reserved(word for interner in interners for word in interner.words())
    if word is not None:
        raise CapfstError(f"the corpus has the word {word.decode()!r}, which is the LM's own: replace or remove it")
    return settle(interners, streams)
