"""Write a model in ARPA format, for SRILM, KenLM and other programs.

In: states and arcs by the conventions of fst/write.py, and the symbols. Out: the file; n-grams sorted by order, then in
the order of the arcs. The history of a state is derived from the arc that extends another state's history to it.
Numbers are log10, with 7 decimals.
"""

import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import Symbols
from capfst.fst.write import ArcArray, StateArray
from capfst.io.compression import compressing, compression_of_name
from capfst.kernels import allocating, copy_bytes, inner, kernel
from capfst.kernels.types import U8Array, f64, i64
from capfst.lm.acceptor import Histories, histories
from capfst.system.atomic import writing
from capfst.text.strings import Strings

_LOG10 = 1 / math.log(10)
_NEVER = -99.0
"""The logarithm of 0 in ARPA files."""
_NUMBER = 16  # bytes of a number, at most
_STATES = 1 << 15


@kernel
def _put_number(cost: f64, out: U8Array, i: i64) -> i64:
    """Write a cost as log10 to out[i:]; return the position after it."""
    value = max(-cost * _LOG10, _NEVER)
    scaled = i64(np.rint(abs(value) * 1e7))
    if value < 0 and scaled:
        out[i] = 45
        i += 1
    whole = scaled // 10000000
    if whole > 9:
        out[i] = 48 + whole // 10
        i += 1
    out[i] = 48 + whole % 10
    i += 1
    fraction, digit = scaled % 10000000, 1000000
    if fraction:
        out[i] = 46
        i += 1
    while fraction:
        out[i] = 48 + fraction // digit
        fraction %= digit
        digit //= 10
        i += 1
    return i


@inner
def _put_word(words: Strings, label: i64, out: U8Array, i: i64) -> i64:
    begin, size = words.offsets[label], words.offsets[label + 1] - words.offsets[label]
    copy_bytes(words.data, begin, size, out, i)
    return i + size


@allocating
def _lines(
    states: StateArray, arcs: ArcArray, begin: i64, end: i64, past: Histories, words: Strings, capacity: i64
) -> U8Array:
    """Format the n-grams that extend the states begin … end - 1, one per line; word 0 is <s>, the last word </s>.
    capacity: at least the bytes of these lines."""
    sentence_end = len(words.offsets) - 2
    out = np.empty(capacity, np.uint8)
    history = np.empty(past.length[end - 1], np.int32)
    size = 0
    for state in range(begin, end):
        here = states[state]
        earlier = state
        for k in range(past.length[state] - 1, -1, -1):
            history[k] = past.last[earlier]
            earlier = past.before[earlier]
        first = i64(here.pos)
        for i in range(first - 1, first + i64(here.narcs)):
            ending = i == first - 1
            if here.final == np.inf if ending else arcs[i].ilabel == 0:
                continue
            size = _put_number(here.final if ending else arcs[i].weight, out, size)
            out[size] = 9
            size += 1
            for k in range(past.length[state]):
                size = _put_word(words, history[k], out, size)
                out[size] = 32
                size += 1
            size = _put_word(words, sentence_end if ending else arcs[i].ilabel, out, size)
            if not ending:
                target = arcs[i].nextstate
                if past.length[target] == past.length[state] + 1:
                    out[size] = 9
                    size = _put_number(arcs[states[target].pos].weight, out, size + 1)
            out[size] = 10
            size += 1
    return out[:size]


def _sections(states: npt.NDArray, arcs: npt.NDArray, start: int, symbols: Symbols) -> Iterator[bytes | memoryview]:
    past = Histories(*histories(states, arcs))
    words = Strings.of([b"<s>", *(symbols.utf8(label) for label in range(1, len(symbols))), b"</s>"])
    # States are sorted by the length of their histories, so the n-grams of an order are those of consecutive states.
    bounds = np.searchsorted(past.length, np.arange(past.length[-1] + 2))
    grams = states["narcs"].astype(np.int64) - (np.arange(len(states)) > 0) + (states["final"] != np.inf)
    sizes = np.diff(words.offsets) + 1  # of a word and the space after it
    lines = np.full(len(states), 2 * _NUMBER + 3, np.int32)  # of a line, without its last word
    for begin, end in itertools.pairwise(bounds[1:]):
        lines[begin:end] = lines[past.before[begin:end]] + sizes[past.last[begin:end]]
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
            own = arcs["ilabel"][states["pos"][first] :][: states["narcs"][first:last].sum()]
            capacity = sizes[own].sum() + ((states["narcs"][first:last] + 1) * lines[first:last] + sizes[-1]).sum()
            yield _lines(states, arcs, first, last, past, words, capacity).data
    yield b"\n\\end\\\n"


def write_arpa(
    path: str | os.PathLike[str], states: npt.NDArray, arcs: npt.NDArray, start: int, symbols: Symbols
) -> None:
    """Write the model of STATE[n] and ARC[m] in ARPA format, compressed by the path's extension. The file appears
    complete or not at all.

    Raises:
        CapfstError: the file cannot be written.
    """
    with writing(path) as file, compressing(compression_of_name(Path(path)), file) as write:
        for part in _sections(states, arcs, start, symbols):
            write(part)
