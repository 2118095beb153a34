"""Machine code that was kept, in a process that has not compiled it."""

import pickle
import subprocess
import sys

import numpy as np
from support.command_line import TIMEOUT

from capfst.system.kernels import kernel
from capfst.system.machine_code import Code

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from capfst.system.machine_code import Entry, load
matrix = np.arange(6.0).reshape(2, 3)
entry = Entry(load(Path(sys.argv[1]).read_bytes()), (NotImplemented, np.ndarray, matrix.dtype))
print(entry((matrix,)), entry((matrix.T,)), entry((matrix, 1)))
"""


@kernel
def _last(matrix):
    items = matrix.reshape(-1)
    return items[items.size - 1]


def test_functions_of_numba_are_found(tmp_path):
    code = _last.dispatcher.compile_entry((np.zeros((2, 3)),), "last")
    assert any(name.startswith("numba_") for name in Code(*pickle.loads(code)).externals)
    (tmp_path / "code").write_bytes(code)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "code")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert done.stdout == "5.0 NotImplemented NotImplemented\n"
