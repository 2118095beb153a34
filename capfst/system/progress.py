"""Progress: a bar on a terminal, plain lines elsewhere, on stderr.

In: the amount of work, then its parts as they are done. Out: a rich bar with rate and time left; or, where stderr
is no terminal, a line after 10 seconds and then at growing intervals, and one at the end.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

FIRST_LINE = 10.0  # seconds
NEXT_LINE = 1.25  # times the time so far: few lines for a long job, too

Advance = Callable[[int], None]
Progress = Callable[[int, str, str], AbstractContextManager[Callable[[int], object]]]
"""(total, description, unit) → a context in which a function is told how much more has been done."""


@contextmanager
def progress(total: int, description: str, unit: str = "B", quiet: bool = False) -> Iterator[Advance]:
    """Gives a function to be called with the amount done since its last call.

    `total` and the amounts are in `unit`, which is shown with the prefixes k, M and G; a `total` of 0 is unknown.
    """
    if quiet:
        yield lambda more: None
    else:
        with (_bar if sys.stderr.isatty() else _lines)(total, description, unit) as advance:
            yield advance


@contextmanager
def _bar(total: int, description: str, unit: str) -> Iterator[Advance]:
    # Rich takes longer to import than a short command to run.
    from rich import console, progress, table, text  # noqa: PLC0415

    class Amount(progress.ProgressColumn):
        def render(self, task: progress.Task) -> text.Text:
            return text.Text(_amount(task.completed, task.total or 0, task.speed or 0, unit))

    name, left = progress.TextColumn("{task.description}"), progress.TimeRemainingColumn()
    amount = Amount(table.Column(no_wrap=True))
    screen = console.Console(stderr=True)
    with progress.Progress(name, progress.BarColumn(None), amount, left, console=screen, expand=True) as bar:
        task = bar.add_task(description, total=total or None)
        yield lambda more: bar.advance(task, more)


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
    share = f" of {_scaled(total, unit)} ({100 * done / total:.0f} %)" if done < total else ""
    return f"{_scaled(done, unit)}{share}, {_scaled(rate, unit)}/s"


def _scaled(amount: float, unit: str) -> str:
    for prefix, size in ("G", 1e9), ("M", 1e6), ("k", 1e3):
        if amount >= size:
            return f"{amount / size:.1f} {prefix}{unit}"
    return f"{amount:.0f} {unit}"


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
