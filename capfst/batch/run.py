"""A run: the files that are not done yet, each recased block by block, in threads; a file that fails does not stop the
others.

In: a plan (`inputs.py`). Out: the outputs, each complete or absent, a record of each in the manifest, and a report. As
many files as there are threads are open at once, and their blocks share the threads: so both many small files and a few
large ones keep all threads busy, and the number of blocks in memory is bounded.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict
from itertools import islice, repeat
from pathlib import Path
from threading import Event, Semaphore
from typing import Any, BinaryIO, NamedTuple, Protocol

from capfst.batch.manifest import Manifest, Record, Stamp, sha256
from capfst.batch.report import DONE, FAILED, SKIPPED, BatchReport, FileReport
from capfst.batch.tally import counting
from capfst.exceptions import CapfstError
from capfst.io.compression import OnRead
from capfst.io.folder import clear, locked, make_folder
from capfst.io.formats import format_of
from capfst.io.inputs import Item, Plan
from capfst.io.protocol import BatchOptions, Format, Recase, RecaseCounts
from capfst.recaser import Recaser
from capfst.system.atomic import replacing
from capfst.system.parallel import map_stream

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # errors that the next file would meet, too


class Listener(Protocol):
    """Is told of a run's progress. `advance` is called by several threads."""

    def begin(self, files: int, size: int) -> None:
        """The run begins: number of files to do, and their bytes."""

    def advance(self, more: int) -> None:
        """More bytes of the files have been read."""

    def file(self, report: FileReport) -> None:
        """A file has been done, or has failed."""


class _Stopped(BaseException):
    """The run has been stopped while this file was being recased."""


