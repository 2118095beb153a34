"""Processes may be forked while other threads load: the child inherits no lock that nobody releases."""

import os
import threading
import time

import pytest
from support.command_line import run_python
from support.guarded import in_child

from capfst.forks import cached, loading

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")

PROGRAM = """
import os, signal, sys, threading, time
import capfst

def child():
    signal.alarm(60)  # ends it if it hangs
    os._exit(capfst.load()("new york") != "New York")

def load():
    for sentence_case in (False, True):
        capfst.load(sentence_case=sentence_case)("new york")

thread = threading.Thread(target=load)
thread.start()
time.sleep(float(sys.argv[1]))
pid = os.fork()
if pid == 0:
    child()
status = os.waitpid(pid, 0)[1]
thread.join()
sys.exit(status != 0)
"""


@pytest.mark.parametrize("delay", [0, 0.02, 0.05, 0.1, 0.2])
def test_a_child_can_load_although_another_thread_was_loading(delay: float) -> None:
    assert run_python(PROGRAM, delay).stderr == b""


def test_a_fork_waits_for_other_threads_that_load() -> None:
    begun = threading.Event()
    ended: list[bool] = []

    def load() -> None:
        with loading():
            begun.set()
            time.sleep(0.3)
            ended.append(True)

    thread = threading.Thread(target=load)
    thread.start()
    begun.wait(60)
    assert in_child(lambda: None) == 0
    assert ended
    thread.join()


def test_a_thread_that_loads_can_fork_itself() -> None:
    def child() -> None:
        with loading():
            pass

    with loading(), loading():
        assert in_child(child) == 0


def test_a_cached_property_is_computed_once() -> None:
    class Numbers:
        @cached
        def next(self) -> int:
            """Count the calls."""
            calls.append(1)
            return len(calls)

    calls: list[int] = []
    numbers = Numbers()
    assert [numbers.next, numbers.next, Numbers().next] == [1, 1, 2]
    assert Numbers.next.__doc__ == "Count the calls."
