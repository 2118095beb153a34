"""A disk that gets full."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[None]:
    """`folder` is a file system of `size` bytes; the test is skipped where none can be mounted."""
    mount = shutil.which("mount")
    folder.mkdir()
    command = [mount, "-t", "tmpfs", "-o", f"size={size}", "x", folder]
    if not mount or subprocess.run(command, check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True, timeout=60)
