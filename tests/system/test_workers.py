"""map_in_processes: results in order, errors, and processes that end."""

import math
import operator
import os
import sys
from functools import partial

import pytest
from support import crashing

from capfst.exceptions import CapfstError
from capfst.system.workers import Apart, WorkerDiedError, map_in_processes


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_are_in_order(jobs):
    assert list(map_in_processes(math.factorial, range(40), jobs)) == [math.factorial(n) for n in range(40)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_are_raised_in_their_turn(jobs):
    results = map_in_processes(math.sqrt, [4.0, 9.0, -1.0, 16.0], jobs)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ValueError, match="math domain"):
        next(results)


def test_the_work_is_done_in_other_processes_which_end():
    pids = set(map_in_processes(operator.methodcaller("__call__"), [os.getpid] * 20, 2))
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_reader_that_stops_ends_the_processes():
    results = map_in_processes(operator.methodcaller("__call__"), [os.getpid] * 20, 2)
    pid = next(results)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_errors_that_cannot_be_pickled_are_raised():
    with pytest.raises(RuntimeError, match="NoTextError: odd"):
        list(map_in_processes(crashing.raise_unpicklable, [1, 2], 2))


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(CapfstError, match="`jobs`"):
        list(map_in_processes(str, [_Deadly()], 2))


def test_the_modules_in_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    for name in ("math", "pickle", "queue", "capfst"):
        (tmp_path / f"{name}.py").write_text("open('planted', 'w').close()")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *sys.path])  # as in an interactive Python
    assert list(map_in_processes(math.factorial, [3], 2)) == [6]
    assert not (tmp_path / "planted").exists()


class _Deadly:
    """Pickled as a call that ends the process that reads it."""

    def __reduce__(self):
        return os._exit, (1,)


def test_a_crash_apart_is_an_error_of_its_call():
    call = Apart(operator.methodcaller("__call__"))
    first = call(os.getpid)
    assert call(os.getpid) == first != os.getpid()
    with pytest.raises(WorkerDiedError):
        call(os.abort)
    assert call(os.getpid) not in (first, os.getpid())
    with pytest.raises(ZeroDivisionError):
        call(partial(divmod, 1, 0))
