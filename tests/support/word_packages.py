"""Run scripts that need the packages of the extra `words`; skip the test if they are not installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import TIMEOUT


def run_script(script: Path, *arguments: str | Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Run a script that writes to `output`, which is given as -o."""
    command = [sys.executable, script, *arguments, "-o", output]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT)
    if "not installed" in done.stderr:
        assert done.returncode
        assert re.fullmatch(r"capfst: error: .*: \w.*constraints\.txt '\.\[words\]'\n", done.stderr)
        assert not output.exists()
        pytest.skip("the packages of the extra `words` are not installed")
    return done
