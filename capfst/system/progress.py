"""Show progress on stderr: a bar on a terminal, plain lines elsewhere.

In: the amount of work, then each amount done. Out: a bar with rate and time left; or, if stderr is not a terminal, a
line after 10 seconds and then at growing intervals, and one at the end.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr, suppress
from threading import RLock
from typing import Any, TextIO

FIRST_LINE = 10.0  # seconds
NEXT_LINE = 1.25  # times the time so far: few lines even for a long job
_REDRAW = 0.1  # seconds

Advance = Callable[[int], None]
Progress = Callable[[int, str, str], AbstractContextManager[Callable[[int], object]]]
"""(total, description, unit) → a context with a function to call with each amount done."""


@contextmanager
def progress(total: int, description: str, unit: str = "B", quiet: bool = False) -> Iterator[Advance]:
    """Yield a function to call with the amount done since its last call; several threads may call it.

    `total` and the amounts are in `unit`, which is shown with the prefixes k, M and G; a `total` of 0 means unknown.
    """
    if quiet:
        yield lambda more: None
        return
    terminal, lock, begin = sys.stderr, RLock(), time.monotonic()
    is_bar = terminal.isatty()
    done, due = 0, 0.0 if is_bar else FIRST_LINE

    def show(ending: str = "", total: int = total) -> None:
        rate = done / max(time.monotonic() - begin, 1e-9)
        of_total = f" of {_scaled(total, unit)} ({100 * done / total:.0f} %)" if done < total else ""
        amount = f"{_scaled(done, unit)}{of_total}, {_scaled(rate, unit)}/s{ending}"
        if is_bar:
            _draw(terminal, description, done / total if total else None, amount)
        else:
            print(f"{description}: {amount}", file=terminal)

    def advance(more: int) -> None:
        nonlocal done, due
        with lock:
            done += more
            spent = time.monotonic() - begin
            if spent >= due:
                due = spent + _REDRAW if is_bar else spent * NEXT_LINE
                show(f", {clock(spent * (total - done) / done)} left" if 0 < done < total else "")

    above = _Above(terminal, lock, show)
    if is_bar:
        show()
    try:
        with redirect_stderr(above) if is_bar else nullcontext():
            yield advance
        show(f", done in {clock(time.monotonic() - begin)}", done)
    finally:
        if is_bar:
            terminal.write(f"\n{above.rest}")


class _Above:
    """Stderr while there is a bar: complete lines are printed above the bar."""

    def __init__(self, terminal: TextIO, lock: RLock, show: Callable[[], None]) -> None:
        self.terminal, self.lock, self.show, self.rest = terminal, lock, show, ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)

    def write(self, text: str) -> int:
        with self.lock:
            lines, end, self.rest = (self.rest + text).rpartition("\n")
            if end:
                self.terminal.write(f"\r{'':{_columns(self.terminal) - 1}}\r{lines}\n")
                self.show()
        return len(text)


def _draw(terminal: TextIO, description: str, done: float | None, amount: str) -> None:
    columns, line = _columns(terminal) - 1, f"{description}: {amount}"
    if done is not None:
        width = max(0, columns - len(line) - 2)
        line = f"{description} |{'#' * int(width * min(1, done)):{width}}| {amount}"
    terminal.write(f"\r{line[:columns]:{columns}}")
    terminal.flush()


def _columns(terminal: TextIO) -> int:
    """Return the terminal's current width; 80 if it is unknown."""
    with suppress(OSError):
        return os.get_terminal_size(terminal.fileno()).columns or 80
    return 80


def _scaled(amount: float, unit: str) -> str:
    for prefix, size in ("G", 1e9), ("M", 1e6), ("k", 1e3):
        if amount >= size:
            return f"{amount / size:.1f} {prefix}{' ' * (unit != 'B')}{unit}"
    return f"{amount:.0f} {unit}"


def clock(seconds: float) -> str:
    """Format a duration as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
