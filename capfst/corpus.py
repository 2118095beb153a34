"""Corpus: paths → files → blocks of whole lines.

In: files, folders or glob patterns; text that is plain, gzip (also of several members) or zstd (also of
several frames), told apart by its first bytes, not by its name.
Out: blocks of valid UTF-8, each of whole lines, in the order of the files.

`read_blocks` makes a corpus of files: no byte order mark, every line ended. `read_stream` keeps every byte, and so
does `raw_blocks`, which takes what is no UTF-8, too.
"""

import glob
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

import zstandard

from capfst.errors import CapfstError

Errors = Literal["strict", "replace"]
Seen = Callable[[bytes], object]

BLOCK = 4 << 20  # bytes; 16 MB, beyond the processor's cache, are a fifth slower to decompress and check
_SMALL = 1 << 16  # bytes of a file, compressed or not
PIECE = 1 << 14  # bytes read at once; zstd can make 32,000 times as many of them
LONG_WINDOW = 1 << 31  # as written by `zstd --long=31`, which large corpora like to use

UTF8_MARK = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))  # RFC 8878 §3.1

# What no UTF-8 text starts with, and what to do about it.
FOREIGN = {
    b"\xff\xfe": "is UTF-16 or UTF-32, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8",
    GZIP: "is compressed; decompress it first: gzip -dc",
    ZSTD[0]: "is compressed; decompress it first: zstd -dc",
}

# A folder is read whole but for these: a corpus may be called `news.en` as well as `news.txt`.
NO_TEXT = frozenset(
    f".{suffix}"
    for formats in (
        "7z bz2 rar tar tgz xz zip",
        "doc docx epub odt pdf ppt pptx ps xls xlsx",
        "bmp gif jpeg jpg png svg tif tiff webp avi flac mov mp3 mp4 ogg wav webm",
        "csv htm html json jsonl parquet tsv xml yaml yml",
        "arpa bin context db far fst npy npz pickle pkl sqlite",
    )
    for suffix in formats.split()
)


class Hash(Protocol):
    """Anything of hashlib's."""

    def update(self, data: bytes, /) -> None: ...


def find(paths: Iterable[str | Path]) -> list[Path]:
    """The files that `paths` name, in their order, each once.

    A folder stands for all files below it, sorted by path, without the hidden ones and without those whose
    suffix (before .gz or .zst) is in `NO_TEXT`. A name that does not exist and holds `*`, `?` or `[` is a
    glob pattern, in which `**` is any number of folders; its matches count as if they had been named themselves.

    Raises:
        CapfstError: a path, pattern or folder without files, or a file or folder that may not be read.
    """
    files: dict[str, Path] = {}
    for path in paths:
        for file in _expand(str(path)):
            if not os.access(file, os.R_OK):
                raise CapfstError(f"{file}: cannot be read; give yourself permission, or leave it out")
            files.setdefault(os.path.realpath(file), file)
    if not files:
        raise CapfstError("no corpus given; name a file, a folder or a quoted glob pattern")
    return list(files.values())


def _expand(path: str) -> list[Path]:
    if os.path.isdir(path):
        files = _below(path)
        if not files:
            raise CapfstError(f"{path}: no text in this folder; put plain, .gz or .zst files there")
        return files
    if os.path.exists(path):
        return [Path(path)]
    if not glob.has_magic(path):
        raise CapfstError(f"{path}: no such file or folder; check the name")
    matches = sorted(glob.glob(path, recursive=True))
    files = [file for match in matches for file in (_below(match) if os.path.isdir(match) else [Path(match)])]
    if not files:
        raise CapfstError(f"{path}: no file matches this pattern; check it, and quote it for the shell")
    return files


def _below(folder: str) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise CapfstError(f"{error.filename}: {error.strerror}; give yourself permission, or leave it out")

    files = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(parent, name) for name in names if not name.startswith(".") and _may_be_text(name)]
    return sorted(files)


def _may_be_text(name: str) -> bool:
    path = Path(name.lower())
    if path.suffix in (".gz", ".zst"):
        path = path.with_suffix("")
    return path.suffix not in NO_TEXT


