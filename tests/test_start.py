"""Test what a start loads: the compiled kernels without numba, and no idle threads."""

import os
import time
from pathlib import Path

import pytest
from support.command_line import run_python
from support.models import tiny

from capfst.system.verified import MIN_AGE

SCRIPT = """
import sys, capfst
print(capfst.load(sys.argv[1])("it works"))
FEW_NEED = {"numba", "numpy.random", "capfst.context.learn", "capfst.corpus.vocabulary"}  # compiling and learning
print(sys.modules.keys() & (FEW_NEED | {"capfst.io.codecs", "capfst.text.scanners", "difflib"}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("context", [False, True])
def test_recasing_loads_compiled_kernels_but_nothing_that_compiles_or_learns(
    tmp_path: Path, contextual_model: Path, context: bool
) -> None:
    path = contextual_model if context else tmp_path / "cap.fst"
    if not context:
        tiny().save(path)
        time.sleep(MIN_AGE / 1e9)  # the result of checking a younger file is not remembered
    for model in path, "en":
        assert run_python(SCRIPT, model).stdout.splitlines()[1] == b"set()"


THREADS = """
import atexit, os, time
def print_threads():
    time.sleep(0.5)  # until ended threads are gone
    print(len(os.listdir("/proc/self/task")))
atexit.register(print_threads)
from capfst.cli import main
main()
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists the threads of a process in /proc")
def test_the_command_line_has_no_idle_threads(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    arguments = "recase", "--quiet", "--lm", tmp_path / "cap.fst"
    assert run_python(THREADS, *arguments, stdin="it works\n", env=environment).stdout == b"It works\n1\n"
