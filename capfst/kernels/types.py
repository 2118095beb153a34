"""The types of kernels: names for annotations, which mypy checks and the build compiles from.

Numbers are `i64`, `f64` and the like, or `bool`, `int` (as i64) and `float` (as f64); in kernels, `i64(x)` converts.
Arrays are contiguous in C order: `U8Array` has one dimension, `U32Matrix` two, `I32Cube` three; but a `U32Strided` may
be any array of one dimension, such as a column of a matrix. A module that has records names their arrays itself:

    NodeArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(NODE)]
    Node: TypeAlias = Annotated[Any, Record(NODE)]  # one item of these, passed from kernel to kernel

Tuples (`tuple[i64, f64]`) and classes derived from NamedTuple are made of these. A kernel that only kernels call may
have a TypeVar: it is compiled for the types of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt


class Array(NamedTuple):
    """Mark an annotation as that of an array."""

    dtype: np.dtype[Any]
    ndim: int = 1
    is_strided: bool = False  # its items need not be contiguous


class Record(NamedTuple):
    """Mark an annotation as that of one item of an array of records."""

    dtype: np.dtype[Any]


i8: TypeAlias = Annotated[int, np.dtype(np.int8)]
i16: TypeAlias = Annotated[int, np.dtype(np.int16)]
i32: TypeAlias = Annotated[int, np.dtype(np.int32)]
i64: TypeAlias = Annotated[int, np.dtype(np.int64)]
u8: TypeAlias = Annotated[int, np.dtype(np.uint8)]
u16: TypeAlias = Annotated[int, np.dtype(np.uint16)]
u32: TypeAlias = Annotated[int, np.dtype(np.uint32)]
u64: TypeAlias = Annotated[np.uint64, np.dtype(np.uint64)]
f32: TypeAlias = Annotated[float, np.dtype(np.float32)]
f64: TypeAlias = Annotated[float, np.dtype(np.float64)]

BoolArray: TypeAlias = Annotated[npt.NDArray[np.bool_], Array(np.dtype(np.bool_))]
F32Array: TypeAlias = Annotated[npt.NDArray[np.float32], Array(np.dtype(np.float32))]
F64Array: TypeAlias = Annotated[npt.NDArray[np.float64], Array(np.dtype(np.float64))]
I8Array: TypeAlias = Annotated[npt.NDArray[np.int8], Array(np.dtype(np.int8))]
I32Array: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32))]
I64Array: TypeAlias = Annotated[npt.NDArray[np.int64], Array(np.dtype(np.int64))]
U8Array: TypeAlias = Annotated[npt.NDArray[np.uint8], Array(np.dtype(np.uint8))]
U32Array: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32))]
U64Array: TypeAlias = Annotated[npt.NDArray[np.uint64], Array(np.dtype(np.uint64))]
BoolMatrix: TypeAlias = Annotated[npt.NDArray[np.bool_], Array(np.dtype(np.bool_), 2)]
F32Matrix: TypeAlias = Annotated[npt.NDArray[np.float32], Array(np.dtype(np.float32), 2)]
F64Matrix: TypeAlias = Annotated[npt.NDArray[np.float64], Array(np.dtype(np.float64), 2)]
I8Matrix: TypeAlias = Annotated[npt.NDArray[np.int8], Array(np.dtype(np.int8), 2)]
I16Matrix: TypeAlias = Annotated[npt.NDArray[np.int16], Array(np.dtype(np.int16), 2)]
I32Matrix: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32), 2)]
I64Matrix: TypeAlias = Annotated[npt.NDArray[np.int64], Array(np.dtype(np.int64), 2)]
U8Matrix: TypeAlias = Annotated[npt.NDArray[np.uint8], Array(np.dtype(np.uint8), 2)]
U32Matrix: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 2)]
U64Matrix: TypeAlias = Annotated[npt.NDArray[np.uint64], Array(np.dtype(np.uint64), 2)]
I32Cube: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32), 3)]
U32Cube: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 3)]
I32Strided: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32), 1, True)]
I64Strided: TypeAlias = Annotated[npt.NDArray[np.int64], Array(np.dtype(np.int64), 1, True)]
U32Strided: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 1, True)]
U32StridedMatrix: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 2, True)]

_OF_PYTHON = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}


class Leaf(NamedTuple):
    """A number, whose `ndim` is 0, or an array, as _call.c expects it."""

    dtype: np.dtype[Any]
    ndim: int
    is_strided: bool
    name: str

    def __str__(self) -> str:
        kind = "any" if self.is_strided else "a contiguous"
        return f"{kind} array of {self.dtype}, {self.ndim}-dimensional" if self.ndim else str(self.dtype)


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters, in order, then that of its result, `return`."""
    names = (*function.__code__.co_varnames[: function.__code__.co_argcount], "return")
    found = get_type_hints(function, include_extras=True)
    if missing := [name for name in names if name not in found]:
        raise TypeError(f"{function.__qualname__}: {missing[0]} has no annotation")
    return {name: found[name] for name in names}


@lru_cache(None)
def items(hint: Any) -> dict[str, Any] | None:
    """Return the annotations of a tuple's items, by `.name` or `[number]`; None if it is not that of a tuple."""
    if get_origin(hint) is tuple:
        return {f"[{k}]": item for k, item in enumerate(get_args(hint))}
    if hasattr(hint, "_fields"):
        return {f".{name}": item for name, item in get_type_hints(hint, include_extras=True).items()}
    return None


def mark(hint: Any) -> np.dtype[Any] | Array | Record:
    """Return the mark of an annotation that is not a tuple's. TypeError: it has none, so that no kernel can have it."""
    found = _OF_PYTHON.get(hint) or (get_args(hint)[1] if get_origin(hint) is Annotated else None)
    if not isinstance(found, (np.dtype, Array, Record)):
        raise TypeError(f"{hint} is not one of the types in capfst.kernels.types")
    return found


def leaves(hint: Any, name: str = "") -> Iterator[Leaf]:
    """Yield the numbers and arrays that a value is made of. TypeError: it cannot be passed to Python, or from there."""
    if (parts := items(hint)) is not None:
        for suffix, part in parts.items():
            yield from leaves(part, name + suffix)
    elif isinstance(found := mark(hint), Array):
        yield Leaf(*found, name)
    elif isinstance(found, np.dtype):
        yield Leaf(found, 0, False, name)
    else:
        raise TypeError(f"{name}: records are passed from kernel to kernel only")
