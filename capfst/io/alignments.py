"""Translations, their source and their word alignments: three parallel texts, line by line.

An alignment has for each line of a translation its pairs `i-j`: word j of the translation is translated from word i of
the source, both counted from 0 (the format of fast_align, eflomal and SimAlign).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from capfst.exceptions import CorpusError, quantity
from capfst.io.blocks import ended, whole_lines
from capfst.io.documents import lines_of
from capfst.kernels import kernel
from capfst.kernels.types import I32Array, I64Array, U8Array, i64

_NL, _HYPHEN, _ZERO, _NINE = (ord(c) for c in "\n-09")
_SPACES = (9, 11, 12, 13, 32)
_MOST = 1 << 30  # limit of a word index; no line has so many words
_SHOWN = 40  # characters
_PARALLEL = "The files must be parallel, line by line."


class Pairs(NamedTuple):
    """The alignments of lines: pair k is (source[k], target[k]); line l has the pairs offsets[l] … offsets[l + 1] −
    1."""

    offsets: I64Array  # [lines + 1]
    source: I32Array
    target: I32Array


@kernel
def _parse(text: U8Array, offsets: I64Array, source: I32Array, target: I32Array) -> tuple[i64, i64]:
    """Fill `offsets` and the pairs up to the first error; return (number of pairs, offset of the error, or −1)."""
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
    """Return the pairs of an alignment of n_lines lines, whose name and first line errors have.

    Raises:
        CorpusError: a token is not a pair; the error has its line.
    """
    buf = np.frombuffer(text, np.uint8)
    capacity = len(text) // 3 + 1  # 0-0
    pairs = Pairs(np.zeros(n_lines + 1, np.int64), np.empty(capacity, np.int32), np.empty(capacity, np.int32))
    n, bad = _parse(buf, *pairs)
    if bad >= 0:
        word = text[bad:].split(None, 1)[0][:_SHOWN].decode(errors="replace")
        number = line + text.count(b"\n", 0, bad)
        raise CorpusError(
            f"{name}, line {number}: {word!r} is not a pair of word indices. Write pairs such as 0-0 1-2, the source"
            " word first, as fast_align and eflomal do."
        )
    return Pairs(pairs.offsets, pairs.source[:n], pairs.target[:n])


class Names(NamedTuple):
    """What errors call the three texts."""

    target: str = "the translation"
    source: str = "the source"
    align: str = "the alignment"


NO_NAMES = Names()


class Block(NamedTuple):
    """Corresponding lines."""

    target: bytes
    source: bytes | None = None  # None: the lines are not translations
    align: bytes | None = None
    line: int = 1  # the number of the first line
    names: Names = NO_NAMES

    def lines(self) -> Iterator[Block]:
        """Yield each line as a block, without its line end."""
        texts = [text.removesuffix(b"\n").split(b"\n") if text is not None else None for text in self[:3]]
        for k in range(len(texts[0] or ())):
            target, source, align = (lines[k] if lines is not None else None for lines in texts)
            yield Block(target or b"", source, align, self.line + k, self.names)


def side_by_side(
    target: Iterable[bytes],
    source: Iterable[bytes],
    align: Iterable[bytes] | None,
    names: Names = NO_NAMES,
) -> Iterator[Block]:
    """Yield each block of translations with the corresponding lines of the other texts.

    The blocks are whole lines; a line whose block lacks its end continues in the next block.

    Raises:
        CorpusError: the texts differ in their number of lines.
    """
    others = [
        (ended(line) for block in blocks for line in lines_of(block))
        for blocks in (source, align) if blocks is not None
    ]  # fmt: skip
    line = 1
    for block in whole_lines(target, 1, names.target):
        n = ended(block).count(b"\n")
        taken = [list(islice(lines, n)) for lines in others]
        for found, name in zip(taken, names[1:], strict=False):
            if len(found) < n:
                raise CorpusError(f"{name}: fewer lines ({line - 1 + len(found)}) than {names[0]}. {_PARALLEL}")
        there, pairs = [*map(b"".join, taken), None][:2]
        yield Block(block, there, pairs, line, names)
        line += n
    for lines, name in zip(others, names[1:], strict=False):
        if next(lines, None) is not None:
            raise CorpusError(f"{name}: more lines than {names[0]} ({line - 1}). {_PARALLEL}")


OtherTexts = tuple[bytes, ...]
"""The source of a record's text and perhaps the alignment, as UTF-8; empty if the text is not a translation."""


def mismatch(text: str, others: Sequence[str]) -> str | None:
    """Return why a record's source or alignment does not fit its text; None if they fit."""
    lines = [other.split("\n") for other in (text, *others)]
    for name, other in zip(("source", "alignment"), lines[1:], strict=False):
        if len(other) != len(lines[0]):
            return f"the {name} has {quantity(len(other), 'line')}, but the text has {len(lines[0])}"
    if len(lines) < 3:
        return None
    try:
        pairs = parse("\n".join(lines[2]).encode("utf-8", "surrogatepass"), len(lines[0]), "its alignment")
    except CorpusError as error:
        return str(error).removesuffix(".")
    sizes = np.array([[len(line.split()) for line in text] for text in (lines[1], lines[0])])
    line_of = np.repeat(np.arange(len(lines[0])), np.diff(pairs.offsets))
    beyond = (pairs.source >= sizes[0][line_of]) | (pairs.target >= sizes[1][line_of])
    if not beyond.any():
        return None
    pair = int(beyond.argmax())
    n_source, n_target = sizes[:, line_of[pair]].tolist()
    return (
        f"the alignment has the pair {pairs.source[pair]}-{pairs.target[pair]}, but source and text have {n_source} and"
        f" {quantity(n_target, 'word')}"
    )


def joined_texts(others: Iterable[OtherTexts]) -> list[bytes]:
    """Join the other texts of several records: all sources, and all alignments, each ended by a line end."""
    return [b"".join(text + b"\n" for text in texts) for texts in zip(*others, strict=True)]
