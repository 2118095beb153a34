"""Run a batch: recase each unfinished file block by block, in threads. A file that fails does not stop the others.

In: a plan (`io/outputs.py`). Out: the outputs, each complete or absent, an entry for each in the manifest, and a
report. As many files are open at once as there are threads, and their blocks share the threads, so that both many small
files and a few large files keep all threads busy. The number of blocks in memory is bounded.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from threading import Event, Semaphore
from typing import Any, BinaryIO, NamedTuple, Protocol

from capfst.batch.manifest import Manifest, ManifestEntry, Stamp, sha256
from capfst.batch.report import DONE, FAILED, SKIPPED, BatchReport, Display, FileReport
from capfst.batch.tally import counting
from capfst.exceptions import CapfstError, CorpusError
from capfst.io.compression import OnRead
from capfst.io.files import failure_of
from capfst.io.formats import format_of
from capfst.io.outputs import Plan, PlannedFile, locked, make_folder
from capfst.io.protocol import BatchOptions, Format, Recase, RecaseCounts
from capfst.options import with_flags
from capfst.recaser import Recaser
from capfst.system.atomic import check_room, clear, replacing
from capfst.system.parallel import map_stream
from capfst.system.stopping import StoppedError

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # errors that the next file would also meet


class HashingFile:
    """A file that hashes the data written to it."""

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
    """Recases the files of a run. `recase_file` is called in `jobs` threads."""

    @property
    def jobs(self) -> int: ...

    def recase_file(self, file: PlannedFile, /) -> FileReport: ...


class LocalRunner(NamedTuple):
    """Recases the files of a run on this machine; has the state that all files share."""

    out: Path
    options: BatchOptions
    casing: dict[str, Any]  # model and options of the recaser, as recorded in the manifest
    recase: Recase
    pool: ThreadPoolExecutor  # recases blocks
    jobs: int  # number of threads in the pool, and of open files
    slots: Semaphore  # bounds the number of blocks that are read and not yet written
    stopped: Event
    advance: Callable[[int], None]

    def refreshed(self, entry: ManifestEntry | None, file: PlannedFile) -> ManifestEntry | None:
        """Return the entry of a file with its current stamps; None if recasing the file again could change its
        output."""
        try:
            if entry is None or entry.made_by != self.casing | format_of(file.input, self.options).settings:
                return None
        except Exception:  # recasing the file reports why
            return None
        read, written = entry.read.refreshed(file.input), entry.written.refreshed(file.output)
        if read is None or written is None:
            return None
        is_same = (read, written) == (entry.read, entry.written)
        return entry if is_same else replace(entry, input=str(file.input), read=read, written=written)

    def recase_file(self, file: PlannedFile) -> FileReport:
        """Recase one file. Failures are reported, except those that concern all files.

        Raises:
            CapfstError, OSError: the disk is full or read-only.
        """
        begin = time.monotonic()
        try:
            entry = self._recase(file)
        except Exception as error:  # of any kind: it does not stop the other files
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError) and cause.errno in _DISK_FULL:
                raise
            reason = with_flags(str(failure_of(file.input, error)))
            seconds = time.monotonic() - begin
            return FileReport(file, FAILED, None, seconds, reason)
        return FileReport(file, DONE, entry, time.monotonic() - begin)

    def _recase(self, file: PlannedFile) -> ManifestEntry:
        digest = hashlib.sha256()

        def on_read(data: bytes) -> None:
            if self.stopped.is_set():
                raise StoppedError
            digest.update(data)
            self.advance(len(data))

        before = Stamp.of(file.input, "")
        file_format = format_of(file.input, self.options)
        made_by = self.casing | file_format.settings
        make_folder(file.output.parent)
        with replacing(file.output) as output:
            sink = HashingFile(output)
            counts = self._stream(file_format, sink, on_read)
            if self.stopped.is_set():
                raise StoppedError
            if not before.is_of(file.input):
                raise CorpusError(f"{file.input}: changed while it was being read. Run again when it is complete.")
        return made_entry(file, self.out, made_by, before._replace(hash=digest.hexdigest()), sink.hash(), counts)

    def _stream(self, file_format: Format, sink: Any, on_read: OnRead) -> RecaseCounts:
        """Recase the file's pieces in the pool, while other pieces are read and written.

        If all slots are taken, write the first waiting piece to free its slot; without one, wait for other files.
        """
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


def made_entry(
    file: PlannedFile, out: Path, made_by: dict[str, Any], read: Stamp, output_hash: str, counts: RecaseCounts
) -> ManifestEntry:
    """Return the entry of a file whose output is complete."""
    written = Stamp.of(file.output, output_hash)
    return ManifestEntry(name_of(file, out), str(file.input), made_by, read, written, counts)


def name_of(file: PlannedFile, out: Path) -> str:
    """Return the name of a file's output in the manifest of the folder `out`."""
    return file.output.relative_to(out).as_posix()


