"""Buckets of records between two stages: in memory up to a limit, then in a temporary file.

In: records, which any thread puts into numbered buckets. Out: the buckets, each taken once, as one array; the order of
records from several threads is unspecified. The stages of the estimation read and write only buckets, so that a stage
needs no more memory than the buckets it works on, however large the corpus is.

A bucket is an address range of the bucket's maximal size, of which only the filled part takes memory; and a range of a
file of the same size, of which only the filled part takes space.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CapfstError
from capfst.kernels import allocating
from capfst.kernels.types import I64Array, U32Array, U32Matrix, U32StridedMatrix, i64
from capfst.system.sparse import sparse

_PIECE = 1 << 24  # bytes per read where reads are copied


@allocating
def sort_by_bucket(records: U32StridedMatrix, bucket: U32Array, number: i64) -> tuple[U32Matrix, I64Array]:
    """Sort the rows of a matrix stably by bucket[row] < number; also return int64[number + 1], each bucket's first
    row."""
    bounds = np.zeros(number + 1, np.int64)
    for row in range(len(records)):
        bounds[bucket[row] + 1] += 1
    for b in range(number):
        bounds[b + 1] += bounds[b]
    next_row = bounds.copy()
    sorted_records = np.empty_like(records)
    for row in range(len(records)):
        target = next_row[bucket[row]]
        next_row[bucket[row]] = target + 1
        for column in range(records.shape[1]):
            sorted_records[target, column] = records[row, column]
    return sorted_records, bounds


class Unnamed:
    """A file without a name: the system deletes it when it is closed, however the program ends."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._lock = threading.Lock()

    def __del__(self) -> None:
        os.close(self.descriptor)

    def write(self, data: memoryview, offset: int) -> int:
        """Write data at an offset; return the number of bytes written."""
        if hasattr(os, "pwrite"):
            return os.pwrite(self.descriptor, data, offset)
        with self._lock:  # on Windows all threads share one file position
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            return os.write(self.descriptor, data)

    def read(self, data: memoryview, offset: int) -> int:
        """Fill data from an offset; return the number of bytes read."""
        if hasattr(os, "preadv"):
            return os.preadv(self.descriptor, [data], offset)
        with self._lock:
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            piece = os.read(self.descriptor, min(len(data), _PIECE))
        data[: len(piece)] = piece
        return len(piece)


class Store:
    """Storage for the buckets of one estimation: `memory` bytes (None: no limit), then files in `folder`."""

    def __init__(self, memory: int | None, folder: str | os.PathLike[str] | None = None) -> None:
        import tempfile  # noqa: PLC0415  (it takes its time to load)

        self.memory = memory
        self.folder = os.fspath(folder or tempfile.gettempdir())
        self.held = 0  # bytes in memory now
        self.filed = 0  # bytes in open files now
        self._lock = threading.Lock()

    def hold(self, size: int) -> bool:
        """Reserve `size` bytes of memory; return whether they were available."""
        with self._lock:
            if self.memory is not None and self.held + size > self.memory:
                return False
            self.held += size
            return True

    def release(self, size: int) -> None:
        with self._lock:
            self.held -= size

    def file(self, size: int) -> None:
        """Count bytes that are written to a file, or, if negative, freed by closing one."""
        with self._lock:
            self.filed += size

    def open(self) -> Unnamed:
        import tempfile  # noqa: PLC0415  (it takes its time to load)

        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                return Unnamed(os.dup(file.fileno()))
        except OSError as error:
            raise self._failure("create a temporary file", error) from error

    def write(self, file: Unnamed, records: npt.NDArray, offset: int) -> None:
        data = _bytes(records)
        try:
            while data:
                done = file.write(data, offset)
                data, offset = data[done:], offset + done
        except OSError as error:
            raise self._failure("write temporary data", error) from error

    def read(self, file: Unnamed, records: npt.NDArray, offset: int) -> None:
        data = _bytes(records)
        try:
            while data:
                done = file.read(data, offset)
                if not done:
                    raise OSError(errno.EIO, "unexpected end of file")
                data, offset = data[done:], offset + done
        except OSError as error:
            raise self._failure("read temporary data", error) from error

    def _failure(self, action: str, error: OSError) -> CapfstError:
        advice = "Choose another folder with `tmp`."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            used = f"{self.filed >> 20} MiB are in use"
            advice = f"Free some space there ({used}), choose another folder with `tmp`, or raise `memory`."
        return CapfstError(f"{self.folder}: cannot {action}: {error.strerror}. {advice}")


def _bytes(records: npt.NDArray) -> memoryview:
    return records.reshape(-1).view(np.uint8).data


class Buckets:
    """Buckets of records: matrices of `width` columns, of at most capacity[b] rows."""

    def __init__(self, store: Store, capacity: npt.NDArray, dtype: Any, width: int) -> None:
        number = len(capacity)
        self.store = store
        self.dtype = np.dtype(dtype)
        self.width = width
        self.sizes = np.zeros(number, np.int64)
        self._capacity = capacity
        self._row = self.dtype.itemsize * width  # bytes
        self._in_memory = np.zeros(number, np.int64)  # rows; they precede those in the file
        self._memory: list[npt.NDArray | None] = [None] * number
        self._offsets = np.concatenate(([0], np.cumsum(capacity))) * self._row
        self._file: Unnamed | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.sizes)

    def _range(self, bucket: int) -> npt.NDArray:
        """Return the bucket's memory, allocated at the first call."""
        records = self._memory[bucket]
        if records is None:
            records = sparse(int(self._capacity[bucket]) * self.width, self.dtype).reshape(-1, self.width)
            self._memory[bucket] = records
        return records

    def put(self, bucket: int, records: npt.NDArray) -> None:
        """Add a copy of the records."""
        number = len(records)
        if not number:
            return
        held = self.store.hold(number * self._row)
        with self._lock:
            first = int(self.sizes[bucket])
            self.sizes[bucket] += number
            if held and first == self._in_memory[bucket]:
                self._in_memory[bucket] += number
                target = self._range(bucket)[first : first + number]
            else:
                if held:
                    self.store.release(number * self._row)
                if self._file is None:
                    self._file = self.store.open()
                target = None
        if target is not None:
            target[...] = records
        else:
            assert self._file is not None
            self.store.file(number * self._row)
            self.store.write(self._file, np.ascontiguousarray(records), int(self._offsets[bucket]) + first * self._row)

    def scatter(self, records: npt.NDArray, bounds: npt.NDArray) -> None:
        """Add records[bounds[b] : bounds[b + 1]] to bucket b, for all b."""
        for bucket in np.flatnonzero(np.diff(bounds)):
            self.put(int(bucket), records[bounds[bucket] : bounds[bucket + 1]])

    def take(self, bucket: int) -> npt.NDArray:
        """Remove and return the bucket's records."""
        size, in_memory = int(self.sizes[bucket]), int(self._in_memory[bucket])
        if not size:
            return np.empty((0, self.width), self.dtype)
        records = self._range(bucket)[:size]
        self._memory[bucket] = None
        self.store.release(in_memory * self._row)
        if in_memory < size:
            assert self._file is not None
            self.store.read(self._file, records[in_memory:], int(self._offsets[bucket]) + in_memory * self._row)
        return records

    def close(self) -> None:
        """Close the temporary file, which frees its space."""
        if self._file is not None:
            self._file = None
            self.store.file(-int((self.sizes - self._in_memory).sum()) * self._row)

    def __del__(self) -> None:
        self.close()
