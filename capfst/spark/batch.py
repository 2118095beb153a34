"""Run a batch on Spark: tasks recase files by the same code as threads on one machine; the driver keeps the manifest.

Input: files and an output folder that all executors see under the same paths. Output: the same files and records as on
one machine. A large uncompressed file of lines is recased in parts, one task each, and another task joins them. Each
file is its own Spark job, so its record is kept as soon as it is done, and a failure does not stop other files. Outputs
are written to temporary files, so another executor can redo the work of a lost one.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from operator import add
from pathlib import Path
from shutil import copyfileobj
from threading import Event, Semaphore
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from capfst.batch.manifest import Stamp, sha256
from capfst.batch.report import DONE, FAILED, FileReport
from capfst.batch.run import HashingFile, LocalRunner, made_entry
from capfst.batch.tally import counting
from capfst.exceptions import CapfstError
from capfst.io.formats import format_of
from capfst.io.lines import LineFormat
from capfst.io.outputs import PlannedFile, make_folder
from capfst.io.protocol import BatchOptions, RecaseCounts
from capfst.io.text_blocks import Split, read_raw, splits
from capfst.io.text_file import BLOCK
from capfst.recaser import Recaser
from capfst.spark.session import Sent, reason, send
from capfst.system.atomic import replacing

PART = 16 << 20  # bytes of an uncompressed file per task


class _Shared(NamedTuple):  # by the tasks of a run
    sent: Sent
    out: Path
    options: BatchOptions
    casing: dict[str, Any]


class SparkRunner:
    """The `Runner` of a batch on Spark: each thread of the driver waits for Spark to recase a file."""

    def __init__(self, run: LocalRunner, session: SparkSession, recaser: Recaser) -> None:
        self.advance = run.advance
        self.spark_context = session.sparkContext
        self.jobs = self.spark_context.defaultParallelism
        self.shared = _Shared(send(session, recaser), Path(os.path.abspath(run.out)), run.options, run.casing)

    def recase_file(self, item: PlannedFile) -> FileReport:
        """Recase a file, and return the report of `LocalRunner.recase_file`."""
        begin = time.monotonic()
        try:
            item = PlannedFile(Path(os.path.abspath(item.input)), Path(os.path.abspath(item.output)))
            report = self._in_parts(item) or self._map(_recase_file, [item])[0]
        except (CapfstError, OSError, Py4JError, PySparkException) as error:
            report = FileReport(item, FAILED, error=f"{item.input}: {reason(error)}")
        if report.entry:
            self.advance(report.entry.read.size)
        return replace(report, seconds=time.monotonic() - begin)

    def _in_parts(self, item: PlannedFile) -> FileReport | None:
        """Recase a file in parts; None if it must be recased as a whole."""
        try:
            file_format = format_of(item.input, self.shared.options)
            if not isinstance(file_format, LineFormat) or not file_format.splittable:
                return None
            parts = splits(item.input, PART)
        except Exception:  # recasing it as a whole reports why
            return None
        if len(parts) < 2:
            return None
        make_folder(item.output.parent)
        # The next run removes files of these names (`atomic.clear`) if this one is killed.
        part_files = [item.output.with_name(f".capfst-part-{secrets.token_hex(4)}.tmp") for _ in parts]
        try:
            before = Stamp.of(item.input, "")
            counts = self._map(partial(_recase_part, item.input), list(zip(parts, part_files, strict=True)))
            if None in counts:
                return None  # recasing the whole file fails with an error that has the line number
            total, before_part = RecaseCounts(), 0
            for of_part, n_lines in counts:
                total += of_part.at(partial(add, before_part))
                before_part += n_lines
            joined: FileReport | None = self._map(partial(_join, before, part_files, total), [item])[0]
            return joined
        finally:
            for part_file in part_files:
                part_file.unlink(missing_ok=True)

    def _map(self, function: Callable[..., Any], items: list[Any]) -> list[Any]:
        return self.spark_context.parallelize(items, len(items)).map(partial(function, shared=self.shared)).collect()


# The functions below run in tasks.


def _recase_file(item: PlannedFile, shared: _Shared) -> FileReport:
    """Recase a whole file, in one thread."""
    with ThreadPoolExecutor(1) as pool:
        how = shared.out, shared.options, shared.casing, counting(shared.sent.recaser())
        return LocalRunner(*how, pool, 1, Semaphore(2), Event(), lambda more: None).recase_file(item)


def _recase_part(file: Path, part: tuple[Split, Path], shared: _Shared) -> tuple[RecaseCounts, int] | None:
    """Recase a part of a file into a temporary file; return also its number of lines. None if it cannot be recased."""
    file_format = format_of(file, shared.options)
    assert isinstance(file_format, LineFormat)
    recase = counting(shared.sent.recaser())
    counts = RecaseCounts()
    n_lines = 0

    def blocks() -> Iterator[bytes]:
        nonlocal n_lines
        for block in read_raw(part[0]):
            n_lines += block.count(b"\n")
            yield block

    line = 1 if part[0].start == 0 else 2  # to formats it only matters whether it is the first
    try:
        if line > 1:
            next(iter(file_format.cut(read_raw(Split(file, 0, part[0].end)))))  # its header
        with replacing(part[1]) as out:
            for piece in file_format.cut(blocks(), line):
                recased, more = file_format.recased(piece, recase)
                out.write(recased)
                counts += more
    except Exception:
        return None
    return counts.at(lambda of_file: of_file - line + 1), n_lines


def _join(
    before: Stamp, part_files: list[Path], counts: RecaseCounts, item: PlannedFile, shared: _Shared
) -> FileReport | None:
    """Join the recased parts of a file to its output. None if the file has changed meanwhile."""
    if not before.is_of(item.input):
        return None
    made_by = shared.casing | format_of(item.input, shared.options).settings
    with replacing(item.output) as out:
        sink = HashingFile(out)
        for part_file in part_files:
            with open(part_file, "rb") as file:
                copyfileobj(file, sink, BLOCK)
    entry = made_entry(item, shared.out, made_by, before._replace(hash=sha256(item.input)), sink.hash(), counts)
    return FileReport(item, DONE, entry)
