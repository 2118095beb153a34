"""Reading compressed files takes memory for blocks, whatever the compression ratio."""

import bz2
import subprocess
import sys
from pathlib import Path

import pytest

from capfst.io.blocks import read_blocks
from capfst.io.codecs import zstd

SIZE = 256 << 20

_READING = """
import re, sys
from pathlib import Path
from capfst.io.blocks import read_blocks

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10

before = peak()
print(sum(map(len, read_blocks([Path(sys.argv[1])]))), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system has no /proc")
@pytest.mark.parametrize(("line", "open_file"), [(b"\n", zstd.open), (b"A b.\n", zstd.open), (b"\n", bz2.open)])
def test_a_highly_compressed_file_is_read_in_little_memory(tmp_path, line, open_file):
    file = tmp_path / "a"
    block = line * ((1 << 20) // len(line))
    file.write_bytes(block)
    assert sum(map(len, read_blocks([file]))) == len(block)  # compiling kernels also takes memory
    with open_file(file, "wb") as out:
        for _ in range(SIZE // len(block)):
            out.write(block)
    assert file.stat().st_size < SIZE >> 12
    done = subprocess.run([sys.executable, "-c", _READING, file], check=True, capture_output=True, timeout=60)
    size, growth = map(int, done.stdout.split())
    assert size > SIZE - (1 << 20)
    assert growth < 64 << 20
