"""Text in and out, and notes on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from capfst.exceptions import CapfstError

if TYPE_CHECKING:
    from capfst.io.compression import OnRead
    from capfst.io.encodings import Transcoding


def note(text: str, quiet: bool = False) -> None:
    if not quiet:
        click.echo(f"capfst: {text}", err=True)


def read_text(
    files: tuple[Path, ...],
    errors: str,
    on_read: OnRead | None = None,
    transcoding: Transcoding | None = None,
    hide: Callable[[Iterator[bytes], Path], Iterator[bytes]] | None = None,
) -> Iterator[bytes]:
    """Yield the text of all files, or of stdin, in blocks of whole lines of about PIECE bytes.

    A file's last line gets a line break if another file follows. `on_read` receives the bytes read, compressed.
    transcoding: of text that is not UTF-8. `hide` hides parts of the blocks of a file."""
    from capfst.io.blocks import ended, read_stream
    from capfst.io.documents import PIECE

    for k, file in enumerate(files or (Path("-"),), 1):
        # The raw stream: no lock of Python is held while a thread waits for input and another one ends the program.
        source = open(0, "rb", 0, closefd=False) if str(file) == "-" else file  # noqa: SIM115
        blocks = read_stream(source, size=PIECE, errors=errors, on_read=on_read, transcoding=transcoding)  # type: ignore[arg-type]
        if k < len(files):
            blocks = map(ended, blocks)
        yield from blocks if hide is None else hide(blocks, file)


class ReaderGoneError(Exception):
    """The reader of stdout is gone. (Click handles a BrokenPipeError itself.)"""


def write_text(blocks: Iterable[bytes | memoryview], out: BinaryIO) -> None:
    """Write each block as soon as it is available."""
    try:
        for block in blocks:
            out.write(block)
            out.flush()
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except OSError as error:
        raise CapfstError(f"cannot write to stdout: {error.strerror}. Check the pipe or redirection.") from error


def show(text: str) -> None:
    write_text([f"{text}\n".encode("utf-8", "surrogateescape")], sys.stdout.buffer)


def discard_stdout() -> None:
    """Discard unwritten output: Python would report the error again when it closes stdout."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replace_closed_streams() -> None:
    """Give closed standard streams (`>&-`) a descriptor that refuses reads or writes (stderr: discards them); otherwise
    the next opened file would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)  # gets the lowest free number
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