def run_batch(
    plan: Plan,
    out: Path,
    recaser: Recaser,
    options: BatchOptions,
    *,
    jobs: int,
    strict: bool = False,
    force: bool = False,
    display: Display,
    runner: Callable[[LocalRunner], Runner] | None = None,
) -> BatchReport:
    """Recase the files of a plan into the folder `out`, in `jobs` threads, and return the report.

    strict: stop at the first file that fails. force: also recase files that are already done. runner: makes a runner
    that recases the files elsewhere, such as `spark.batch.SparkRunner`; None: this machine. The report includes files
    that failed; its `error` is set if a full disk or `strict` stopped the run.

    Raises:
        CapfstError: `out` cannot be used.
    """
    begin = time.monotonic()
    report = BatchReport(str(recaser.model.signature), left_out=plan.left_out)
    make_folder(out)
    with locked(out), closing(Manifest(out)) as manifest, ThreadPoolExecutor(jobs) as pool:
        for folder in {file.output.parent for file in plan.files} | {out}:
            clear(folder)
        local = LocalRunner(
            out, options, _casing(recaser), counting(recaser), pool, jobs, Semaphore(2 * jobs), Event(), display.advance
        )
        todo = []
        known = [None if force else manifest.entries.get(name_of(file, out)) for file in plan.files]
        entries = map_stream(lambda each: local.refreshed(*each), zip(known, plan.files, strict=True), jobs)
        for file, before, entry in zip(plan.files, known, entries, strict=True):
            if entry is None:
                todo.append(file)
            else:
                if entry != before:  # a file that was touched or copied: the next run need not read it
                    manifest.add(entry)
                report.files.append(FileReport(file, SKIPPED, entry))
        size = sum(_size(file.input) for file in todo)
        check_room(out, size - sum(_size(file.output) for file in todo))  # these are replaced
        display.begin(len(todo), size)

        def take(done: FileReport) -> None:
            if done.entry:
                manifest.add(done.entry)
            report.files.append(done)
            display.file(done)

        report.error = recase_all(local if runner is None else runner(local), local.stopped, todo, strict, take)
    report.seconds = time.monotonic() - begin
    return report


def _casing(recaser: Recaser) -> dict[str, Any]:
    """Return the model and options on which the outputs depend."""
    # Both engines give the same bytes.
    casing = {key: value for key, value in asdict(recaser.options).items() if key != "engine"}
    casing |= {"model": str(recaser.model.signature), "model_hash": sha256(Path(recaser.model.path))}
    casing["abbreviations"] = [sha256(Path(file)) for file in recaser.options.abbreviations]
    casing["context"] = recaser.pipeline.context is not None
    del casing["words"]
    if recaser.pipeline.user_words:
        casing["words"] = recaser.pipeline.user_words.digest
    return casing


def recase_all(
    runner: Runner, stopped: Event, todo: Iterable[PlannedFile], strict: bool, take: Callable[[FileReport], None]
) -> str | None:
    """Recase files, and pass their reports to `take` as they are done. Return why the run stopped early, or None.

    When this returns or raises, no file is being written.
    """
    todo, error = iter(todo), None
    pending: set[Future[FileReport]] = set()
    with ThreadPoolExecutor(runner.jobs) as files:
        try:
            while True:
                if not error:
                    pending |= {
                        files.submit(runner.recase_file, file) for file in islice(todo, runner.jobs - len(pending))
                    }
                if not pending:
                    return error
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    try:
                        report = future.result()
                        take(report)
                        if strict and report.status == FAILED:
                            error = error or "stopped at the first file that failed, because of --strict"
                    except StoppedError:
                        continue
                    except (CapfstError, OSError) as reason:
                        error = error or with_flags(str(reason))
                if error:
                    stopped.set()
        except BaseException:
            stopped.set()
            raise


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
