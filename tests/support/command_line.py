"""Runs capfst as users do."""

import subprocess
import sys

CAPFST = [sys.executable, "-m", "capfst"]
CORPUS = """\
In New York, the mayor met Mr. O'Neill and an IBM engineer.
The mayor of New York said that China's iPhone was made in China.
We don't think they're in Paris, France.
The president of the U.S. met the president of France.
"""


def run(*arguments, stdin: bytes | str = b"", code: int = 0, **options) -> subprocess.CompletedProcess:
    if isinstance(stdin, str):
        stdin = stdin.encode()
    done = subprocess.run([*CAPFST, *map(str, arguments)], input=stdin, capture_output=True, check=False, **options)
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


def message(done: subprocess.CompletedProcess) -> str:
    """The one line of an error."""
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("capfst: error: ")
    return lines[0]
