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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import compress
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
from capfst.io.arrow import NotUtf8Error, recase_array
from capfst.io.compression import OnRead
from capfst.io.lines import BLOCK, MalformedError
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.tsv import no_single_column
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
            reason = str(getattr(error, "strerror", None) or error).split("\n")[0]
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
                for values in zip(*(_as_binary(_plain(column)).to_pylist() for column in columns), strict=True):
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
        columns = [_plain(values) for values in piece.columns]
        malformed = None
        try:
            if piece.others:
                raise NotUtf8Error("each row must be checked")
            recased, counts = _recase(columns, recase, begins=piece.begins)
        except NotUtf8Error:
            checked = [self._valid(values, piece.row, piece.others) for values in columns]
            malformed = reduce(pc.or_, (bad for _, bad, _ in checked))
            valid = [pc.if_else(malformed, None, values) for values, _, _ in checked]
            recased, counts = _recase(valid, recase, checked[0][2], piece.begins)
            pairs = zip(columns, recased, strict=True)
            recased = [pc.if_else(malformed, *map(_as_binary, pair)).view(pair[0].type) for pair in pairs]
        recased = [
            new.dictionary_encode().cast(old.type) if pa.types.is_dictionary(old.type) else new
            for old, new in zip(piece.columns, recased, strict=True)
        ]
        keep = pc.invert(malformed) if malformed is not None and self.on_error == "drop" else None
        counts = counts.at(lambda row: piece.row - 1 + row)
        counts += RecaseCounts(records=len(columns[0]), malformed=0 if malformed is None else malformed.true_count)
        return RecasedSlice(recased, keep, piece.row_group), counts

    def _valid(
        self, values: pa.Array, row: int, others: tuple[pa.Array, ...]
    ) -> tuple[pa.Array, pa.Array, list[OtherTexts]]:
        """Return the values as valid UTF-8, with U+FFFD for other bytes and null for malformed rows; whether each row
        is malformed; and the other texts of each row."""
        binary = _as_binary(values)
        rows = binary.to_pylist()
        malformed = [False] * len(rows)
        nothing: OtherTexts = (b"",) * len(others)
        texts = list(zip(*(_as_binary(_plain(array)).to_pylist() for array in others), strict=True))
        other_texts = [nothing] * len(rows) if others else []
        for i, value in enumerate(rows):
            try:
                rows[i] = None if value is None else self._decoded(value, row + i).encode()
                if others and value is not None:
                    other_texts[i] = self._other_texts(rows[i].decode(), texts[i], row + i)
            except MalformedError:
                rows[i], malformed[i] = None, True
        return pa.array(rows, binary.type).view(values.type), pa.array(malformed, pa.bool_()), other_texts

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


def _recase(
    columns: list[pa.Array], recase: Recase, others: Sequence[OtherTexts] = (), begins: pa.Array | None = None
) -> tuple[list[pa.Array], RecaseCounts]:
    """Recase columns of one length, row by row; nulls stay null.

    Args:
        others: the other texts of each row, if there is one column.
        begins: whether a document begins with a row; its first text then gets a blank line before it.
    """
    n_rows, width = len(columns[0]), len(columns)
    together = columns[0]
    if width > 1:
        wide = [column.cast(pa.large_string()) for column in columns]
        order = np.arange(n_rows * width).reshape(width, n_rows).T.reshape(-1)
        together = pa.concat_arrays(wide).take(pa.array(order))
    is_valid = np.asarray(together.is_valid())
    texts = together.drop_null()
    blanks = np.zeros(len(texts), bool)
    if begins is not None:
        documents = np.repeat(np.cumsum(np.asarray(begins)), width)[is_valid]
        blanks = np.diff(documents, prepend=-1) != 0
        if len(blanks) and not begins[0].as_py():
            blanks[0] = False
        before = pc.if_else(pa.array(blanks), pa.scalar("\n", texts.type), pa.scalar("", texts.type))
        texts = pc.binary_join_element_wise(before, texts, pa.scalar("", texts.type))
    counts = RecaseCounts()

    def counted(text: bytes) -> memoryview:
        nonlocal counts
        recased, counts = recase(text, *joined_texts(list(compress(others, is_valid))))
        return recased

    def row_of(line: int) -> int:
        ends = np.cumsum(np.asarray(pc.count_substring(texts, "\n")) + 1)  # the line after each text
        return int(np.flatnonzero(is_valid)[np.searchsorted(ends, line, "right")]) // width

    recased = recase_array(counted, texts)
    counts = counts.at(row_of)
    if begins is not None:
        recased = pc.if_else(pa.array(blanks), pc.utf8_slice_codeunits(recased, 1), recased)
        counts += RecaseCounts(lines=-int(blanks.sum()))
    if not is_valid.all():
        recased = recased.take(pa.array(np.cumsum(is_valid) - 1, mask=~is_valid))
    if width == 1:
        return [recased], counts
    split = (recased.take(pa.array(np.arange(k, n_rows * width, width))) for k in range(width))
    return [part.cast(column.type) for part, column in zip(split, columns, strict=True)], counts


def _size(column: pa.ChunkedArray) -> int:
    return int(column.nbytes)


def _as_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column as one array, which some versions of pyarrow return already."""
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _as_binary(values: pa.Array) -> pa.Array:
    return values.view(pa.large_binary() if pa.types.is_large_string(values.type) else pa.binary())


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
