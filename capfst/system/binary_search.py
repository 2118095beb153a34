"""Binary search in kernels."""

from capfst.system.kernels import kernel


@kernel
def lower_bound(values, begin, end, value):  # type: ignore[no-untyped-def]
    """The first index in values[begin:end], which rise, whose value is not below `value`; `end` if there is none."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin
