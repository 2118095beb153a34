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
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CorpusError, OptionError, missing_extra

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    raise missing_extra("Parquet files need pyarrow", "parquet") from error

from capfst.io.alignments import OtherTexts, joined_texts, mismatch
from capfst.io.compression import OnRead
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import misfit
from capfst.io.tables import no_single_column
from capfst.io.text_file import BLOCK, FormatError
from capfst.system.workers import Apart, WorkerDiedError
from capfst.text.markup import HTML, MARKDOWN
from capfst.text.unicode import is_utf8


class RowSlice(NamedTuple):
    """Successive rows of a row group."""

    columns: list[pa.Array]  # the values of the columns to recase
    row: int  # number of the first row in the file, from 1
    row_group: pa.Table | None  # the whole group in its last slice, else None
    others: list[pa.Array]  # of the columns of source and alignment
    begins: pa.Array | None  # whether a document begins with a row; None: there are no documents


class RecasedSlice(NamedTuple):
    columns: list[pa.Array]
    keep: npt.NDArray[np.bool_]  # whether a row is kept
    row_group: pa.Table | None  # as in RowSlice


class _Rows(NamedTuple):
    """The running text of rows: their values in order, each as lines of its own."""

    text: bytes
    is_text: npt.NDArray[np.bool_]  # whether a value is not null; of each row, the values of all columns
    begins: npt.NDArray[np.bool_]  # whether a text begins a document: it is after a blank line
    last_lines: npt.NDArray[np.int64]  # of the texts, in the running text

    @classmethod
    def of(cls, columns: list[pa.Array], begins: pa.Array | None) -> _Rows:
        """begins: as in RowSlice."""
        n, values = len(columns), pa.concat_arrays(columns)
        values = values.take(pa.array(np.arange(len(values)).reshape(n, -1).ravel("F")))
        documents = np.zeros(len(values)) if begins is None else np.repeat(np.cumsum(begins), n)
        is_text = values.is_valid().to_numpy(zero_copy_only=False)
        is_first = np.zeros(len(values), bool)
        is_first[is_text] = np.diff(documents[is_text], prepend=0) > 0
        before = pc.if_else(pa.array(is_first), _LINE_END, _NOTHING)
        lines = pc.binary_join_element_wise(before, values, _LINE_END, _NOTHING)
        ends = np.cumsum(pc.binary_length(lines).drop_null())
        text = lines.buffers()[2].to_pybytes()[: ends[-1]] if len(ends) else b""
        return cls(text, is_text, is_first[is_text], np.searchsorted(_line_ends(text), ends - 1))

    def recased(self, text: bytes | memoryview) -> pa.Array:
        """Return the values, given the text recased."""
        line_ends = _line_ends(text)
        if len(line_ends) != self.text.count(b"\n"):
            raise misfit(self.text.decode())
        ends = line_ends[self.last_lines]
        starts = np.append(0, ends + 1)[:-1] + self.begins
        offsets = np.zeros(len(self.is_text) + 1, np.int64)
        offsets[1:][self.is_text] = ends - starts
        data = np.delete(np.frombuffer(text, np.uint8), np.append(ends, starts[self.begins] - 1))
        buffers = pa.array(self.is_text).buffers()[1], pa.py_buffer(np.cumsum(offsets)), pa.py_buffer(data)
        return pa.Array.from_buffers(pa.large_binary(), len(self.is_text), buffers)


def _line_ends(text: bytes | memoryview) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))


