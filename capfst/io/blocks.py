"""Read files and streams in blocks of whole lines.

Input: text files, plain or compressed, or an open stream. Output: blocks of bytes, each of whole lines, in the order of
the files. `read_blocks` reads a corpus: valid UTF-8 without byte order marks, every line ended. `read_stream` keeps
every byte of valid UTF-8; `raw_pieces` and `whole_lines` do not decode at all.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import numpy as np

from capfst.exceptions import CorpusError
from capfst.io.compression import OnRead, compression_of, decompressed
from capfst.io.encodings import MARKS, Transcoding, advice, guess
from capfst.options import Errors
from capfst.text.unicode import is_utf8

ReadErrors = Errors | Literal["refuse"]
"""As `Errors`; "refuse" is "strict" for text to which neither --errors nor --encoding applies: no message recommends
them."""

BLOCK = 4 << 20  # bytes; 16 MB, beyond the processor's cache, are a fifth slower to decompress and check
PIECE = 1 << 17  # bytes read at once
_LARGE = 1 << 16  # bytes from which a block is checked by a kernel instead of Python's decoder
_HEAD = 1 << 12  # bytes that show whether text is UTF-16
LONGEST = 1 << 29  # bytes of a line, which is held in memory as a whole

UTF8_MARK = b"\xef\xbb\xbf"

# First bytes that text does not have, with the problem and the remedy.
_FOREIGN = {
    b"ARROW1": "the file has Arrow's format (Feather), which is not text. Convert it to Parquet.",
    b"PK\x03\x04": "the file is a ZIP archive or an office document. Unpack it with `unzip`, or save it as text.",
    b"\xd0\xcf\x11\xe0": "the file is an office document. Save it as text.",
    b"{\\rtf": "the file is RTF. Save it as text.",
    b"%PDF-": "the file is a PDF. Convert it with `pdftotext`.",
    b"\x04\x22\x4d\x18": "the data is compressed. Decompress it with `lz4 -dc`.",
}


class Hash(Protocol):
    """A hash object of hashlib."""

    def update(self, data: bytes, /) -> None: ...


def read_blocks(
    files: Iterable[Path],
    size: int = BLOCK,
    errors: ReadErrors = "strict",
    hash: Hash | None = None,
) -> Iterator[bytes]:
    """Yield the lines of `files` as one text, in blocks of about `size` bytes; a longer line makes a longer block.

    Every block ends with a newline, which is added to a file's last line if it is missing. A byte order mark at the
    start of a file is dropped. Small files share a block. `hash` is updated with the blocks: its digest depends neither
    on their size nor on the files' compression.

    Raises:
        CorpusError: a file cannot be read, is damaged or truncated, or is not UTF-8, unless `errors` is "replace",
            which replaces invalid bytes with U+FFFD.
    """
    blocks = (ended_lines(read_stream(file, size=size, errors=errors)) for file in files)
    return joined(chain.from_iterable(blocks), size, hash)


def ended_lines(blocks: Iterable[bytes], begins_file: bool = True) -> Iterator[bytes]:
    """Yield blocks of whole lines without the byte order mark of their file, and with its last line ended."""
    for block in blocks:
        block = block.removeprefix(UTF8_MARK) if begins_file else block
        begins_file = False
        if block:
            yield ended(block)


def read_stream(
    source: BinaryIO | Path,
    name: str = "<stdin>",
    size: int = BLOCK,
    errors: ReadErrors = "strict",
    on_read: OnRead | None = None,
    transcoding: Transcoding | None = None,
) -> Iterator[bytes]:
    """Yield the bytes of `source` unchanged, in blocks of whole lines; only the last block may lack its newline.

    A path is opened, decompressed if it is compressed, and read in blocks of about `size` bytes. An open binary stream,
    which error messages call `name`, yields a block as soon as the end of a line arrives. `on_read` is called with the
    bytes that are read, before decompression. transcoding: of text that is not UTF-8, which is yielded as UTF-8. Errors
    are those of `read_blocks`.
    """
    if isinstance(source, Path):
        pieces = raw_pieces(source, on_read, transcoding)
        return valid(whole_lines(pieces, size, str(source)), str(source), errors)
    pieces = delivered(source, size, name, on_read)
    if transcoding:
        pieces = transcoding.utf8(pieces, name)
    return valid(whole_lines(pieces, 1, name), name, errors)


def refuse_foreign(head: bytes, name: str, has_option: bool = True) -> None:
    """Raise CorpusError if the first (decompressed) bytes of the file or stream `name` show that it is not UTF-8
    text. has_option: as in `advice`."""
    remedy = next((remedy for start, remedy in _FOREIGN.items() if head.startswith(start)), None)
    if head.startswith(b"ustar", 257):
        remedy = "the file is a tar archive. Unpack it with `tar -xf`."
    if compression := compression_of(head):
        remedy = f"the data is compressed. Decompress it with `{compression.program} -dc`."
    is_wide = b"\0" in head[:_HEAD] or head.startswith(MARKS)
    if not remedy and is_wide and (found := guess(head[:_HEAD])):
        remedy = f"the text is {found}, not UTF-8. {advice(head[:_HEAD], has_option)}."
    if remedy:
        raise CorpusError(f"{name}: {remedy}")


def delivered(stream: BinaryIO, size: int, name: str, on_read: OnRead | None = None) -> Iterator[bytes]:
    """Yield the bytes of a stream as they arrive, at most `size` at once. name, on_read: as in `read_stream`."""
    read = getattr(stream, "read1", stream.read)  # read1 returns what a pipe has; read waits for all of it
    try:
        while piece := read(size):
            if on_read is not None:
                on_read(piece)
            yield piece
    except OSError as error:
        raise CorpusError(
            f"{name}: cannot read: {error.strerror or error}. Check that the source is available."
        ) from error


def raw_pieces(file: Path, on_read: OnRead | None = None, transcoding: Transcoding | None = None) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file piece by piece. `on_read` is called with the bytes that are read, before
    decompression. transcoding: of a file that is not UTF-8, which is yielded as UTF-8.

    Raises:
        CorpusError: the file cannot be read, is damaged or truncated.
    """
    with decompressed(file, on_read) as stream:
        pieces = iter(lambda: stream.read(PIECE), b"")
        yield from transcoding.utf8(pieces, str(file)) if transcoding else pieces