def sources(files: Iterable[Path]) -> list[list[Path]]:
    """The files in their order, each by itself if it is not too small, else with its neighbours: some hundreds of
    sources at most, which may differ in what they are."""
    sized = [(file, file.stat().st_size) for file in files]
    least = max(_SMALL, sum(size for _, size in sized) // 256)
    found: list[list[Path]] = []
    held = 0
    for file, size in sized:
        if not found or held + size > least:
            found.append([])
            held = 0
        found[-1].append(file)
        held += size
    return found


def read_blocks(
    files: Iterable[Path],
    size: int = BLOCK,
    errors: Errors = "strict",
    hash: Hash | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """The lines of `files` as one text, in blocks of about `size` bytes; a longer line makes a longer block.

    Every block ends with a newline; a file's last line is given one if it has none. A byte order mark at a
    file's start is dropped. Small files share a block. `hash` is updated with the blocks: its digest depends
    neither on their size nor on the files' compression. `progress` is called with the number of further bytes
    read, before decompression.

    Raises:
        CapfstError: a file that cannot be read, is damaged or cut off, or is not UTF-8 (unless `errors` is
            "replace", which puts U+FFFD for what is not).
    """
    blocks = (block for file in files for block in _corpus_file(file, size, errors, progress))
    for block in _joined(blocks, size):
        if hash is not None:
            hash.update(block)
        yield block


def _corpus_file(file: Path, size: int, errors: Errors, progress: Callable[[int], object] | None) -> Iterator[bytes]:
    start = True
    seen = None if progress is None else lambda piece: progress(len(piece))
    for block in _valid(_whole_lines(_pieces(file, seen), size), str(file), errors):
        if start:
            block = block.removeprefix(UTF8_MARK)
            start = False
        if block:
            yield block if block.endswith(b"\n") else block + b"\n"


def read_stream(
    source: BinaryIO | Path, name: str = "<stdin>", size: int = BLOCK, errors: Errors = "strict"
) -> Iterator[bytes]:
    """The very bytes of `source`, in blocks of whole lines; only the last block may lack its newline.

    A path is opened, decompressed if need be, and read in blocks of about `size` bytes. An open binary
    stream, which error messages call `name`, gives a block as soon as it delivers the end of a line.

    Raises:
        CapfstError: as `read_blocks`.
    """
    if isinstance(source, Path):
        return _valid(_whole_lines(_pieces(source), size), str(source), errors)
    return _valid(_whole_lines(_delivered(source, size, name), 1), name, errors)


def raw_blocks(file: Path, size: int = BLOCK, seen: Seen | None = None) -> Iterator[bytes]:
    """The very bytes of a file, decompressed if need be, UTF-8 or not, in blocks of whole lines; only the last block
    may lack its newline. `seen` is shown what is read, before decompression.

    Raises:
        CapfstError: a file that cannot be read, is damaged or cut off.
    """
    return _whole_lines(_pieces(file, seen), size)


def _delivered(stream: BinaryIO, size: int, name: str) -> Iterator[bytes]:
    read = getattr(stream, "read1", stream.read)  # read1 returns what a pipe has, read waits for all
    try:
        while piece := read(size):
            yield piece
    except OSError as error:
        raise CapfstError(f"{name}: {error.strerror or error}") from error


def _pieces(file: Path, seen: Seen | None = None) -> Iterator[bytes]:
    """The decompressed bytes of a file, in the pieces in which they come."""
    try:
        with open(file, "rb") as stream:
            head = stream.read(4)
            raw: Iterator[bytes] = chain([head] if head else [], iter(lambda: stream.read(PIECE), b""))
            if seen is not None:
                raw = _shown(raw, seen)
            if head.startswith(GZIP):
                raw = _decompressed(raw, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), file)
            elif head.startswith(ZSTD):
                zstd = zstandard.ZstdDecompressor(max_window_size=LONG_WINDOW)
                raw = _decompressed(raw, zstd.decompressobj, file)
            yield from raw
    except OSError as error:
        raise CapfstError(f"{file}: {error.strerror or error}; name files that can be read") from error
    except (zlib.error, zstandard.ZstdError) as error:
        raise CapfstError(f"{file}: damaged compressed data ({error}); fetch or compress it again") from error


def _shown(raw: Iterable[bytes], seen: Seen) -> Iterator[bytes]:
    for piece in raw:
        seen(piece)
        yield piece


def _decompressed(raw: Iterable[bytes], decompressor: Callable[[], Any], file: Path) -> Iterator[bytes]:
    """One gzip member or zstd frame after the other."""
    unit = None
    for piece in raw:
        while piece:
            if unit is None:
                piece = piece.lstrip(b"\0")  # padding, which gzip allows; nothing else starts with a zero
                if not piece:
                    break
                unit = decompressor()
            yield unit.decompress(piece)
            piece = unit.unused_data
            if unit.eof:
                unit = None
    if unit is not None:
        raise CapfstError(f"{file}: the compressed data is cut off; fetch or compress the file again")


def _whole_lines(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
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
    if parts:
        yield b"".join(parts)


def _joined(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    parts: list[bytes] = []
    held = 0
    for block in blocks:
        parts.append(block)
        held += len(block)
        if held >= size:
            yield b"".join(parts)
            parts, held = [], 0
    if parts:
        yield b"".join(parts)


def _valid(blocks: Iterable[bytes], name: str, errors: Errors) -> Iterator[bytes]:
    """Refuses what is not UTF-8, naming its place in the (decompressed) text, or replaces it."""
    offset = lines = 0
    for block in blocks:
        if offset == 0:
            for start, remedy in FOREIGN.items():
                if block.startswith(start):
                    raise CapfstError(f"{name}: {remedy}")
        try:
            block.decode()
        except UnicodeDecodeError as error:
            if errors == "strict":
                line = lines + block.count(b"\n", 0, error.start) + 1
                raise CapfstError(
                    f"{name}: not UTF-8 at byte {offset + error.start} (0x{block[error.start]:02x}) in line"
                    f" {line}: {error.reason}; convert the text (iconv -t UTF-8), or use --errors replace"
                ) from error
            yield block.decode(errors="replace").encode()
        else:
            yield block
        offset += len(block)
        lines += block.count(b"\n")