_LINE_END, _NOTHING = (pa.scalar(value, pa.large_binary()) for value in (b"\n", b""))


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
                f" {', '.join(names)[:200]}, or a number from 1."
            )
        self.indices = list(dict.fromkeys(map(self._index, options.column)))
        self.others = [self._index(name) for name in (options.source, options.align) if name is not None]
        self.by_document = options.document is not None
        self.document = self._index(options.document) if options.document else None
        self.settings: dict[str, Any] = options.settings() | {"column": list(options.column)}
        for index in (*self.indices, *self.others):
            column_type = self.schema.types[index]
            value_type = column_type.value_type if pa.types.is_dictionary(column_type) else column_type
            if value_type not in (pa.string(), pa.large_string(), pa.string_view(), pa.null()):
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
            bytes_of_row = max(0, sum(group.total_byte_size for group in groups)) // rows + 1  # damaged: below 0
            for batch in file.iter_batches(BLOCK // bytes_of_row + 1, columns=chosen, use_threads=False):
                columns = (batch.column(read.index(index)) for index in self.indices)
                for values in zip(*(_values(column).to_pylist() for column in columns), strict=True):
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
                for start, end in _bounds(max(map(table.column, self.indices), key=attrgetter("nbytes")), begins):
                    rows, last = table.slice(start, end - start), table if end == len(table) else None
                    columns, others = ([_column(rows, i) for i in given] for given in (self.indices, self.others))
                    yield RowSlice(columns, row, last, others, begins and begins.slice(start, end - start))
                    row += end - start
            _read_on(stream, size - stream.tell(), on_read)

    def _begins(self, table: pa.Table) -> pa.Array | None:  # as in RowSlice
        if not self.by_document:
            return None
        if self.document is None or not len(table):
            return pa.repeat(True, len(table))
        keys = _plain(_column(table, self.document))
        differs = pc.fill_null(pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)), True)
        return pa.concat_arrays([pa.array([True]), differs])

    def recased(self, piece: RowSlice, recase: Recase) -> tuple[RecasedSlice, RecaseCounts]:
        columns = list(map(_values, piece.columns))
        rows, is_good = _Rows.of(columns, piece.begins), np.ones(len(columns[0]), bool)
        other_texts: list[OtherTexts] = []
        if piece.others or not is_utf8(np.frombuffer(rows.text, np.uint8)):
            checked, other_texts, is_good = self._checked(piece)
            rows = _Rows.of(checked, piece.begins)
        recased, counts = recase(rows.text, *joined_texts(other_texts))
        n, values, arrays = len(columns), rows.recased(recased), []
        for k, column in enumerate(columns):
            changed = values.take(pa.array(np.arange(k, len(values), n)))
            arrays.append(_like(pc.coalesce(changed, column), piece.columns[k].type))  # malformed rows stay
        row_of = np.flatnonzero(rows.is_text) // n  # of each text
        counts = counts.at(lambda line: piece.row - 1 + int(row_of[np.searchsorted(rows.last_lines, line)]))
        n_bad, n_blank = np.count_nonzero(~is_good), np.count_nonzero(rows.begins)
        counts += RecaseCounts(records=len(is_good), malformed=int(n_bad), lines=-int(n_blank))
        return RecasedSlice(arrays, is_good | (self.on_error == "pass"), piece.row_group), counts

    def _checked(self, piece: RowSlice) -> tuple[list[pa.Array], list[OtherTexts], npt.NDArray[np.bool_]]:
        """Return the texts of each column, as UTF-8, which are null in malformed rows; the other texts of those that
        are not null; and whether a row is not malformed."""
        columns, others = ([_values(each).to_pylist() for each in given] for given in (piece.columns, piece.others))
        is_good = np.ones(len(columns[0]), bool)
        other_texts: list[OtherTexts] = []
        for row, values in enumerate(zip(*columns, strict=True)):
            number = piece.row + row
            try:
                texts = [None if value is None else self._decoded(value, number) for value in values]
                if others:
                    found = [column[row] for column in others]
                    other_texts += [self._other_texts(text, found, number) for text in texts if text is not None]
            except FormatError:
                is_good[row], texts = False, [None] * len(values)
            for column, text in zip(columns, texts, strict=True):
                column[row] = None if text is None else text.encode()
        return [pa.array(column, pa.large_binary()) for column in columns], other_texts, is_good

    def _other_texts(self, text: str, others: list[bytes | None], row: int) -> OtherTexts:
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
        """Return the exception for a malformed row: CorpusError if it fails the file, else FormatError."""
        fails = self.on_error == "fail"
        return CorpusError(f"{self.path}, row {row}: {why}. {remedy}") if fails else FormatError(why)

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
                keep = np.concatenate([each.keep for each in recased])
                if not keep.all():
                    table = table.filter(pa.array(keep))
                writer.write_table(table, row_group_size=max(1, len(table)))
                recased.clear()

            yield write


def _column(table: pa.Table, index: int) -> pa.Array:
    """Return a column as one array, which some versions of pyarrow return already."""
    column = table.column(index).combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _values(column: pa.Array) -> pa.Array:
    """Return the texts of a column, which may not be UTF-8."""
    return _plain(column).cast(pa.large_binary())


def _like(values: pa.Array, type: pa.DataType) -> pa.Array:
    """Return a column with these texts, of a type that may have a dictionary."""
    if type == pa.null():
        return pa.nulls(len(values))
    if pa.types.is_dictionary(type):
        return _like(values, type.value_type).dictionary_encode().cast(type)
    return values.view(type) if type == pa.large_string() else values.cast(pa.binary()).view(pa.string()).cast(type)


def read_metadata(path: Path) -> tuple[pa.Schema, dict[str, Any]]:
    """Return the schema of a file, and the options with which ParquetWriter writes in its layout."""
    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
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
        layout["write_page_index"] = any(chunk.has_column_index for chunk in chunks)
        layout["use_deprecated_int96_timestamps"] = any(chunk.physical_type == "INT96" for chunk in chunks)
    return schema, layout


_metadata_apart = Apart(read_metadata)


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
