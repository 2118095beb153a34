"""Kernels: functions over arrays and numbers, written in Python and run as machine code.

numba compiles them when capfst is built (build.py); calling them needs no numba. Their annotations are their types
(types.py). A function becomes a kernel by one of the decorators `kernel`, `allocating`, `inner`, `inner_allocating`,
`inlined` and `outlined` (function.py). Kernels may call the operations of memory.py.

An edited kernel is compiled at its next call (library.py). `CAPFST_KERNELS=jit` compiles each kernel at its first call.
"""

from capfst.exceptions import CapfstError
from capfst.kernels.memory import (
    add_rows,
    add_wide,
    copy_bytes,
    count_ones,
    fence,
    get_eight,
    multiply_reals,
    multiply_shorts,
    multiply_tile,
    part,
    prefetch,
    put_eight,
    read_gates,
    round_tile,
    widen,
)

try:
    from capfst.kernels.function import Kernel, allocating, inlined, inner, inner_allocating, kernel, outlined
except ImportError as error:
    raise CapfstError(f"capfst is not built ({error}). Run `make kernels` in a checkout, or `pip install .`") from error

__all__ = ["Kernel", "allocating", "inlined", "inner", "inner_allocating", "kernel", "outlined"]
__all__ += ["add_rows", "add_wide", "copy_bytes", "count_ones", "fence", "get_eight", "multiply_reals"]
__all__ += ["multiply_shorts", "multiply_tile", "part", "prefetch", "put_eight", "read_gates", "round_tile", "widen"]
