"""Report the outcome of a run and of each of its files; and, on stderr, the progress: on a terminal one bar for all
files, otherwise a line per file."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from capfst.batch.manifest import ManifestEntry
from capfst.exceptions import one_line, quantity
from capfst.io.outputs import PlannedFile
from capfst.io.protocol import RecaseCounts
from capfst.system.progress import Advance, clock, progress

DONE, SKIPPED, FAILED = "done", "skipped", "failed"


@dataclass(frozen=True)
class FileReport:
    """The outcome of a file."""

    file: PlannedFile
    status: str  # DONE, SKIPPED, FAILED
    entry: ManifestEntry | None = None  # in the manifest, unless it failed
    seconds: float = 0.0
    error: str | None = None

    @property
    def counts(self) -> RecaseCounts:
        return self.entry.counts if self.entry else RecaseCounts()

    def __str__(self) -> str:
        if self.status == FAILED:
            return one_line(str(self.error))
        what = self.counts if self.status == DONE else "done before"
        return one_line(f"{self.file.input}: {what}")

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        places = [stretch._asdict() | {"line": stretch.line + 1} for stretch in self.counts.places]
        return {
            "input": str(self.file.input),
            "output": str(self.file.output),
            "status": self.status,
            "error": self.error,
            "seconds": round(self.seconds, 3),
            **asdict(self.counts),
            "places": places,
        }


@dataclass
class BatchReport:
    """The outcome of a run. Counts cover the files that it recased or skipped."""

    model: str  # its signature
    files: list[FileReport] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # as the plan has them
    seconds: float = 0.0
    error: str | None = None  # why the run stopped early

    def number(self, status: str) -> int:
        """Return the number of files with a status."""
        return sum(file.status == status for file in self.files)

    @property
    def _done(self) -> RecaseCounts:
        return sum((file.counts for file in self.files if file.status == DONE), RecaseCounts())

    @property
    def _rate(self) -> int:
        return round(self._done.tokens / self.seconds) if self.seconds else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        total = asdict(sum((file.counts for file in self.files), RecaseCounts()))
        del total["places"]
        return {
            "model": self.model,
            "done": self.number(DONE),
            "skipped": self.number(SKIPPED),
            "failed": self.number(FAILED),
            "error": self.error,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": self._rate,
            **total,
            "files": [file.to_dict() for file in self.files],
            "left_out": self.left_out,
        }

    def __str__(self) -> str:
        done = self._done
        rate = f", {quantity(self._rate, 'token')}/s" if done.tokens else ""
        left_out = (
            f", {len(self.left_out):,} left out: not text, by their names or contents, or links to folders"
            if self.left_out
            else ""
        )
        return (
            f"files: {self.number(DONE):,} done, {self.number(SKIPPED):,} done before, {self.number(FAILED):,} failed"
            f"{left_out}\n{replace(done, places=())} in {self.seconds:.1f} s{rate}"
        )


class Display(ExitStack):
    """Shows the progress of a run. Several threads call `advance`."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__()
        self.quiet = quiet
        self.bar = not quiet and sys.stderr.isatty()
        self._advance: Advance = lambda more: None
        self._ended, self._read = 0, 0

    def begin(self, files: int, size: int) -> None:
        self._files, self._size = files, size
        self._start = time.monotonic()
        if self.bar:
            self._advance = self.enter_context(progress(size, "recasing"))

    def advance(self, more: int) -> None:
        self._read += more  # without a lock: concurrent updates may be lost, which affects only the display
        self._advance(more)

    def file(self, report: FileReport) -> None:
        self._ended += report.status in (DONE, FAILED)
        if report.status == FAILED:
            print(f"capfst: error: {report}", file=sys.stderr)
        elif report.status == DONE and not self.bar and not self.quiet:
            spent = time.monotonic() - self._start
            fraction = min(self._read / self._size, 1) if self._size else 1
            left = f", {clock(spent / fraction - spent)} left" if 0.01 <= fraction < 1 else ""
            print(f"{report} (file {self._ended} of {self._files}, {fraction:.0%}{left})", file=sys.stderr)
