"""Kernels: functions over arrays and numbers, written in Python and run as machine code.

A kernel's annotations are its types (types.py). The build (build.py) compiles all kernels by numba before capfst is
installed; nothing of numba is there when they are called (decorators.py, _call.c). The decorators:

    kernel            Python calls it, and so may other kernels.
    allocating        As `kernel`, for one that makes arrays.
    inner             Only kernels call it.
    inner_allocating  As `inner`, for one that makes arrays.
    inlined           As `inner`, for small ones that take large tuples: their code becomes part of their callers'.

`outlined`, above one of these, keeps the code of what is seldom run out of its callers'.

memory.py has what kernels may call beyond NumPy's indexing and arithmetic. A call from Python with arguments of other
types raises TypeError, which names the kernel and the argument.

To try an edited kernel, run it: where the library is older, the kernel is compiled at its first call (jit.py, by
numba). `CAPFST_KERNELS=jit` compiles all kernels so.
"""

from capfst.exceptions import CapfstError
from capfst.kernels.memory import acquire, copy_bytes, count_ones, get_eight, part, prefetch, put_eight, release

try:
    from capfst.kernels.decorators import Kernel, allocating, inlined, inner, inner_allocating, kernel, outlined
except ImportError as error:
    raise CapfstError(f"capfst is not built ({error}): run `make kernels` in a checkout, or `pip install .`") from error

__all__ = [
    "Kernel",
    "acquire",
    "allocating",
    "copy_bytes",
    "count_ones",
    "get_eight",
    "inlined",
    "inner",
    "inner_allocating",
    "kernel",
    "outlined",
    "part",
    "prefetch",
    "put_eight",
    "release",
]
