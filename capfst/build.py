"""Labels → a language model: counts, probabilities, states and arcs, in one call."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy.typing as npt

from capfst.compile import compile_levels
from capfst.count import MAX_ORDER, count
from capfst.errors import CapfstError
from capfst.estimate import Estimator
from capfst.levels import Level, collect
from capfst.spool import Store


@dataclass
class Model:
    """The acceptor, by the conventions of fst.py, and its numbers of n-grams."""

    states: npt.NDArray  # STATE[n]
    arcs: npt.NDArray  # ARC[m]
    start: int
    ngrams: list[int]  # of each order; order 1 counts </s>, not <s>


def estimate(
    labels: npt.NDArray,
    words: int,
    order: int,
    *,
    memory: int | None = None,
    tmp: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    cutoffs: tuple[int, ...] = (),
) -> list[Level]:
    """The levels of an interpolated modified Kneser-Ney model, as lmplz's.

    labels: uint32[T], each sentence its words (1..words) and then a 0. memory: bytes for data on its way
    between the stages; what is more goes to temporary files in `tmp`. The result is the same whatever
    memory, tmp and threads are.
    """
    if not 1 <= order <= MAX_ORDER:
        raise CapfstError(f"order {order}: choose one of 1 to {MAX_ORDER}")
    if words >= 2**31 - 1:
        raise CapfstError(f"{words} different words: more than 2^31; drop rare ones (--min-count)")
    threads = threads or os.cpu_count() or 1
    store = Store(memory, tmp)
    with ThreadPoolExecutor(threads) as pool:
        counts = count(labels, words, order, store, pool, threads, cutoffs)
        return collect(Estimator(counts, store, pool, threads))


def build(labels: npt.NDArray, words: int, order: int, **options: object) -> Model:
    """The acceptor of `estimate`, which takes the same arguments."""
    levels = estimate(labels, words, order, **options)  # type: ignore[arg-type]
    states, arcs, start = compile_levels(levels)
    return Model(states, arcs, start, [len(level) for level in levels])