def whole_lines(pieces: Iterable[bytes], size: int, name: str) -> Iterator[bytes]:
    """Join pieces to blocks that end with a line, each as soon as there are `size` bytes; only the last one may lack
    its newline. CorpusError: a line of the file `name` is too long."""
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
            raise CorpusError(f"{name}: a line has more than {LONGEST >> 20} MiB. Split it, if this is text.")
    if parts:
        yield b"".join(parts)


def ended(block: bytes) -> bytes:
    """Return the block with a newline at its end."""
    return block if block.endswith(b"\n") else block + b"\n"


def joined(blocks: Iterable[bytes], size: int = BLOCK, hash: Hash | None = None) -> Iterator[bytes]:
    """Join blocks until they have at least `size` bytes; only the last one may have fewer. `hash` is updated with
    them."""
    parts: list[bytes] = []
    held = 0
    for block in chain(filter(None, blocks), [b""]):
        parts.append(block)
        held += len(block)
        if held >= size or (parts[0] and not block):
            whole = b"".join(parts)
            if hash is not None:
                hash.update(whole)
            yield whole
            parts, held = [], 0


def valid(blocks: Iterable[bytes], name: str, errors: ReadErrors) -> Iterator[bytes]:
    """Yield blocks of whole lines; refuse bytes that are not UTF-8, with their offset in the (decompressed) text, or
    replace them."""
    offset, lines, has_option = 0, 0, errors != "refuse"
    for block in blocks:
        if offset == 0:
            refuse_foreign(block, name, has_option)
        buf = np.frombuffer(block, np.uint8)
        try:
            if len(block) < _LARGE or not is_utf8(buf):
                block.decode()
        except UnicodeDecodeError as error:
            if errors != "replace":
                line = lines + block.count(b"\n", 0, error.start) + 1
                other = ", or use `errors='replace'`" if errors == "strict" else ""
                remedy = advice(block[max(0, error.start - _HEAD) :], has_option)
                raise CorpusError(
                    f"{name}, line {line}: not UTF-8 at byte {offset + error.start} of the text"
                    f" (0x{block[error.start]:02x}): {error.reason}. {remedy}{other}."
                ) from error
            yield block.decode(errors="replace").encode()
        else:
            yield block
        offset += len(block)
        lines += int(np.count_nonzero(buf == ord("\n")))  # a third of the time of block.count
