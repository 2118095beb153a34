"""Writes a model in ARPA format, so that SRILM, KenLM and others read it.

In: states and arcs by the conventions of fst.py, and the symbols. Out: the file, n-grams by order, then as the
arcs are. The history of a state is found from the arc that extends another state's history to it. Numbers are
log10, with 7 decimals.
"""

import itertools
import math
import os
from collections.abc import Iterator

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import Symbols
from capfst.lm.decompile import histories
from capfst.system.atomic import replacing

_LOG10 = 1 / math.log(10)
_NEVER = -99.0
"""What ARPA files have for the logarithm of 0."""
_NUMBER = 16  # bytes of a number, at most
_STATES = 1 << 15


@nb.njit(cache=True, nogil=True)
def _put_number(cost: float, out: npt.NDArray, at: int) -> int:
    value = max(-cost * _LOG10, _NEVER)
    scaled = np.int64(np.rint(abs(value) * 1e7))
    if value < 0 and scaled:
        out[at] = 45
        at += 1
    whole = scaled // 10000000
    if whole > 9:
        out[at] = 48 + whole // 10
        at += 1
    out[at] = 48 + whole % 10
    at += 1
    fraction, digit = scaled % 10000000, 1000000
    if fraction:
        out[at] = 46
        at += 1
    while fraction:
        out[at] = 48 + fraction // digit
        fraction %= digit
        digit //= 10
        at += 1
    return at


@nb.njit(cache=True, nogil=True)
def _put_word(label: int, data: npt.NDArray, offsets: npt.NDArray, out: npt.NDArray, at: int) -> int:
    for i in range(offsets[label], offsets[label + 1]):
        out[at] = data[i]
        at += 1
    return at


@nb.njit(cache=True, nogil=True)
def _grams(
    states: npt.NDArray,
    arcs: npt.NDArray,
    begin: int,
    end: int,
    histories: tuple[npt.NDArray, npt.NDArray, npt.NDArray],
    data: npt.NDArray,
    offsets: npt.NDArray,
    longest: int,
) -> npt.NDArray:
    """The lines of the n-grams that states begin … end - 1 extend; symbol 0 is <s>, the last one </s>."""
    depth, word, before = histories
    lines = 0
    for state in range(begin, end):
        lines += states[state].narcs + 1
    room = 2 * _NUMBER + 3 + (depth[end - 1] + 1) * (longest + 1)
    out = np.empty(lines * room, np.uint8)
    history = np.empty(depth[end - 1], np.int32)
    sentence_end = len(offsets) - 2
    at = 0
    for state in range(begin, end):
        here = states[state]
        past = state
        for k in range(depth[state] - 1, -1, -1):
            history[k] = word[past]
            past = before[past]
        first = np.int64(here.pos)
        for i in range(first - 1, first + np.int64(here.narcs)):
            ending = i == first - 1
            if here.final == np.inf if ending else arcs[i].ilabel == 0:
                continue
            at = _put_number(here.final if ending else arcs[i].weight, out, at)
            out[at] = 9
            at += 1
            for k in range(depth[state]):
                at = _put_word(history[k], data, offsets, out, at)
                out[at] = 32
                at += 1
            at = _put_word(sentence_end if ending else arcs[i].ilabel, data, offsets, out, at)
            if not ending:
                target = arcs[i].nextstate
                if depth[target] == depth[state] + 1:
                    out[at] = 9
                    at = _put_number(arcs[states[target].pos].weight, out, at + 1)
            out[at] = 10
            at += 1
    return out[:at]


def _sections(states: npt.NDArray, arcs: npt.NDArray, start: int, symbols: Symbols) -> Iterator[bytes | memoryview]:
    past = histories(states, arcs)
    depth = past[0]
    words = [b"<s>", *(symbols.utf8(label) for label in range(1, len(symbols))), b"</s>"]
    data = np.frombuffer(b"".join(words), np.uint8)
    lengths = np.array([len(word) for word in words])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    # States come by depth, so that an order's n-grams are those of consecutive states.
    bounds = np.searchsorted(depth, np.arange(depth[-1] + 2))
    grams = states["narcs"].astype(np.int64) - (np.arange(len(states)) > 0) + (states["final"] != np.inf)
    yield b"\\data\\\n"
    for n, (begin, end) in enumerate(itertools.pairwise(bounds), 1):
        yield b"ngram %d=%d\n" % (n, grams[begin:end].sum() + (n == 1))
    for n, (begin, end) in enumerate(itertools.pairwise(bounds), 1):
        yield b"\n\\%d-grams:\n" % n
        if n == 1:
            out = np.empty(_NUMBER, np.uint8)
            backoff = arcs["weight"][states["pos"][start]] if start else 0.0
            yield b"-99\t<s>\t" + out[: _put_number(float(backoff), out, 0)].tobytes() + b"\n"
        for first in range(begin, end, _STATES):
            last = min(first + _STATES, end)
            yield _grams(states, arcs, first, last, past, data, offsets, int(lengths.max())).data
    yield b"\n\\end\\\n"


def write_arpa(
    path: str | os.PathLike[str], states: npt.NDArray, arcs: npt.NDArray, start: int, symbols: Symbols
) -> None:
    """Writes the model of STATE[n] and ARC[m] in ARPA format; the file appears complete or not at all.

    Raises:
        CapfstError: it cannot be written.
    """
    with replacing(path) as file:
        for part in _sections(states, arcs, start, symbols):
            file.write(part)