class _HashingFile:
    """A file that hashes what is written to it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.flush, self.tell = file.flush, file.tell

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return self._file.write(data)

    def hash(self) -> str:
        return self._digest.hexdigest()

    def writable(self) -> bool:
        return True


class Runner(Protocol):
    """Recases the files of a run: `recase_file` is called in threads, `jobs` of them at once."""

    @property
    def stopped(self) -> Event: ...

    @property
    def jobs(self) -> int: ...

    def recase_file(self, item: Item) -> FileReport: ...


class Run(NamedTuple):
    """What all files of a run share; recases them on this machine."""

    out: Path
    options: BatchOptions
    casing: dict[str, Any]  # model and options of the recaser, as the manifest records them
    recase: Recase
    manifest: Manifest
    pool: ThreadPoolExecutor  # recases blocks
    jobs: int  # number of threads in the pool, and of files that are open at once
    slots: Semaphore  # bounds the blocks that are read and not yet written
    stopped: Event
    advance: Callable[[int], None]

    def done_before(self, item: Item) -> Record | None:
        """The record of a file whose output is there and would be the same if it were made again."""
        record = self.manifest.records.get(self._name(item))
        if record is None:
            return None
        try:
            made_by = self.casing | format_of(item.input, self.options).settings
        except CapfstError:
            return None
        if record.made_by != made_by:
            return None
        read, written = record.read.refreshed(item.input), record.written.refreshed(item.output)
        if read is None or written is None:
            return None
        # A file that was touched or copied gets a new stamp, so that the next run need not read it.
        if (read, written) != (record.read, record.written):
            record = Record(record.output, str(item.input), made_by, read, written, record.counts)
            self.manifest.add(record)
        return record

    def recase_file(self, item: Item) -> FileReport:
        """Recases one file. OSError only if that concerns all files: the disk is full."""
        begin = time.monotonic()
        try:
            counts = self._recase(item)
        except (CapfstError, MemoryError, OSError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError) and cause.errno in _DISK_FULL:
                raise
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"{item.input}: {error.strerror}: check that the file exists and that you may read it"
            elif isinstance(error, MemoryError):
                reason = f"{item.input}: out of memory: its lines are too long, or use fewer threads (--jobs 1)"
            seconds = time.monotonic() - begin
            return FileReport(str(item.input), str(item.output), FAILED, seconds=seconds, error=reason)
        return FileReport(str(item.input), str(item.output), DONE, counts, time.monotonic() - begin)

    def _recase(self, item: Item) -> RecaseCounts:
        digest = hashlib.sha256()

        def on_read(data: bytes) -> None:
            if self.stopped.is_set():
                raise _Stopped
            digest.update(data)
            self.advance(len(data))

        _refuse_special(item.input)
        before = Stamp.of(item.input, "")
        file_format = format_of(item.input, self.options)
        made_by = self.casing | file_format.settings
        make_folder(item.output.parent)
        with replacing(item.output) as file:
            sink = _HashingFile(file)
            counts = self._stream(file_format, sink, on_read)
            if self.stopped.is_set():
                raise _Stopped
            if not before.is_of(item.input):
                raise CapfstError(f"{item.input}: it changed while it was read: run this again when it is complete")
        read = before._replace(hash=digest.hexdigest())
        written = Stamp.of(item.output, sink.hash())
        self.manifest.add(Record(self._name(item), str(item.input), made_by, read, written, counts))
        return counts

    def _stream(self, file_format: Format, sink: Any, on_read: OnRead) -> RecaseCounts:
        """Recases the file's pieces in the pool, while others are read and written. If all slots are taken, it writes
        its first waiting piece to free one, and if it has none, it waits for those of other files."""
        counts = RecaseCounts()
        waiting: deque[Future[tuple[Any, RecaseCounts]]] = deque()
        with file_format.writing(sink) as write:

            def finish() -> None:
                nonlocal counts
                try:
                    recased, more = waiting[0].result()
                finally:
                    waiting.popleft()
                    self.slots.release()
                write(recased)
                counts += more

            try:
                for piece in file_format.pieces(on_read):
                    while not self.slots.acquire(blocking=not waiting):
                        finish()
                    waiting.append(self.pool.submit(file_format.recased, piece, self.recase))
                    while waiting and waiting[0].done():
                        finish()
                while waiting:
                    finish()
            finally:
                for future in waiting:
                    future.cancel()
                    self.slots.release()
        return counts

    def _name(self, item: Item) -> str:
        return item.output.relative_to(self.out).as_posix()


def run(
    plan: Plan,
    out: Path,
    recaser: Recaser,
    options: BatchOptions,
    *,
    jobs: int,
    strict: bool = False,
    force: bool = False,
    listener: Listener,
    runner: Callable[[Run], Runner] | None = None,
) -> BatchReport:
    """Recases the files of a plan into the folder `out`, with `jobs` threads.

    strict: stop at the first file that fails. force: recase files again that are already done. runner: makes the runner
    that recases the files elsewhere (`spark.batch.SparkRunner`); None: this machine does.

    Files that fail are in the report; its `error` says what stopped the run, if anything did: a full disk, or `strict`.

    Raises:
        CapfstError: `out` cannot be used.
    """
    begin = time.monotonic()
    report = BatchReport(str(recaser.model.signature), left_out=plan.left_out)
    make_folder(out)
    with locked(out), closing(Manifest(out)) as manifest, ThreadPoolExecutor(jobs) as pool:
        clear({item.output.parent for item in plan.items} | {out})
        casing = {key: value for key, value in asdict(recaser.options).items() if key != "engine"}  # same bytes
        casing |= {"model": report.model, "model_hash": sha256(Path(recaser.model.path))}
        casing["context"] = recaser.pipeline.context is not None
        shared = Run(
            out, options, casing, counting(recaser), manifest, pool, jobs, Semaphore(2 * jobs), Event(),
            listener.advance,
        )  # fmt: skip
        todo = []
        known = repeat(None) if force else map_stream(shared.done_before, plan.items, jobs)
        for item, record in zip(plan.items, known):  # noqa: B905
            if record is None:
                todo.append(item)
            else:
                report.files.append(FileReport(str(item.input), str(item.output), SKIPPED, record.counts))
        listener.begin(len(todo), sum(_size(item.input) for item in todo))

        def take(file: FileReport) -> None:
            report.files.append(file)
            listener.file(file)

        report.error = recase_all(shared if runner is None else runner(shared), todo, strict, take)
    report.seconds = time.monotonic() - begin
    return report


def recase_all(runner: Runner, todo: Iterable[Item], strict: bool, take: Callable[[FileReport], None]) -> str | None:
    """Gives `take` the files' reports as they are done; what stopped the run, if anything did. However this ends,
    nothing is being written any more then."""
    todo, error = iter(todo), None
    with ThreadPoolExecutor(runner.jobs) as files:
        pending = {files.submit(runner.recase_file, item) for item in islice(todo, runner.jobs)}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    try:
                        file = future.result()
                    except _Stopped:
                        continue
                    except (CapfstError, OSError) as reason:
                        error = error or str(reason)
                        continue
                    take(file)
                    if strict and file.status == FAILED:
                        error = error or "stopped at the first file that failed, as --strict says"
                if error:
                    runner.stopped.set()
                else:
                    pending |= {files.submit(runner.recase_file, item) for item in islice(todo, len(done))}
        except BaseException:
            runner.stopped.set()
            raise
    return error


def _refuse_special(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise CapfstError(f"{path}: no regular file, so that it cannot be read again later: copy it into one")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
