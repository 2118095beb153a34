"""Files: a body is a file, whose name has the suffix of its format; the answer is the same file, recased.

The suffix decides how the file is read, and the name nothing else: the file is written to a temporary folder of its
own, and so is the answer, so that neither is in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from capfst.context.channel import Style
from capfst.exceptions import CapfstError
from capfst.io.compression import COMPRESSIONS
from capfst.io.files import suffix_of
from capfst.io.formats import format_of
from capfst.io.protocol import BatchOptions, RecaseCounts
from capfst.io.speech import JSON, SUFFIXES
from capfst.options import ServeOptions
from capfst.pipeline import Pipeline
from capfst.recaser import Recaser
from capfst.serve.answers import RefusedError
from capfst.serve.body import pieces
from capfst.serve.waiting import Waiting
from capfst.system.stopping import check
from capfst.text.markup import SUFFIXES as MARKUPS

FORMATS = (".txt", ".csv", ".tsv", *JSON, *SUFFIXES, *MARKUPS)
_ARRIVING = 16  # files at once
_RECASED = "recased"
_COMPRESSED = tuple(start for compression in COMPRESSIONS for start in compression.starts)


class RecasedFile(FileResponse):
    """The file in the body of a request, recased. Its folder is removed when it is sent, or if it cannot be."""

    def __init__(self, folder: Path, name: str) -> None:
        headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}"}
        super().__init__(folder / _RECASED, headers=headers, media_type="application/octet-stream")
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            shutil.rmtree(self._folder)


async def recased_file(
    request: Request, asked: Any, recaser: Recaser, limits: ServeOptions, waiting: Waiting,
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
) -> RecasedFile:  # fmt: skip
    """Return the file in the body of a request, recased. waiting: where files that are arriving wait. in_thread: makes
    a call in a thread."""
    suffix = suffix_of(asked.name)
    if suffix not in FORMATS:
        raise RefusedError(415, f"{asked.name!r}: the format is not supported. Send one of {', '.join(FORMATS)}.")
    folder = Path(mkdtemp(prefix="capfst-"))
    try:
        given = folder / f"given{suffix}"
        with given.open("wb") as file:
            async for piece in pieces(request, limits.max_file, waiting, _ARRIVING):
                file.write(piece)
        await in_thread(partial(_recase, given, folder / _RECASED, asked, recaser))
    except BaseException:
        shutil.rmtree(folder)
        raise
    return RecasedFile(folder, asked.name)


def _recase(given: Path, made: Path, asked: Any, recaser: Recaser) -> None:
    """Recase a file; RefusedError, with the name that the client gave, if it cannot be read."""
    with given.open("rb") as begin:
        if begin.read(16).startswith(_COMPRESSED):
            raise RefusedError(415, f"{asked.name!r}: the file is compressed. Send it as it was before.")
    pipeline = recaser.pipeline_with(asked.options(), "recase")
    names: dict[str, Any] = {} if asked.field is UNSET else {"field": (asked.field,), "column": (asked.field,)}
    document = "" if pipeline.options.document else None
    options = BatchOptions(**names, document=document, markup=pipeline.options.markup)
    try:
        format = format_of(given, options)
        with made.open("wb") as file, format.writing(file) as write:
            for piece in format.pieces(lambda data: check()):
                write(format.recased(piece, partial(_recased, pipeline))[0])
    except CapfstError as error:
        raise RefusedError(400, str(error).replace(str(given), asked.name)) from error


def _recased(
    pipeline: Pipeline, text: bytes, source: None = None, align: None = None, /, head: bytes | None = None
) -> tuple[memoryview, RecaseCounts]:
    """Recase whole lines, as io/protocol.py has it."""
    style = pipeline.style_after(head) if head else None if head is None else Style()
    return pipeline.recase_utf8(text, style), RecaseCounts()
