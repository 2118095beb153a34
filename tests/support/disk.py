"""A small disk that becomes full."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[None]:
    """Mount a file system of `size` bytes at `folder`. Skip the test if that is impossible."""
    mount = shutil.which("mount")
    folder.mkdir()
    command = [mount, "-t", "tmpfs", "-o", f"size={size}", "x", folder]
    if not mount or subprocess.run(command, check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("cannot mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True, timeout=60)
