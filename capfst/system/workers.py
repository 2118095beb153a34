"""Call functions in other processes: `map_in_processes`, for Python code that holds the GIL; `Apart`, for native code
that may crash.

The processes are new interpreters that import only the module of the function: unlike with `multiprocessing`, they
inherit neither threads nor the caller's main module. They import from where the caller does, and never from the current
folder, which may be full of other people's files. They end with the process that started them. (Those of loky import
from the current folder, too, and get Ctrl-C; a ProcessPoolExecutor is broken for good when one of its processes dies.)
"""

from __future__ import annotations

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


class Apart:
    """Calls a function of a module in a process of its own, one call at a time, so that a crash ends only that process.

    Raises:
        WorkerDiedError: the call crashed. The next call gets a new process.
    """

    def __init__(self, function: Callable[[Any], Any], stderr: int | None = subprocess.DEVNULL) -> None:
        self._function = function
        self._stderr = stderr  # as for Popen; a crash prints its own messages
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def __call__(self, item: Any) -> Any:
        with self._lock:
            try:
                process: Any = self._process or self._started()
                _send(item, process.stdin)
                result, error = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError) as lost:
                self.end()
                raise WorkerDiedError("a worker process died, possibly for lack of memory. Use fewer `jobs`.") from lost
        if error is not None:
            raise error
        return result

    def _started(self) -> Any:
        # In a new session: Ctrl-C is for the process that started it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _SERVE, *filter(None, sys.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows has no sessions
        )  # fmt: skip
        _send(self._function, self._process.stdin)
        return self._process

    def end(self) -> None:
        """End the process, also during a call, which then raises WorkerDiedError."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _send(value: object, pipe: Any) -> None:
    pickle.dump(value, pipe)
    pipe.flush()


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
            _send(answer, stdout)


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
    workers = [Apart(function, None) for _ in range(jobs)]
    idle = list(workers)

    def call(item: Item) -> Result:
        worker = idle.pop()
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
