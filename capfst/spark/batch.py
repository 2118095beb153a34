"""A run's files on Spark: a task recases a file as a thread does on one machine, by the same code; the driver keeps the
manifest.

In: files that all executors see under the same paths, and the folder for the outputs, which they see too. Out: the same
outputs and records. A large plain file is recased in parts, a task each, which another task joins. A file is a job of
its own, so that its record is kept as soon as it is done, and one that fails stops no other. The outputs are written
aside: what an executor that is lost has begun is done again by another.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Semaphore
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from capfst.batch.folder import make_folder
from capfst.batch.formats import format_of
from capfst.batch.inputs import Item
from capfst.batch.lines import BLOCK, Piece, Text
from capfst.batch.manifest import Manifest, Record, Stamp, sha256
from capfst.batch.protocol import Options
from capfst.batch.report import DONE, FAILED, Counts, FileReport
from capfst.batch.run import Run
from capfst.batch.tally import counting
from capfst.corpus.splits import Part, read_raw, splits
from capfst.errors import CapfstError
from capfst.recaser import Recaser
from capfst.spark.model import Sent, send
from capfst.spark.session import reason
from capfst.system.atomic import replacing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART = 16 << 20  # bytes of a plain file for a task


class _Job(NamedTuple):
    """What the tasks of a run share."""

    sent: Sent
    out: Path
    options: Options
    casing: dict[str, Any]


class SparkRunner:
    """As `Run`, for the threads of the driver, each of which waits for Spark to recase its file."""

    def __init__(self, run: Run, session: SparkSession, recaser: Recaser) -> None:
        self.run = run
        self.stopped = run.stopped
        self.context = session.sparkContext
        self.jobs = self.context.defaultParallelism
        self.job = _Job(send(session, recaser), Path(os.path.abspath(run.out)), run.options, run.casing)

    def file(self, item: Item) -> FileReport:
        """As Run.file."""
        begin = time.monotonic()
        record = None
        try:
            item = Item(Path(os.path.abspath(item.input)), Path(os.path.abspath(item.output)))
            report, record = self._in_parts(item) or self._map(_file, [item])[0]
        except (CapfstError, OSError, Py4JError, PySparkException) as error:
            report = FileReport(str(item.input), str(item.output), FAILED, error=f"{item.input}: {reason(error)}")
        if record is not None:
            self.run.manifest.add(record)
            self.run.advance(record.read.size)
        return replace(report, seconds=time.monotonic() - begin)

    def _in_parts(self, item: Item) -> tuple[FileReport, Record] | None:
        """None: the file is to be done as a whole."""
        try:
            if not isinstance(format_of(item.input, self.job.options), Text):
                return None
            parts = splits([item.input], PART)
        except CapfstError:
            return None
        if len(parts) < 2:
            return None
        make_folder(item.output.parent)
        # Called as atomic.py calls its files, so that the next run removes them if this one is killed.
        asides = [item.output.with_name(f".capfst-{secrets.token_hex(4)}.tmp") for _ in parts]
        try:
            before = Stamp.of(item.input, "")
            counts = self._map(partial(_part, item.input), list(zip(parts, asides, strict=True)))
            if None in counts:
                return None  # as a whole, it says in which line it fails
            return self._map(partial(_join, before, asides, sum(counts, Counts())), [item])[0]
        finally:
            for aside in asides:
                aside.unlink(missing_ok=True)

    def _map(self, function: Callable[..., Any], items: list[Any]) -> list[Any]:
        return self.context.parallelize(items, len(items)).map(partial(function, job=self.job)).collect()


# What the tasks do:


def _file(item: Item, job: _Job) -> tuple[FileReport, Record | None]:
    """One file, in one thread."""
    records = _Records()
    with ThreadPoolExecutor(1) as pool:
        recase = counting(job.sent.recaser())
        run = Run(
            job.out, job.options, job.casing, recase, records, pool, 1, Semaphore(2), Event(), lambda more: None
        )  # fmt: skip
        report = run.file(item)
    return report, next(iter(records.records.values()), None)


class _Records(Manifest):
    """What is for the driver's manifest."""

    def __init__(self) -> None:
        self.records = {}

    def add(self, record: Record) -> None:
        self.records[record.output] = record


def _part(file: Path, part: tuple[Part, Path], job: _Job) -> Counts | None:
    """A part of a file, into a file aside. None if it cannot be recased."""
    file_format = format_of(file, job.options)
    assert isinstance(file_format, Text)
    recase = counting(job.sent.recaser())
    counts = Counts()
    try:
        file_format.begin(next(read_raw(Part(file, 0, part[0].end), BLOCK)))
        with replacing(part[1]) as out:
            for number, block in enumerate(read_raw(part[0], BLOCK)):
                line = 1 if number + part[0].start == 0 else 2  # what matters is whether it is the first
                recased, more = file_format.recased(Piece(block, line), recase)
                out.write(recased)
                counts += more
    except CapfstError:
        return None
    return counts


def _join(before: Stamp, asides: list[Path], counts: Counts, item: Item, job: _Job) -> tuple[FileReport, Record]:
    """The recased parts of a file → its output."""
    made_by = job.casing | format_of(item.input, job.options).settings
    digest = hashlib.sha256()
    with replacing(item.output) as out:
        for aside in asides:
            with open(aside, "rb") as file:
                while data := file.read(BLOCK):
                    digest.update(data)
                    out.write(data)
    read = before._replace(hash=sha256(item.input))
    written = Stamp.of(item.output, digest.hexdigest())
    record = Record(item.output.relative_to(job.out).as_posix(), str(item.input), made_by, read, written, counts)
    return FileReport(str(item.input), str(item.output), DONE, counts), record
