"""Parquet: one or more columns of strings are texts; recasing keeps the other columns, the schema, its metadata and the
row groups.

A damaged file can crash pyarrow while it reads the metadata (the rows of 21,500 damaged files did not). So the metadata
are first read in another process.

To be recased, a row group is read as a whole, and its columns recased in slices. If the lines of a document are
evidence for each other, slices contain whole documents, except a document longer than two slices; a document ends with
its row group. Nulls stay null. Compression, dictionaries and statistics are as in the file's first row group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from capfst.exceptions import CorpusError, OptionError, missing_extra

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    raise missing_extra("Parquet files need pyarrow", "parquet") from error

from capfst.io.alignments import OtherTexts, joined_texts, mismatch
from capfst.io.arrow import as_binary, from_rows, recase_rows
from capfst.io.compression import OnRead
from capfst.io.lines import MalformedError
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.tables import no_single_column
from capfst.io.text_file import BLOCK
from capfst.system.workers import Apart, WorkerDiedError
from capfst.text.markup import HTML, MARKDOWN


class RowSlice(NamedTuple):
    """Successive rows of a row group."""

    columns: list[pa.Array]  # the values of the columns to recase
    row: int  # number of the first row in the file, from 1
    row_group: pa.Table | None  # the whole group in its last slice, else None
    others: tuple[pa.Array, ...] = ()  # of the columns of source and alignment
    begins: pa.Array | None = None  # whether a document begins with a row; None: there are no documents


class RecasedSlice(NamedTuple):
    columns: list[pa.Array]
    keep: pa.Array | None  # whether a row is kept; None: all are
    row_group: pa.Table | None  # as in RowSlice


class Parquet:
    def __init__(self, path: Path, options: TextOptions) -> None:
        if options.markup in (MARKDOWN, HTML):
            raise OptionError(f"{path}: `markup={options.markup!r}` is not supported for Parquet. Use .jsonl files.")
        self.path = path
        self.errors = options.errors
        self.on_error = options.on_error
        self.remedy = options.remedy
        with self._failures():
            self.schema, self.layout = _metadata_apart(path)
        names = self.schema.names
        if not options.column:
            raise OptionError(
                f"{path}: no column is chosen for the text. Use `column` with one of these columns:"
                f" {', '.join(names)[:200]}."
            )
        self.indices = list(dict.fromkeys(map(self._index, options.column)))
        self.others = [self._index(selected.column[0]) for selected in options.other_texts()]
        self.by_document = options.document is not None
        document_key = options.document_key()
        self.document = self._index(document_key.column[0]) if document_key else None
        self.settings: dict[str, Any] = options.settings() | {"column": list(options.column)}
        for index in (*self.indices, *self.others):
            column_type = self.schema.types[index]
            value_type = column_type.value_type if pa.types.is_dictionary(column_type) else column_type
            if not (pa.types.is_string(value_type) or pa.types.is_large_string(value_type)):
                raise CorpusError(
                    f"{path}: the column {self.schema.names[index]!r} has the type {column_type}. Select a column of"
                    " strings."
                )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except WorkerDiedError as error:
            raise CorpusError(
                f"{self.path}: not a readable Parquet file: it crashes pyarrow. Download it again."
            ) from error
        except MemoryError:  # Arrow's is also an ArrowException
            raise
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{self.path}: the name of a column is not UTF-8: {error.object!r}. Write the file again with another."
            ) from error
        except (pa.ArrowException, OSError) as error:
            reason = str(getattr(error, "strerror", None) or error).split("\n")[0].rstrip(".")
            raise CorpusError(f"{self.path}: not a readable Parquet file: {reason}. Download it again.") from error

    def _index(self, column: str) -> int:
        names = self.schema.names
        if column.isdecimal() and 1 <= int(column) <= len(names):
            return int(column) - 1
        if names.count(column) != 1:
            raise CorpusError(f"{self.path}: {no_single_column(names, column)}")
        return int(names.index(column))

    def texts(self, on_read: OnRead) -> Iterator[str]:
        """Yield the texts as `Reader`, with only a small part of a row group in memory."""
        names = self.schema.names
        chosen = list(dict.fromkeys(names[index] for index in self.indices))
        # Each name stands for all columns that have it.
        read = [index for name in chosen for index, other in enumerate(names) if other == name]
        row = n_read = 0
        with (
            self._failures(),
            open(self.path, "rb") as stream,
            pq.ParquetFile(self.path, buffer_size=BLOCK) as file,
        ):
            size, rows = os.fstat(stream.fileno()).st_size, max(1, file.metadata.num_rows)
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            bytes_of_row = sum(group.total_byte_size for group in groups) // rows + 1
            for batch in file.iter_batches(BLOCK // bytes_of_row + 1, columns=chosen, use_threads=False):
                columns = (batch.column(read.index(index)) for index in self.indices)
                for values in zip(*map(_rows, columns), strict=True):
                    row += 1
                    for value in values:
                        if value is not None:
                            yield self._decoded(value, row)
                # As in `pieces`.
                _read_on(stream, size * row // rows - n_read, on_read)
                n_read = stream.tell()
            _read_on(stream, size - n_read, on_read)

    def pieces(self, on_read: OnRead) -> Iterator[RowSlice]:
        row = 1
        with self._failures(), open(self.path, "rb") as stream, pq.ParquetFile(self.path) as file:
            size = os.fstat(stream.fileno()).st_size
            groups = file.num_row_groups
            for group in range(groups):
                table = file.read_row_group(group, use_threads=False)
                # The file's bytes are passed on in proportion to the row groups; they need not be the group's own.
                _read_on(stream, size * (group + 1) // groups - stream.tell(), on_read)
                begins = self._begins(table)
                for start, end in _bounds(max((table.column(i) for i in self.indices), key=_size), begins):

                    def part(index: int, table: pa.Table = table, start: int = start, end: int = end) -> pa.Array:
                        return _as_array(table.column(index).slice(start, end - start).combine_chunks())

                    others, last = tuple(map(part, self.others)), table if end == len(table) else None
                    its_begins = None if begins is None else begins.slice(start, end - start)
                    yield RowSlice(list(map(part, self.indices)), row, last, others, its_begins)
                    row += end - start
            _read_on(stream, size - stream.tell(), on_read)

    def _begins(self, table: pa.Table) -> pa.Array | None:
        """Return for each row of a row group whether a document begins with it; None if there are no documents."""
        if not self.by_document:
            return None
        if self.document is None or not len(table):
            return pa.repeat(True, len(table))
        keys = _plain(_as_array(table.column(self.document).combine_chunks()))
        differs = pc.fill_null(pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)), True)
        return pa.concat_arrays([pa.array([True]), differs])

    def recased(self, piece: RowSlice, recase: Recase) -> tuple[RecasedSlice, RecaseCounts]:
        columns = [_rows(values) for values in piece.columns]
        width, n_rows = len(columns), len(columns[0])
        values = [value for row in zip(*columns, strict=True) for value in row]  # row by row; None: no text
        malformed, other_texts = self._checked(values, width, piece)
        present = np.array([value is not None for value in values], bool)
        texts = [value for value in values if value is not None]
        before: list[bool] = []  # whether a document begins with a text, after a blank line
        if piece.begins is not None and texts:
            begins = np.asarray(piece.begins)
            documents = np.repeat(np.cumsum(begins), width)[present]
            before = [bool(begins[0]), *(np.diff(documents) > 0).tolist()]
        counts = RecaseCounts(records=n_rows, malformed=len(malformed), lines=-sum(before))

        def counted(text: bytes) -> memoryview:
            nonlocal counts
            recased, more = recase(text, *joined_texts(other_texts))
            counts += more.at(row_of)
            return recased

        def row_of(line: int) -> int:
            ends = np.cumsum([text.count(b"\n") + 1 for text in texts])  # the line after each text
            return int(piece.row - 1 + np.flatnonzero(present)[np.searchsorted(ends, line, "right")] // width)

        if before:
            texts = [b"\n" * is_blank + text for text, is_blank in zip(texts, before, strict=True)]
        recased = recase_rows(counted, texts)
        if before:
            recased = [text[is_blank:] for text, is_blank in zip(recased, before, strict=True)]
        following = iter(recased)
        values = [value if value is None else next(following) for value in values]
        for row in malformed:
            values[row * width : row * width + width] = [column[row] for column in columns]
        arrays = [_like(values[number::width], column.type) for number, column in enumerate(piece.columns)]
        keep = None
        if malformed and self.on_error == "drop":
            keep = pa.array(np.isin(np.arange(n_rows), malformed, invert=True))
        return RecasedSlice(arrays, keep, piece.row_group), counts

    def _checked(self, values: list[bytes | None], width: int, piece: RowSlice) -> tuple[list[int], list[OtherTexts]]:
        """Replace bytes that are not UTF-8 in the values of rows by U+FFFD, and those of malformed rows by None. Return
        the indices of malformed rows, and the other texts of each value."""
        malformed: list[int] = []
        found: list[OtherTexts] = []
        with suppress(UnicodeDecodeError):
            b"\n".join(filter(None, values)).decode()
            if not piece.others:  # nearly always
                return malformed, found
        others = list(zip(*map(_rows, piece.others), strict=True))
        for row in range(len(values) // width):
            part = slice(row * width, row * width + width)
            try:
                texts = [None if value is None else self._decoded(value, piece.row + row) for value in values[part]]
                found += [self._other_texts(text, others[row], piece.row + row) for text in texts
                          if others and text is not None]  # fmt: skip
            except MalformedError:
                malformed.append(row)
                texts = [None] * width
            values[part] = [None if text is None else text.encode() for text in texts]
        return malformed, found

    def _other_texts(self, text: str, others: tuple[bytes | None, ...], row: int) -> OtherTexts:
        """Return the other texts of a row; raise as `_malformed` if they do not fit its text."""
        decoded = [self._decoded(other or b"", row) for other in others]
        if why := mismatch(text, decoded):
            raise self._malformed(row, why, self.remedy)
        return tuple(other.encode() for other in decoded)

    def _decoded(self, value: bytes, row: int) -> str:
        """Return the text of a row; raise as `_malformed` if it is not UTF-8."""
        try:
            return value.decode(errors=self.errors)
        except UnicodeDecodeError as error:
            why = f"not UTF-8 at byte {error.start}"
            raise self._malformed(row, why, f"{self.remedy.removesuffix('.')}, or use `errors='replace'`.") from error

    def _malformed(self, row: int, why: str, remedy: str) -> Exception:
        """Return the exception for a malformed row: CorpusError if it fails the file, else MalformedError."""
        fails = self.on_error == "fail"
        return CorpusError(f"{self.path}, row {row}: {why}. {remedy}") if fails else MalformedError(why)

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[RecasedSlice], object]]:
        recased: list[RecasedSlice] = []
        with pq.ParquetWriter(file, self.schema, **self.layout) as writer:

            def write(piece: RecasedSlice) -> None:
                recased.append(piece)
                table = piece.row_group
                if table is None:
                    return
                for number, index in enumerate(self.indices):
                    field = self.schema.field(index)
                    parts = [each.columns[number] for each in recased]
                    table = table.set_column(index, field, pa.chunked_array(parts, field.type))
                if any(each.keep is not None for each in recased):
                    keeps = [_kept(each) for each in recased]
                    table = table.filter(pa.chunked_array(keeps, pa.bool_()))
                writer.write_table(table, row_group_size=max(1, len(table)))
                recased.clear()

            yield write


def _kept(piece: RecasedSlice) -> pa.Array:
    """Return whether each row is kept."""
    return piece.keep if piece.keep is not None else pa.repeat(True, len(piece.columns[0]))


def _size(column: pa.ChunkedArray) -> int:
    return int(column.nbytes)


def _as_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column as one array, which some versions of pyarrow return already."""
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _like(rows: list[bytes | None], type: pa.DataType) -> pa.Array:
    """Return a column with these texts, of a type that may have a dictionary."""
    if not pa.types.is_dictionary(type):
        return from_rows(rows, type)
    return from_rows(rows, type.value_type).dictionary_encode().cast(type)


