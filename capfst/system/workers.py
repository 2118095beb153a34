"""Call functions in other processes: `map_in_processes`, for Python code that holds the GIL; `Apart`, for native code
that may crash.

The processes are new interpreters that import only the module of the function: unlike with `multiprocessing`, they
inherit neither threads nor the caller's main module. They import from where the caller does, and never from the current
folder, which may be full of other people's files. They end with the process that started them.
"""

from __future__ import annotations

import atexit
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

from capfst.exceptions import CapfstError
from capfst.system.parallel import map_stream

Item = TypeVar("Item")
Result = TypeVar("Result")

_SERVE = "import sys; sys.path[:] = sys.argv[1:]; from capfst.system.workers import serve; serve()"


class WorkerDiedError(CapfstError):
    """A worker process died."""


class _Worker:
    """A process that calls a function of a module. stderr: as for Popen."""

    def __init__(self, function: Callable[[Any], Any], stderr: int | None = None) -> None:
        # In a new session: Ctrl-C is for the process that started it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _SERVE, *filter(None, sys.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows has no sessions
        )  # fmt: skip
        self._send(function)

    def _send(self, value: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def __call__(self, item: Any) -> Any:
        assert self._process.stdout is not None
        try:
            self._send(item)
            result, error = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as lost:
            raise WorkerDiedError("a worker process died, possibly for lack of memory. Use fewer `jobs`.") from lost
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """Run a worker: read a function and items from stdin, and write (result, error) per item to stdout."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    with suppress(EOFError, OSError, pickle.UnpicklingError):  # the process that started it has ended
        function = pickle.load(stdin)
        while True:
            item = pickle.load(stdin)
            answer: tuple[object, Exception | None]
            try:
                answer = function(item), None
            except Exception as error:  # raised in the process that reads the result
                answer = None, _picklable(error)
            pickle.dump(answer, stdout)
            stdout.flush()


def _picklable(error: Exception) -> Exception:
    """Return an exception, or, if another process cannot read it, one with its name and message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def map_in_processes(function: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Iterator[Result]:
    """Yield `map(function, items)`, computed in `jobs` processes (in this one if `jobs` is 1), in order, a few items
    ahead of the reader. The function must belong to a module; items, results and exceptions must be picklable.

    Raises:
        WorkerDiedError: a worker process died.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    workers: list[_Worker] = []
    idle: list[_Worker] = []

    def call(item: Item) -> Result:
        try:
            worker = idle.pop()
        except IndexError:
            worker = _Worker(function)
            workers.append(worker)
        try:
            result: Result = worker(item)
        finally:
            idle.append(worker)
        return result

    try:
        yield from map_stream(call, items, jobs)
    finally:
        for worker in workers:
            worker.end()


class Apart:
    """Calls a function of a module in a process of its own, one call at a time, so that a crash ends only that process.

    Raises:
        WorkerDiedError: the call crashed. The next call gets a new process.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._worker: _Worker | None = None
        self._lock = Lock()
        atexit.register(self._end)

    def __call__(self, item: Any) -> Any:
        with self._lock:
            if self._worker is None:
                self._worker = _Worker(self._function, subprocess.DEVNULL)  # a crash prints its own messages
            try:
                return self._worker(item)
            except WorkerDiedError:
                self._end()
                raise

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None
