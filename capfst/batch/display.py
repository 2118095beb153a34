"""Progress of a run, on stderr: one bar for all files on a terminal, else a line for each file; errors in any case."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack

from capfst.batch.report import DONE, FAILED, FileReport
from capfst.system.progress import Advance, clock, progress


class Display:
    """The `Listener` of a run (`run.py`) that prints."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.bar = not quiet and sys.stderr.isatty()
        self._stack = ExitStack()
        self._advance: Advance = lambda more: None
        self._files, self._size = 0, 0
        self._ended, self._read = 0, 0
        self._start = time.monotonic()

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def begin(self, files: int, size: int) -> None:
        self._files, self._size = files, size
        self._start = time.monotonic()
        if self.bar:
            self._advance = self._stack.enter_context(progress(size, "recasing"))

    def advance(self, more: int) -> None:
        self._read += more  # not locked: two threads at once may lose some, which only the display shows
        self._advance(more)

    def file(self, report: FileReport) -> None:
        self._ended += report.status in (DONE, FAILED)
        if report.status == FAILED:
            print(f"capfst: error: {report}", file=sys.stderr)
        elif report.status == DONE and not self.bar and not self.quiet:
            spent = time.monotonic() - self._start
            share = min(self._read / self._size, 1) if self._size else 1
            left = f", {clock(spent / share - spent)} left" if 0 < share < 1 else ""
            print(f"{report} (file {self._ended} of {self._files}, {share:.0%}{left})", file=sys.stderr)
