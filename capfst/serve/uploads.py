"""Files: a body is a file, whose name has the suffix of its format; the answer is the same file, recased.

The suffix decides how the file is read, and the name nothing else: the file is written to a temporary folder of its
own, and so is the answer, so that neither is in memory.
"""

import shutil
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

from msgspec import UNSET
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from capfst.context.channel import Style
from capfst.exceptions import CapfstError
from capfst.io.compression import COMPRESSIONS
from capfst.io.files import suffix_of
from capfst.io.formats import JSONS, SUFFIXES, format_of
from capfst.io.protocol import BatchOptions, RecaseCounts, TextOptions
from capfst.pipeline import Pipeline
from capfst.recaser import Recaser
from capfst.serve.answers import RefusedError
from capfst.system.stopping import check
from capfst.text.markup import SUFFIXES as MARKUPS

FORMATS = (".txt", ".csv", ".tsv", *JSONS, *SUFFIXES, *MARKUPS)
_COMPRESSED = tuple(start for compression in COMPRESSIONS for start in compression.starts)


class _Options(BatchOptions):
    remedy = TextOptions.remedy  # a request has no option for malformed records


class Upload(FileResponse):
    """The file in the body of a request, in a folder that is removed when the answer is sent, or cannot be."""

    def __init__(self, asked: Any) -> None:
        self._asked, suffix = asked, suffix_of(asked.name)
        if suffix not in FORMATS:
            raise RefusedError(415, f"{asked.name!r}: the format is not supported. Send one of {', '.join(FORMATS)}.")
        self._folder = Path(mkdtemp(prefix="capfst-"))
        self.given = self._folder / f"given{suffix}"
        headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(asked.name, safe='')}"}
        super().__init__(self._folder / "recased", headers=headers, media_type="application/octet-stream")

    def remove(self) -> None:
        shutil.rmtree(self._folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.remove()

    def recase(self, recaser: Recaser) -> None:
        """Recase the file; RefusedError, with the name that the client gave, if it cannot be read."""
        asked = self._asked
        with self.given.open("rb") as begin:
            if begin.read(16).startswith(_COMPRESSED):
                raise RefusedError(415, f"{asked.name!r}: the file is compressed. Send it as it was before.")
        pipeline = recaser.pipeline_with(asked.options(), "recase")
        names: dict[str, Any] = {} if asked.field is UNSET else {"field": (asked.field,), "column": (asked.field,)}
        document = "" if pipeline.options.document else None
        casing = {name: getattr(pipeline.options, name) for name in ("markup", "remarks")}
        options = _Options(**names, document=document, **casing)
        try:
            format = format_of(self.given, options)
            with Path(self.path).open("wb") as file, format.writing(file) as write:
                for piece in format.pieces(lambda data: check()):
                    write(format.recased(piece, partial(_recased, pipeline))[0])
        except CapfstError as error:
            raise RefusedError(400, str(error).replace(str(self.given), asked.name)) from error


def _recased(
    pipeline: Pipeline, text: bytes, source: None = None, align: None = None, /, head: bytes | None = None
) -> tuple[memoryview, RecaseCounts]:
    """Recase whole lines, as io/protocol.py has it."""
    style = pipeline.style_after(head) if head else None if head is None else Style()
    return pipeline.recase_utf8(text, style), RecaseCounts()
