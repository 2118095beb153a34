"""Show progress on stderr: a bar on a terminal, plain lines elsewhere.

In: the amount of work, then each amount done. Out: a bar with rate and time left; or, if stderr is not a terminal, a
line after 10 seconds and then at growing intervals, and one at the end.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, suppress
from threading import RLock
from typing import Any, TextIO

FIRST_LINE = 10.0  # seconds
NEXT_LINE = 1.25  # times the time so far: few lines even for a long job

Advance = Callable[[int], None]
Progress = Callable[[int, str, str], AbstractContextManager[Callable[[int], object]]]
"""(total, description, unit) → a context with a function to call with each amount done."""


@contextmanager
def progress(total: int, description: str, unit: str = "B", quiet: bool = False) -> Iterator[Advance]:
    """Yield a function to call with the amount done since its last call.

    `total` and the amounts are in `unit`, which is shown with the prefixes k, M and G; a `total` of 0 means unknown.
    """
    if quiet:
        yield lambda more: None
    else:
        with (_bar if sys.stderr.isatty() else _lines)(total, description, unit) as advance:
            yield advance


@contextmanager
def _bar(total: int, description: str, unit: str) -> Iterator[Advance]:
    # tqdm takes longer to import than a short command to run.
    from tqdm import tqdm  # noqa: PLC0415

    class Bar(tqdm):
        monitor_interval = 0  # no monitor thread

        @property
        def format_dict(self) -> dict[str, Any]:
            values = super().format_dict
            rate = values["rate"] or values["n"] / (values["elapsed"] or 1)
            amount = _amount(values["n"], values["total"] or 0, rate, unit)
            return values | {"amount": amount, "ncols": _columns(terminal) - 1}

        def refresh(self, nolock: bool = False, lock_args: Any = None) -> None:
            with lock:  # tqdm would keep its lock if a signal ended the program meanwhile
                super().refresh(nolock=True)

    lock = RLock()  # for all writes: several threads may write
    Bar.set_lock(lock)  # tqdm's default is for several processes, and may start one
    terminal, layout = sys.stderr, "{desc} |{bar}| {amount}, {remaining} left" if total else "{desc}: {amount}"

    class Above:
        """Stderr while there is a bar: complete lines are printed above the bar."""

        rest = ""

        def __getattr__(self, name: str) -> Any:
            return getattr(terminal, name)

        def write(self, text: str) -> int:
            with lock:
                lines, end, self.rest = (self.rest + text).rpartition("\n")
                if end:
                    Bar.write(lines, terminal)
            return len(text)

        def flush(self) -> None:
            terminal.flush()

    def advance(more: int) -> None:
        with lock:
            bar.update(more)

    above = Above()
    try:
        with (
            Bar(desc=description, total=total or None, bar_format=layout, miniters=1, ncols=80, nrows=20) as bar,
            redirect_stderr(above),
        ):
            yield advance
    finally:
        terminal.write(above.rest)


def _columns(terminal: TextIO) -> int:
    """Return the terminal's current width; 80 if it is unknown."""
    with suppress(OSError):
        return os.get_terminal_size(terminal.fileno()).columns or 80
    return 80


@contextmanager
def _lines(total: int, description: str, unit: str) -> Iterator[Advance]:
    begin = time.monotonic()
    due = FIRST_LINE
    done = 0

    def advance(more: int) -> None:
        nonlocal done, due
        done += more
        spent = time.monotonic() - begin
        if spent >= due:
            due = spent * NEXT_LINE
            left = f", {clock(spent * (total - done) / done)} left" if 0 < done < total else ""
            print(f"{description}: {_amount(done, total, done / spent, unit)}{left}", file=sys.stderr)

    yield advance
    spent = time.monotonic() - begin
    amount = _amount(done, done, done / max(spent, 1e-9), unit)
    print(f"{description}: {amount}, done in {clock(spent)}", file=sys.stderr)


def _amount(done: float, total: float, rate: float, unit: str) -> str:
    of_total = f" of {_scaled(total, unit)} ({100 * done / total:.0f} %)" if done < total else ""
    return f"{_scaled(done, unit)}{of_total}, {_scaled(rate, unit)}/s"


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