def _rows(values: pa.Array) -> list[bytes | None]:
    rows: list[bytes | None] = as_binary(_plain(values)).to_pylist()
    return rows


def read_metadata(path: Path) -> tuple[pa.Schema, dict[str, Any]]:
    """Return the schema of a file, and the options with which ParquetWriter writes in its layout."""
    with pq.ParquetFile(path) as file:
        return file.schema_arrow, _layout(file.metadata)


_metadata_apart = Apart(read_metadata)


def _layout(metadata: Any) -> dict[str, Any]:
    """Return the options with which ParquetWriter writes in the layout of a file."""
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


def _read_on(stream: BinaryIO, size: int, on_read: OnRead) -> None:
    while size > 0 and (data := stream.read(min(size, BLOCK))):
        on_read(data)
        size -= len(data)


def _bounds(column: pa.ChunkedArray, begins: pa.Array | None) -> Iterator[tuple[int, int]]:
    """Yield start and end of slices of the column of about BLOCK bytes. begins: whether a document begins with a row;
    slices contain whole documents, unless these are longer."""
    row = 0
    for chunk in column.chunks:
        rows = max(1, len(chunk) * BLOCK // max(chunk.nbytes, 1))
        start, last = row, row + len(chunk)
        while start < last:
            end = min(start + rows, last)
            if begins is not None:
                after = pc.index(begins.slice(end, rows), True).as_py()
                end = min(end + max(after, 0), last)
            yield start, end
            start = end
        row = last
