"""Files → blocks of whole lines.

In: text files, plain or compressed. Out: blocks of valid UTF-8, each of whole lines, in the order of the files.

`read_blocks` makes a corpus of files: no byte order mark, every line ended. `read_stream` keeps every byte, and so
does `raw_blocks`, which takes what is no UTF-8, too.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import numpy as np

from capfst.exceptions import CapfstError
from capfst.io.compression import OnRead, compression_of, decompressed
from capfst.text.unicode import is_utf8

Errors = Literal["strict", "replace", "refuse"]
"""Of text that is not UTF-8: it is refused, with the advice to replace what is not, or without; or that is replaced."""

BLOCK = 4 << 20  # bytes; 16 MB, beyond the processor's cache, are a fifth slower to decompress and check
PIECE = 1 << 17  # bytes read at once
_LARGE = 1 << 16  # bytes of a block that is not checked by Python
LONGEST = 1 << 29  # bytes of a line, which is held in memory whole

UTF8_MARK = b"\xef\xbb\xbf"

# What no UTF-8 text starts with, and what to do about it.
_FOREIGN = {
    b"\xff\xfe": "is UTF-16 or UTF-32, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8",
    b"PK\x03\x04": "is a ZIP archive; unpack it first: unzip",
}


class Hash(Protocol):
    """Anything of hashlib's."""

    def update(self, data: bytes, /) -> None: ...


def read_blocks(
    files: Iterable[Path],
    size: int = BLOCK,
    errors: Errors = "strict",
    hash: Hash | None = None,
) -> Iterator[bytes]:
    """The lines of `files` as one text, in blocks of about `size` bytes; a longer line makes a longer block.

    Every block ends with a newline; a file's last line is given one if it has none. A byte order mark at a
    file's start is dropped. Small files share a block. `hash` is updated with the blocks: its digest depends
    neither on their size nor on the files' compression.

    Raises:
        CapfstError: a file that cannot be read, is damaged or cut off, or is not UTF-8 (unless `errors` is
            "replace", which puts U+FFFD for what is not).
    """
    blocks = (block for file in files for block in file_blocks(file, size, errors))
    return joined(blocks, size, hash)


def file_blocks(
    file: Path, size: int = BLOCK, errors: Errors = "strict", progress: Callable[[int], object] | None = None
) -> Iterator[bytes]:
    """As `read_blocks`, of one file. `progress` is called with the number of bytes read, before decompression."""
    start = True
    on_read = None if progress is None else lambda piece: progress(len(piece))
    for block in _valid(_whole_lines(_pieces(file, on_read), size, str(file)), str(file), errors):
        if start:
            block = block.removeprefix(UTF8_MARK)
            start = False
        if block:
            yield ended(block)


def read_stream(
    source: BinaryIO | Path,
    name: str = "<stdin>",
    size: int = BLOCK,
    errors: Errors = "strict",
    on_read: OnRead | None = None,
) -> Iterator[bytes]:
    """The very bytes of `source`, in blocks of whole lines; only the last block may lack its newline.

    A path is opened, decompressed if need be, and read in blocks of about `size` bytes. An open binary
    stream, which error messages call `name`, gives a block as soon as it delivers the end of a line. `on_read` is given
    what is read, before decompression.

    Raises:
        CapfstError: as `read_blocks`.
    """
    if isinstance(source, Path):
        return _valid(_whole_lines(_pieces(source, on_read), size, str(source)), str(source), errors)
    return _valid(_whole_lines(_delivered(source, size, name, on_read), 1, name), name, errors)


def raw_blocks(file: Path, size: int = BLOCK, on_read: OnRead | None = None) -> Iterator[bytes]:
    """The very bytes of a file, decompressed if need be, UTF-8 or not, in blocks of whole lines; only the last block
    may lack its newline. `on_read` is given what is read, before decompression.

    Raises:
        CapfstError: a file that cannot be read, is damaged or cut off.
    """
    return _whole_lines(_pieces(file, on_read), size, str(file))


def refuse_foreign(head: bytes, name: str) -> None:
    """Raises CapfstError if the file or stream `name`, which begins with these (decompressed) bytes, is no UTF-8 text
    for certain."""
    remedy = next((remedy for start, remedy in _FOREIGN.items() if head.startswith(start)), None)
    if compression := compression_of(head):
        remedy = f"is compressed; decompress it first: {compression.program} -dc"
    if remedy:
        raise CapfstError(f"{name}: {remedy}")


def _delivered(stream: BinaryIO, size: int, name: str, on_read: OnRead | None) -> Iterator[bytes]:
    read = getattr(stream, "read1", stream.read)  # read1 returns what a pipe has, read waits for all
    try:
        while piece := read(size):
            if on_read is not None:
                on_read(piece)
            yield piece
    except OSError as error:
        raise CapfstError(f"{name}: {error.strerror or error}: check where it comes from") from error


def _pieces(file: Path, on_read: OnRead | None = None) -> Iterator[bytes]:
    """The decompressed bytes of a file, piece by piece."""
    with decompressed(file, on_read) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _whole_lines(pieces: Iterable[bytes], size: int, name: str) -> Iterator[bytes]:
    """Joins pieces to blocks that end with a line, as soon as there are `size` bytes."""
    parts: list[bytes | memoryview] = []
    held = 0
    for piece in pieces:
        end = piece.rfind(b"\n") + 1 if held + len(piece) >= size else 0
        if end:
            yield b"".join([*parts, memoryview(piece)[:end]])
            parts, held = [], 0
        if end < len(piece):
            parts.append(piece[end:])
            held += len(piece) - end
        if held > LONGEST:
            raise CapfstError(f"{name}: a line has more than {LONGEST >> 20} MB: split it, or see whether this is text")
    if parts:
        yield b"".join(parts)


def ended(block: bytes) -> bytes:
    """The block with its last line ended."""
    return block if block.endswith(b"\n") else block + b"\n"


def joined(blocks: Iterable[bytes], size: int = BLOCK, hash: Hash | None = None) -> Iterator[bytes]:
    """The same text in blocks of at least `size` bytes, but for the last one; `hash` is updated with them."""
    parts: list[bytes] = []
    held = 0
    for block in blocks:
        parts.append(block)
        held += len(block)
        if held >= size:
            yield _hashed(b"".join(parts), hash)
            parts, held = [], 0
    if parts:
        yield _hashed(b"".join(parts), hash)


def _hashed(block: bytes, hash: Hash | None) -> bytes:
    if hash is not None:
        hash.update(block)
    return block


def _valid(blocks: Iterable[bytes], name: str, errors: Errors) -> Iterator[bytes]:
    """Refuses what is not UTF-8, naming its place in the (decompressed) text, or replaces it."""
    offset = lines = 0
    for block in blocks:
        if offset == 0:
            refuse_foreign(block, name)
        buf = np.frombuffer(block, np.uint8)
        try:
            if len(block) < _LARGE or not is_utf8(buf):
                block.decode()
        except UnicodeDecodeError as error:
            if errors != "replace":
                line = lines + block.count(b"\n", 0, error.start) + 1
                raise CapfstError(
                    f"{name}: not UTF-8 at byte {offset + error.start} (0x{block[error.start]:02x}) in line"
                    f" {line}: {error.reason}; convert the text (iconv -t UTF-8)"
                    f"{', or use --errors replace' * (errors == 'strict')}"
                ) from error
            yield block.decode(errors="replace").encode()
        else:
            yield block
        offset += len(block)
        lines += int(np.count_nonzero(buf == ord("\n")))  # a third of the time of block.count
