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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CapfstError
from capfst.kernels import allocating
from capfst.kernels.types import I64Array, U32Array, U32Matrix, U32StridedMatrix, i64
from capfst.system.sparse import sparse


@allocating
def _sort_by_bucket(records: U32StridedMatrix, bucket: U32Array, number: i64) -> tuple[U32Matrix, I64Array]:
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


class Store:
    """Storage for the buckets of one estimation: `memory` bytes (None: no limit), then files in `folder`, which the
    system deletes when they are closed, however the program ends."""

    def __init__(self, memory: int | None, folder: str | os.PathLike[str] | None = None) -> None:
        import tempfile  # noqa: PLC0415  (it takes its time to load)

        self.memory = memory
        self.folder = os.fspath(folder or tempfile.gettempdir())
        self.held = 0  # bytes in memory now
        self._files: WeakSet[BinaryIO] = WeakSet()
        self._lock = threading.Lock()
        self._moving = threading.Lock()  # held while the position in a file is used

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

    @property
    def filed(self) -> int:
        """The bytes that open files take now."""
        with self._lock:
            return sum(512 * getattr(os.fstat(file.fileno()), "st_blocks", 0) for file in self._files)

    def open(self) -> BinaryIO:
        """Return a new file without a name."""
        import tempfile  # noqa: PLC0415  (it takes its time to load)

        with self._failures("create a temporary file"):
            file: Any = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115  (the caller closes it)
        with self._lock:
            self._files.add(file)
        return file

    def write(self, file: BinaryIO, records: npt.NDArray, offset: int) -> None:
        """Write records at an offset. Several threads may write and read."""
        data = _bytes(records)
        with self._failures("write temporary data"), self._moving:
            file.seek(offset)
            while data:
                data = data[file.write(data) :]

    def read(self, file: BinaryIO, records: npt.NDArray, offset: int) -> None:
        """Fill records from an offset."""
        data = _bytes(records)
        with self._failures("read temporary data"), self._moving:
            file.seek(offset)
            while data:
                size = file.readinto(data)  # type: ignore[attr-defined]
                if not size:
                    raise OSError(errno.EIO, "unexpected end of file")
                data = data[size:]

    @contextmanager
    def _failures(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            advice = "Choose another folder with `tmp`."
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                used = f"{self.filed >> 20} MiB are in use"
                advice = f"Free some space there ({used}), choose another folder with `tmp`, or raise `memory`."
            raise CapfstError(f"{self.folder}: cannot {action}: {error.strerror}. {advice}") from error


def _bytes(records: npt.NDArray) -> memoryview:
    return records.reshape(-1).view(np.uint8).data


class Buckets:
    """Buckets of records: matrices of `width` columns, of at most capacity[b] rows."""

    def __init__(self, store: Store, capacity: npt.NDArray, width: int, dtype: npt.DTypeLike = np.uint32) -> None:
        self.store, self.width, self.dtype = store, width, np.dtype(dtype)
        self.sizes = np.zeros(len(capacity), np.int64)
        self._capacity = capacity
        self._row = self.dtype.itemsize * width  # bytes
        self._in_memory = np.zeros(len(capacity), np.int64)  # rows; they precede those in the file
        self._memory: list[npt.NDArray | None] = [None] * len(capacity)
        self._offsets = np.concatenate(([0], np.cumsum(capacity))) * self._row
        self._file: BinaryIO | None = None
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
                self._file = self._file or self.store.open()
                target = None
        if target is not None:
            target[...] = records
        else:
            assert self._file is not None
            self.store.write(self._file, np.ascontiguousarray(records), int(self._offsets[bucket]) + first * self._row)

    def put_sorted(self, records: npt.NDArray, bounds: npt.NDArray) -> None:
        """Add records[bounds[b] : bounds[b + 1]] to bucket b, for all b."""
        for bucket in np.flatnonzero(np.diff(bounds)).tolist():
            self.put(bucket, records[bounds[bucket] : bounds[bucket + 1]])

    def scatter(self, records: npt.NDArray, bucket: npt.NDArray) -> None:
        """Add each of the records to its bucket, uint32[·]."""
        self.put_sorted(*_sort_by_bucket(records, bucket, len(self)))

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
        self._file = None
