"""Records on their way from one stage to the next, in memory while there is room, else in a temporary file.

In: pieces of records, each put into a numbered bucket, by any thread, with the turn it belongs to. Out: the
buckets, each taken once, its pieces by turn. The stages of the estimation read and write nothing but
buckets, so none needs more memory than the buckets being worked on, however large the corpus is.
"""

import contextlib
import errno
import mmap
import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.errors import CapfstError

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def in_order(
    function: Callable[[_In], _Out], items: Iterable[_In], pool: ThreadPoolExecutor, ahead: int
) -> Iterator[_Out]:
    """function(item) for each item, worked on in the pool's threads, handed out in the items' order."""
    waiting: deque[Future[_Out]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def exhaust(results: Iterable[None]) -> None:
    deque(results, maxlen=0)


class Piece(NamedTuple):
    """Records in memory, or a number of them at `offset` of the temporary file."""

    turn: int
    records: npt.NDArray | None
    offset: int
    number: int


class Store:
    """What the buckets of one estimation share: `memory` bytes, then an unlinked file in `folder`.

    With memory=None nothing is ever spilled.
    """

    def __init__(self, memory: int | None, folder: str | os.PathLike[str] | None = None) -> None:
        self.memory = memory
        self.folder = folder
        self.held = 0
        self.spilled = 0
        self._lock = threading.Lock()

    def hold(self, size: int) -> bool:
        """Whether there is room for `size` more bytes, which are then counted as used."""
        with self._lock:
            if self.memory is not None and self.held + size > self.memory:
                return False
            self.held += size
            return True

    def release(self, size: int) -> None:
        with self._lock:
            self.held -= size

    def open(self) -> int:
        """A file that no name leads to: it is gone when it is closed, however the program ends."""
        folder = self.folder or tempfile.gettempdir()
        try:
            descriptor, name = tempfile.mkstemp(prefix="capfst-", dir=folder)
            os.unlink(name)
        except OSError as error:
            raise CapfstError(
                f"cannot make a temporary file in {folder}: {error.strerror}: choose another folder (--tmp)"
            ) from error
        return descriptor

    def write(self, descriptor: int, data: npt.NDArray, offset: int) -> None:
        view = data.reshape(-1).view(np.uint8).data
        try:
            while view:
                done = os.pwrite(descriptor, view, offset)
                view, offset = view[done:], offset + done
        except OSError as error:
            folder = Path(self.folder or tempfile.gettempdir())
            advice = "choose another folder (--tmp) or give more --memory"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                advice = f"free some space there (about {self.spilled >> 20} MB were in use), " + advice
            raise CapfstError(f"cannot write temporary data in {folder}: {error.strerror}: {advice}") from error


_MAPPING = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)


@nb.njit(cache=True, nogil=True)
def route(records: npt.NDArray, bucket: npt.NDArray, number: int) -> tuple[npt.NDArray, npt.NDArray]:
    """The rows of the matrix sorted stably by bucket[row] < number, and the bounds of each bucket's rows."""
    bounds = np.zeros(number + 1, np.int64)
    for row in range(len(records)):
        bounds[bucket[row] + 1] += 1
    for b in range(number):
        bounds[b + 1] += bounds[b]
    place = bounds.copy()
    routed = np.empty_like(records)
    for row in range(len(records)):
        at = place[bucket[row]]
        place[bucket[row]] = at + 1
        for column in range(records.shape[1]):
            routed[at, column] = records[row, column]
    return routed, bounds


def _copy(records: npt.NDArray) -> npt.NDArray:
    """A copy whose memory goes back to the system as soon as it is dropped: large ones are mapped singly."""
    if records.nbytes < 1 << 15:
        return records.copy()
    memory = np.frombuffer(mmap.mmap(-1, records.nbytes, flags=_MAPPING), records.dtype)
    copied = memory.reshape(records.shape)
    copied[...] = records
    return copied


class Buckets:
    """`number` buckets of records of one dtype (and, for matrices, one width)."""

    def __init__(self, store: Store, number: int, dtype: Any, width: int = 0) -> None:
        self.store = store
        self.dtype = np.dtype(dtype)
        self.width = width
        self.sizes = np.zeros(number, np.int64)
        self._pieces: list[list[Piece]] = [[] for _ in range(number)]
        self._descriptor = -1
        self._end = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.sizes)

    def _shape(self, count: int) -> tuple[int, ...]:
        return (count, self.width) if self.width else (count,)

    def put(self, bucket: int, records: npt.NDArray, turn: int) -> None:
        """Adds a copy of the records."""
        if not len(records):
            return
        records = np.ascontiguousarray(records)
        held = self.store.hold(records.nbytes)
        piece = Piece(turn, _copy(records) if held else None, 0, len(records))
        with self._lock:
            self.sizes[bucket] += len(records)
            if not held:
                if self._descriptor < 0:
                    self._descriptor = self.store.open()
                piece = piece._replace(offset=self._end)
                self._end += records.nbytes
                self.store.spilled += records.nbytes
            self._pieces[bucket].append(piece)
        if not held:
            self.store.write(self._descriptor, records, piece.offset)

    def scatter(self, records: npt.NDArray, bounds: npt.NDArray, turn: int) -> None:
        """Adds records[bounds[b] : bounds[b + 1]] to bucket b, for all b."""
        for bucket in np.flatnonzero(np.diff(bounds)):
            self.put(int(bucket), records[bounds[bucket] : bounds[bucket + 1]], turn)

    def take(self, bucket: int) -> npt.NDArray:
        """The bucket's records, which it then no longer holds."""
        pieces = sorted(self._pieces[bucket], key=lambda piece: piece.turn)
        self._pieces[bucket] = []
        if len(pieces) == 1 and pieces[0].records is not None:
            self.store.release(pieces[0].records.nbytes)
            return pieces[0].records
        records = np.empty(self._shape(sum(piece.number for piece in pieces)), self.dtype)
        at = 0
        pieces.reverse()
        while pieces:
            piece = pieces.pop()  # whose memory goes back at once
            part = records[at : at + piece.number]
            if piece.records is not None:
                part[...] = piece.records
                self.store.release(piece.records.nbytes)
            else:
                self._read(part, piece.offset)
            at += piece.number
        return records

    def _read(self, records: npt.NDArray, offset: int) -> None:
        view = records.reshape(-1).view(np.uint8).data
        while view:
            done = os.preadv(self._descriptor, [view], offset)
            if not done:
                raise CapfstError("temporary data ended early: the disk or another program damaged it")
            view, offset = view[done:], offset + done

    def close(self) -> None:
        """Gives the temporary file's space back."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def __del__(self) -> None:
        self.close()
