"""Binary search in kernels."""

from typing import TypeVar

from capfst.kernels import inner
from capfst.kernels.types import I32Array, I32Strided, I64Array, i64

Rising = TypeVar("Rising", I32Array, I32Strided, I64Array)


@inner
def lower_bound(values: Rising, begin: i64, end: i64, value: i64) -> i64:
    """Return the first index in values[begin:end], which increase, with a value ≥ `value`; `end` if there is none."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin
