"""A run: the files that are not done yet, each recased block by block, in threads; what goes wrong with one file does
not stop the others.

In: what to do (`inputs.py`). Out: the outputs, each complete or not there, a record of each in the manifest, and a
report. As many files as threads are open at once. Their blocks share the threads: so many small files and few large
ones keep all of them busy, and the blocks in memory do not get more.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice, repeat
from pathlib import Path
from threading import Event, Semaphore
from typing import Any, BinaryIO, NamedTuple, Protocol

from capfst.batch.folder import clear, locked, make_folder
from capfst.batch.formats import format_of
from capfst.batch.inputs import Item, Plan
from capfst.batch.manifest import Manifest, Record, Stamp, sha256
from capfst.batch.protocol import Format, Options, Recase
from capfst.batch.report import DONE, FAILED, SKIPPED, Counts, FileReport, Report
from capfst.batch.tally import counting
from capfst.context.model import path_of
from capfst.errors import CapfstError
from capfst.recaser import Recaser
from capfst.system.atomic import replacing
from capfst.system.parallel import in_order

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # the next file would fare no better


class Listener(Protocol):
    """Is told how a run goes on. `advance` is called by several threads."""

    def begin(self, files: int, size: int) -> None:
        """So many files, of so many bytes, are to be done."""

    def advance(self, more: int) -> None:
        """So many more bytes are read."""

    def file(self, report: FileReport) -> None: ...


class _Stopped(BaseException):
    """The run has been stopped from outside of this file."""


class _Sink:
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
    """Who recases the files of a run: each call of `file` is in a thread of its own, `jobs` of them at once."""

    @property
    def stopped(self) -> Event: ...

    @property
    def jobs(self) -> int: ...

    def file(self, item: Item) -> FileReport: ...


class Run(NamedTuple):
    """What all files of a run share."""

    out: Path
    options: Options
    casing: dict[str, Any]  # model and options of the recaser, for the manifest
    recase: Recase
    manifest: Manifest
    pool: ThreadPoolExecutor  # recases blocks
    jobs: int  # threads of the pool, and files that are open at once
    slots: Semaphore  # for blocks that are read and not yet written
    stopped: Event
    advance: Callable[[int], None]

    def done_before(self, item: Item) -> Record | None:
        """The record of a file whose output is there and would be the same again."""
        record = self.manifest.records.get(self._name(item))
        if record is None:
            return None
        try:
            made_by = self.casing | format_of(item.input, self.options).settings
        except CapfstError:
            return None
        if record.made_by != made_by:
            return None
        read, written = record.read.again(item.input), record.written.again(item.output)
        if read is None or written is None:
            return None
        if (read, written) != (record.read, record.written):  # touched or copied: it need not be read again next time
            record = Record(record.output, str(item.input), made_by, read, written, record.counts)
            self.manifest.add(record)
        return record

    def file(self, item: Item) -> FileReport:
        """Recases one file. Raises only what concerns all files: that the disk is full."""
        begin = time.monotonic()
        try:
            counts = self._recase(item)
        except (CapfstError, MemoryError, OSError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError) and cause.errno in _FULL:
                raise
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"{item.input}: {error.strerror}: check that it is there, and that you may read it"
            elif isinstance(error, MemoryError):
                reason = f"{item.input}: out of memory: its lines are too long, or give it more (--jobs 1)"
            return FileReport(str(item.input), str(item.output), FAILED, Counts(), time.monotonic() - begin, reason)
        return FileReport(str(item.input), str(item.output), DONE, counts, time.monotonic() - begin)

    def _recase(self, item: Item) -> Counts:
        digest = hashlib.sha256()

        def seen(data: bytes) -> None:
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
            sink = _Sink(file)
            counts = self._stream(file_format, sink, seen)
            if self.stopped.is_set():
                raise _Stopped
        read = before._replace(hash=digest.hexdigest())
        written = Stamp.of(item.output, sink.hash())
        self.manifest.add(Record(self._name(item), str(item.input), made_by, read, written, counts))
        return counts

    def _stream(self, file_format: Format, sink: Any, seen: Callable[[bytes], None]) -> Counts:
        """Blocks are recased while others are read and written; the file reads on if there is room for a block, which
        it makes by writing its own."""
        counts = Counts()
        waiting: deque[Future[tuple[Any, Counts]]] = deque()
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
                for piece in file_format.pieces(seen):
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
    options: Options,
    *,
    jobs: int,
    strict: bool = False,
    force: bool = False,
    listener: Listener,
    runner: Callable[[Run], Runner] | None = None,
) -> Report:
    """Recases the files of a plan into the folder `out`, with `jobs` threads.

    strict: the first file that fails stops the run. force: does again what is done. runner: makes of what the files
    share who recases them elsewhere (`spark.batch.SparkRunner`); None: this machine.

    The report tells of files that failed; its `error`, of what stopped the run: the disk is full, or `strict`.

    Raises:
        CapfstError: `out` cannot be used.
    """
    begin = time.monotonic()
    report = Report(str(recaser.model.signature), left_out=plan.left_out)
    make_folder(out)
    with locked(out), closing(Manifest(out)) as manifest, ThreadPoolExecutor(jobs) as pool:
        clear({item.output.parent for item in plan.items} | {out})
        casing = {key: value for key, value in recaser.options.items() if key != "engine"}  # all give the same bytes
        casing |= {"model": report.model, "model_hash": sha256(Path(recaser.model.path))}
        casing["context"] = None if recaser.context is None else sha256(path_of(recaser.model.path))
        shared = Run(
            out, options, casing, counting(recaser), manifest, pool, jobs, Semaphore(2 * jobs), Event(),
            listener.advance,
        )  # fmt: skip
        todo = []
        known = repeat(None) if force else in_order(shared.done_before, plan.items, jobs)
        for item, record in zip(plan.items, known):  # noqa: B905
            if record is None:
                todo.append(item)
            else:
                report.files.append(FileReport(str(item.input), str(item.output), SKIPPED, record.counts))
        listener.begin(len(todo), sum(_size(item.input) for item in todo))
        try:
            with closing(_each(shared if runner is None else runner(shared), todo)) as files:
                for file in files:
                    report.files.append(file)
                    listener.file(file)
                    if strict and file.status == FAILED:
                        raise CapfstError("stopped at the first file that failed, as --strict says")
        except (CapfstError, OSError) as error:
            report.error = str(error)
    report.seconds = time.monotonic() - begin
    return report


def _each(runner: Runner, todo: Iterable[Item]) -> Generator[FileReport, None, None]:
    """The files' reports as they are done; nothing is being written any more when this ends, however it does."""
    todo = iter(todo)
    with ThreadPoolExecutor(runner.jobs) as files:
        pending = {files.submit(runner.file, item) for item in islice(todo, runner.jobs)}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                pending |= {files.submit(runner.file, item) for item in islice(todo, len(done))}
        except BaseException:
            runner.stopped.set()
            raise


def _refuse_special(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise CapfstError(f"{path}: it is no regular file, and could not be read again: copy it into one")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
