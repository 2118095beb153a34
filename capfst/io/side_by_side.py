"""Three texts side by side: translations, their source lines, the alignments of both.

In: files of as many lines each. Out: blocks of lines that belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from capfst.exceptions import CapfstError
from capfst.io.blocks import ended

_NL = ord("\n")


class Names(NamedTuple):
    """What errors call the three texts."""

    target: str = "the translation"
    source: str = "the source"
    align: str = "the alignment"


NO_NAMES = Names()


class Block(NamedTuple):
    """Lines that belong together."""

    target: bytes
    source: bytes | None = None  # None: the lines are no translations
    align: bytes | None = None
    line: int = 1  # the number of the first one
    names: Names = NO_NAMES

    def lines(self) -> Iterator[Block]:
        """Each line as a block, without its end."""
        texts = [text.removesuffix(b"\n").split(b"\n") if text is not None else None for text in self[:3]]
        for k in range(len(texts[0] or ())):
            target, source, align = (lines[k] if lines is not None else None for lines in texts)
            yield Block(target or b"", source, align, self.line + k, self.names)


class _Lines:
    """Blocks of whole lines, of which as many lines as wanted are taken at a time."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.blocks = iter(blocks)
        self.block, self.begin = b"", 0
        self.ends = np.zeros(0, np.int64)  # of the lines of the block that are left
        self.taken = 0

    def take(self, n: int) -> bytes:
        """The next n lines, or all that are left, each ended."""
        parts, wanted = [], n
        while wanted and not self.is_over():
            ends, self.ends = self.ends[:wanted], self.ends[wanted:]
            parts.append(self.block[self.begin : ends[-1]])
            self.begin = ends[-1]
            wanted -= len(ends)
        self.taken += n - wanted
        return b"".join(parts)

    def is_over(self) -> bool:
        """Whether all lines have been taken; if not, some of the block are left."""
        if not len(self.ends) and (block := next(self.blocks, b"")):
            self.block, self.begin = ended(block), 0
            self.ends = np.flatnonzero(np.frombuffer(self.block, np.uint8) == _NL) + 1
        return not len(self.ends)


def _completed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks; one that does not end its last line, joined with the next."""
    held = b""
    for block in blocks:
        held += block
        if held.endswith(b"\n"):
            yield held
            held = b""
    if held:
        yield held


def side_by_side(
    target: Iterable[bytes],
    source: Iterable[bytes],
    align: Iterable[bytes] | None,
    names: Names = NO_NAMES,
) -> Iterator[Block]:
    """The blocks of translations, whole lines, each with the lines of the other texts that belong to them. A last line
    may lack its end, which the next block may begin with.

    Raises:
        CapfstError: the texts have not the same number of lines.
    """
    others = [_Lines(source)] + ([_Lines(align)] if align is not None else [])
    line = 1
    for block in _completed(target):
        n = block.count(b"\n") + (not block.endswith(b"\n"))
        taken = [lines.take(n) for lines in others]
        for lines, name in zip(others, names[1:], strict=False):
            if lines.taken < line - 1 + n:
                raise CapfstError(
                    f"{name} ends behind line {lines.taken}, but {names[0]} has more lines: line by line, they must"
                    " belong together"
                )
        yield Block(block, taken[0], taken[1] if align is not None else None, line, names)
        line += n
    for lines, name in zip(others, names[1:], strict=False):
        if not lines.is_over():
            raise CapfstError(
                f"{name} has more lines than {names[0]}, which ends behind line {line - 1}: line by line, they must"
                " belong together"
            )
