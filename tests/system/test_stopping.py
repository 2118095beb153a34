"""check: raises in the thread whose work is to stop, and in all threads when the program ends."""

from threading import Thread

import pytest
from support.command_line import run_python

from capfst.system.stopping import StoppedError, check, stoppable


def test_work_stops_when_its_condition_holds():
    check()
    is_stopped = False
    with pytest.raises(StoppedError), stoppable(lambda: is_stopped):
        check()
        is_stopped = True
        check()
    check()


def test_work_of_other_threads_goes_on():
    passed = []
    with stoppable(lambda: True):
        other = Thread(target=lambda: passed.append(check()))
        other.start()
        other.join()
    assert passed == [None]


def test_all_threads_stop_when_the_program_ends():
    program = (
        "from threading import Thread\n"
        "from capfst.system.stopping import StoppedError, check, stop_all\n"
        "def work():\n"
        "    try:\n"
        "        while True:\n"
        "            check()\n"
        "    except StoppedError:\n"
        "        print('stopped')\n"
        "threads = [Thread(target=work) for _ in range(2)]\n"
        "for thread in threads:\n"
        "    thread.start()\n"
        "stop_all()\n"
        "for thread in threads:\n"
        "    thread.join()\n"
    )
    assert run_python(program).stdout.count(b"stopped") == 2
