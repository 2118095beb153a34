"""Show the progress of a run on stderr: on a terminal one bar for all files, otherwise a line per file. Also errors."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack

from capfst.batch.report import DONE, FAILED, FileReport
from capfst.system.progress import Advance, clock, progress


class Display:
    """Shows the progress of a run. Several threads call `advance`."""

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
        self._read += more  # without a lock: concurrent updates may be lost, which affects only the display
        self._advance(more)

    def file(self, report: FileReport) -> None:
        self._ended += report.status in (DONE, FAILED)
        if report.status == FAILED:
            print(f"capfst: error: {report}", file=sys.stderr)
        elif report.status == DONE and not self.bar and not self.quiet:
            spent = time.monotonic() - self._start
            fraction = min(self._read / self._size, 1) if self._size else 1
            left = f", {clock(spent / fraction - spent)} left" if 0 < fraction < 1 else ""
            print(f"{report} (file {self._ended} of {self._files}, {fraction:.0%}{left})", file=sys.stderr)
