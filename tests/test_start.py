"""What starting loads: a first line comes soon only if nothing gets ready for compiling."""

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
print(capfst.load(sys.argv[1]).recase("it works"))
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
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT)  # compiles what is not
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stdout.split("\n")[1] == "False"
