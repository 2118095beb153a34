"""Parquet: one column of strings is recased; the other columns, the schema, its metadata and the row groups stay.

A row group is read at once, and its column recased in pieces. Nulls stay null. Compression, dictionaries and statistics
are as in the file's first row group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from capfst.batch.arrow import NotUtf8Error, recase_array
from capfst.batch.lines import BLOCK, recase_values
from capfst.batch.protocol import Options, Recase
from capfst.batch.report import Counts
from capfst.corpus.compression import Seen
from capfst.errors import CapfstError

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    raise CapfstError("Parquet files need pyarrow: pip install 'capfst[parquet]'") from error


@dataclass(frozen=True)
class Piece:
    values: Any  # pa.Array of the column
    row: int  # of the file, from 1
    table: Any = None  # the row group, with its last piece


class Parquet:
    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        self.column = options.column
        self.errors = options.errors
        self.on_error = options.on_error
        self.settings: dict[str, str] = {
            "errors": options.errors,
            "on_error": options.on_error,
            "column": options.column,
        }
        with self._failures(), pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            self.index = self._index()
            self.layout = _layout(file.metadata)
        kind = self.schema.types[self.index]
        self.kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(self.kind) or pa.types.is_large_string(self.kind)):
            raise CapfstError(f"{path}: the column {self.column!r} holds {kind}, not strings: name one with --column")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = str(getattr(error, "strerror", None) or error).split("\n")[0]
            raise CapfstError(f"{self.path}: no Parquet file that can be read: {reason}: fetch it again") from error

    def _index(self) -> int:
        names = self.schema.names
        if self.column.isdecimal() and 1 <= int(self.column) <= len(names):
            return int(self.column) - 1
        if names.count(self.column) != 1:
            raise CapfstError(
                f"{self.path}: there are {names.count(self.column)} columns called {self.column!r}"
                f" ({', '.join(names)[:200]}): name one with --column, or give its number"
            )
        return int(names.index(self.column))

    def pieces(self, seen: Seen) -> Iterator[Piece]:
        row = 1
        with self._failures(), open(self.path, "rb") as stream, pq.ParquetFile(self.path) as file:
            size = os.fstat(stream.fileno()).st_size
            groups = file.num_row_groups
            for group in range(groups):
                table = file.read_row_group(group, use_threads=False)
                # The bytes are shown in step with the row groups; which bytes are whose does not matter.
                _show(stream, size * (group + 1) // groups - stream.tell(), seen)
                slices = list(_slices(table.column(self.index)))
                for values, last in slices:
                    yield Piece(values, row, table if last else None)
                    row += len(values)
            _show(stream, size - stream.tell(), seen)

    def recased(self, piece: Piece, recase: Recase) -> tuple[tuple[Any, Any, Any], Counts]:
        """(the recased values, which of them to keep or None, the row group if it ends here)."""
        values = piece.values
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        keep, malformed = None, 0
        counts = Counts()

        def counted(text: bytes) -> memoryview:
            nonlocal counts
            recased, counts = recase(text)
            counts += Counts(lines=-values.null_count)
            return recased

        try:
            done = recase_array(counted, values)
        except NotUtf8Error:
            done, bad, counts = self._by_value(values, piece.row, recase)
            malformed = sum(bad)
            keep = pa.array([not wrong for wrong in bad]) if self.on_error == "drop" else None
        if pa.types.is_dictionary(piece.values.type):
            done = done.dictionary_encode().cast(piece.values.type)
        return (done, keep, piece.table), counts + Counts(records=len(values), malformed=malformed)

    def _by_value(self, values: Any, row: int, recase: Recase) -> tuple[Any, list[bool], Counts]:
        """The values, of which some are not UTF-8, recased; which ones are not."""
        binary = pa.large_binary() if pa.types.is_large_string(values.type) else pa.binary()
        given = values.view(binary).to_pylist()
        bad = [False] * len(given)
        for i, value in enumerate(given):
            try:
                (value or b"").decode()
            except UnicodeDecodeError as error:
                if self.errors == "replace":
                    given[i] = value.decode(errors="replace").encode()
                    continue
                if self.on_error == "fail":
                    raise CapfstError(
                        f"{self.path}: row {row + i}: not UTF-8 at byte {error.start}: mend it, or use --on-error pass"
                        " or drop, or --errors replace"
                    ) from error
                bad[i] = True
        good = [i for i, value in enumerate(given) if value is not None and not bad[i]]
        recased, counts = recase_values([given[i] for i in good], recase)
        for i, value in zip(good, recased, strict=True):
            given[i] = value
        return pa.array(given, binary).view(values.type), bad, counts

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[tuple[Any, Any, Any]], object]]:
        columns: list[Any] = []
        keeps: list[Any] = []
        with pq.ParquetWriter(file, self.schema, **self.layout) as writer:

            def write(recased: tuple[Any, Any, Any]) -> None:
                values, keep, table = recased
                columns.append(values)
                keeps.append(keep if keep is not None else pa.repeat(True, len(values)))
                if table is None:
                    return
                field = self.schema.field(self.index)
                table = table.set_column(self.index, field, pa.chunked_array(columns, field.type))
                mask = pa.chunked_array(keeps, pa.bool_())
                if not pc.all(mask, min_count=0).as_py():
                    table = table.filter(mask)
                writer.write_table(table, row_group_size=max(1, len(table)))
                columns.clear()
                keeps.clear()

            yield write


def _layout(metadata: Any) -> dict[str, Any]:
    """How ParquetWriter writes as the file is written."""
    layout: dict[str, Any] = {
        "version": metadata.format_version,
        "store_schema": b"ARROW:schema" in (metadata.metadata or {}),
    }
    if metadata.num_row_groups:
        group = metadata.row_group(0)
        chunks = [group.column(i) for i in range(group.num_columns)]
        codecs = {chunk.path_in_schema: chunk.compression for chunk in chunks}
        layout["compression"] = {path: "NONE" if codec == "UNCOMPRESSED" else codec for path, codec in codecs.items()}
        layout["use_dictionary"] = [chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page]
        layout["write_statistics"] = [chunk.path_in_schema for chunk in chunks if chunk.is_stats_set]
        layout["use_deprecated_int96_timestamps"] = any(chunk.physical_type == "INT96" for chunk in chunks)
    return layout


def _show(stream: BinaryIO, size: int, seen: Seen) -> None:
    while size > 0 and (data := stream.read(min(size, BLOCK))):
        seen(data)
        size -= len(data)


def _slices(column: Any) -> Iterator[tuple[Any, bool]]:
    """Parts of the column of about BLOCK bytes, the last one marked."""
    parts = []
    for chunk in column.chunks:
        rows = max(1, len(chunk) * BLOCK // max(chunk.nbytes, 1))
        parts += [chunk.slice(start, rows) for start in range(0, len(chunk), rows)]
    for i, part in enumerate(parts, 1):
        yield part, i == len(parts)
