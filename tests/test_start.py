"""What starting loads: numba, which only compiling needs, is not among it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_line import TIMEOUT
from support.models import tiny

from capfst.system.verified import MIN_AGE

SCRIPT = """
import sys, capfst
print(capfst.load(sys.argv[1])("it works"))
print("numba" in sys.modules)  # which only compiling needs
"""


@pytest.mark.slow
@pytest.mark.parametrize("context", [False, True])
def test_compiled_kernels_are_all_that_is_loaded(tmp_path: Path, contextual_model: Path, context: bool) -> None:
    path = contextual_model if context else tmp_path / "cap.fst"
    if not context:
        tiny().save(path)
        time.sleep(MIN_AGE / 1e9)  # before which that it is good is not remembered
    command = [sys.executable, "-c", SCRIPT, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stdout.split("\n")[1] == "False"


THREADS = """
import atexit, os, time
def print_threads():
    time.sleep(0.5)  # until those that have ended are gone
    print(len(os.listdir("/proc/self/task")))
atexit.register(print_threads)
from capfst.cli import main
main()
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux lists a process's threads there")
def test_the_command_line_has_no_idle_threads(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", THREADS, "recase", "--quiet", "--lm", str(tmp_path / "cap.fst")]
    done = subprocess.run(
        command, env=environment, input=b"it works\n", check=True, capture_output=True, timeout=TIMEOUT
    )
    assert done.stdout == b"It works\n1\n"
