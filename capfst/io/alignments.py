"""Word alignments as text: for each line of a translation its pairs `i-j`: word j of the translation is translated from
word i of the source, both counted from 0 (the form that fast_align, eflomal and SimAlign write).

In: the text. Out: the pairs as arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.exceptions import CapfstError
from capfst.kernels import kernel
from capfst.kernels.types import I32Array, I64Array, U8Array, i64

_NL, _HYPHEN, _ZERO, _NINE = (ord(c) for c in "\n-09")
_SPACES = (9, 11, 12, 13, 32)
_MOST = 1 << 30  # no line has so many words
_SHOWN = 40  # characters


class Pairs(NamedTuple):
    """The alignments of lines: pair k is (source[k], target[k]); those of line l are offsets[l] … offsets[l + 1] −
    1."""

    offsets: I64Array  # [lines + 1]
    source: I32Array
    target: I32Array


@kernel
def _parse(text: U8Array, offsets: I64Array, source: I32Array, target: I32Array) -> tuple[i64, i64]:
    """Fills `offsets` and the pairs of valid alignments; (number of pairs, offset of what is no pair, or −1)."""
    n, line, i = 0, 0, 0
    offsets[0] = 0
    while i < text.size:
        if text[i] == _NL:
            line += 1
            offsets[line] = n
            i += 1
            continue
        if text[i] in _SPACES:
            i += 1
            continue
        begin = i
        for side in range(2):
            number, first = 0, i
            while i < text.size and _ZERO <= text[i] <= _NINE and number < _MOST:
                number = 10 * number + i64(text[i]) - _ZERO
                i += 1
            if i == first or number >= _MOST:
                return n, begin
            if side == 0:
                source[n] = number
                if i == text.size or text[i] != _HYPHEN:
                    return n, begin
                i += 1
            else:
                target[n] = number
        if i < text.size and text[i] != _NL and text[i] not in _SPACES:
            return n, begin
        n += 1
    for rest in range(line + 1, offsets.size):
        offsets[rest] = n
    return n, -1


def parse(text: bytes, n_lines: int, name: str, line: int = 1) -> Pairs:
    """The pairs of an alignment of n_lines lines.

    Raises:
        CapfstError: something else than pairs; it names the line, of which the first has the number `line`.
    """
    buf = np.frombuffer(text, np.uint8)
    room = len(text) // 3 + 1  # 0-0
    pairs = Pairs(np.zeros(n_lines + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32))
    n, bad = _parse(buf, *pairs)
    if bad >= 0:
        word = text[bad:].split(None, 1)[0][:_SHOWN].decode(errors="replace")
        number = line + text.count(b"\n", 0, bad)
        raise CapfstError(
            f"{name}, line {number}: {word!r} is no pair of word numbers: write 0-0 1-2 …, source word first, as"
            " fast_align and eflomal do"
        )
    return Pairs(pairs.offsets, pairs.source[:n], pairs.target[:n])
