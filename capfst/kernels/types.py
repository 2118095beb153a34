"""The types of kernels: names for annotations, which mypy checks and the build compiles from.

Numbers are `i64`, `f64` and the like, or `bool`, `int` (i64) and `float` (f64); in kernels, `i64(x)` converts. Arrays
are C-contiguous: `U8Array` has one dimension, `U32Matrix` two, `I32Cube` three; a `U32Strided` may be a column of a
matrix. A module that has records names arrays of them itself:

    NodeArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(NODE)]
    Node: TypeAlias = Annotated[Any, Record(NODE)]  # one item, passed from kernel to kernel

Tuples (`tuple[i64, f64]`) and NamedTuples contain these. A kernel that only kernels call may have a TypeVar: it is
compiled for the types of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt


class Array(NamedTuple):
    """Mark the annotation of an array."""

    dtype: np.dtype[Any]
    ndim: int = 1
    is_strided: bool = False  # its items need not be contiguous


class Record(NamedTuple):
    """Mark the annotation of one item of an array of records."""

    dtype: np.dtype[Any]


i8: TypeAlias = Annotated[int, np.dtype(np.int8)]
i16: TypeAlias = Annotated[int, np.dtype(np.int16)]
i32: TypeAlias = Annotated[int, np.dtype(np.int32)]
i64: TypeAlias = Annotated[int, np.dtype(np.int64)]
u8: TypeAlias = Annotated[int, np.dtype(np.uint8)]
u32: TypeAlias = Annotated[int, np.dtype(np.uint32)]
u64: TypeAlias = Annotated[np.uint64, np.dtype(np.uint64)]
f32: TypeAlias = Annotated[float, np.dtype(np.float32)]
f64: TypeAlias = Annotated[float, np.dtype(np.float64)]

BoolArray: TypeAlias = Annotated[npt.NDArray[np.bool_], Array(np.dtype(np.bool_))]
F32Array: TypeAlias = Annotated[npt.NDArray[np.float32], Array(np.dtype(np.float32))]
F64Array: TypeAlias = Annotated[npt.NDArray[np.float64], Array(np.dtype(np.float64))]
I8Array: TypeAlias = Annotated[npt.NDArray[np.int8], Array(np.dtype(np.int8))]
I16Array: TypeAlias = Annotated[npt.NDArray[np.int16], Array(np.dtype(np.int16))]
I32Array: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32))]
I64Array: TypeAlias = Annotated[npt.NDArray[np.int64], Array(np.dtype(np.int64))]
U8Array: TypeAlias = Annotated[npt.NDArray[np.uint8], Array(np.dtype(np.uint8))]
U16Array: TypeAlias = Annotated[npt.NDArray[np.uint16], Array(np.dtype(np.uint16))]
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
U16Matrix: TypeAlias = Annotated[npt.NDArray[np.uint16], Array(np.dtype(np.uint16), 2)]
U32Matrix: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 2)]
U64Matrix: TypeAlias = Annotated[npt.NDArray[np.uint64], Array(np.dtype(np.uint64), 2)]
F32Cube: TypeAlias = Annotated[npt.NDArray[np.float32], Array(np.dtype(np.float32), 3)]
I32Cube: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32), 3)]
U32Cube: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 3)]
I32Strided: TypeAlias = Annotated[npt.NDArray[np.int32], Array(np.dtype(np.int32), 1, True)]
I64Strided: TypeAlias = Annotated[npt.NDArray[np.int64], Array(np.dtype(np.int64), 1, True)]
U32Strided: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 1, True)]
U32StridedMatrix: TypeAlias = Annotated[npt.NDArray[np.uint32], Array(np.dtype(np.uint32), 2, True)]

_PYTHON_TYPES = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}


class Leaf(NamedTuple):
    """A number, whose `ndim` is 0, or an array, among the arguments or the results of a kernel: read by _call.c."""

    name: str
    offset: int  # in the memory of all arguments or all results
    dtype: np.dtype[Any]
    ndim: int = 0
    is_strided: bool = False

    def __str__(self) -> str:
        kind = "any" if self.is_strided else "a contiguous"
        return f"{kind} array of {self.dtype}, {self.ndim}-dimensional" if self.ndim else str(self.dtype)


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters, in order, then that of its result, `return`."""
    names = (*function.__code__.co_varnames[: function.__code__.co_argcount], "return")
    annotations = get_type_hints(function, include_extras=True)
    if missing := [name for name in names if name not in annotations]:
        raise TypeError(f"{function.__qualname__}: {missing[0]} has no annotation")
    return {name: annotations[name] for name in names}


@lru_cache(None)
def fields(hint: Any) -> dict[str, Any] | None:
    """Return the annotations of a tuple's items, by `.name` or `[number]`; None for another type."""
    if get_origin(hint) is tuple:
        return {f"[{k}]": item for k, item in enumerate(get_args(hint))}
    if hasattr(hint, "_fields"):
        return {f".{name}": item for name, item in get_type_hints(hint, include_extras=True).items()}
    return None


def mark(hint: Any) -> np.dtype[Any] | Array | Record:
    """Return what an annotation, other than a tuple's, stands for. Raises: TypeError if that is not a kernel's type."""
    found = _PYTHON_TYPES.get(hint) or (get_args(hint)[1] if get_origin(hint) is Annotated else None)
    if not isinstance(found, (np.dtype, Array, Record)):
        raise TypeError(f"{hint} is not one of the types in capfst.kernels.types")
    return found


@lru_cache(None)
def layout(hint: Any) -> np.dtype[Any]:
    """Return the layout of a value in memory, which is numba's: an array is five words, its shape and its strides."""
    if (parts := fields(hint)) is not None:
        return struct(parts)
    kind = mark(hint)
    if isinstance(kind, Record):
        raise TypeError(f"{hint} is a record, which only kernels can pass to kernels")
    return np.dtype((np.int64, 5 + 2 * kind.ndim)) if isinstance(kind, Array) else kind


def struct(parts: dict[str, Any]) -> np.dtype[Any]:
    """Return the layout of several values in memory, one after the other."""
    return np.dtype([(name, layout(hint)) for name, hint in parts.items()], align=True)


def leaves(parts: dict[str, Any], name: str = "", start: int = 0) -> Iterator[Leaf]:
    """Yield the numbers and arrays of values that Python passes or gets. Raises: TypeError for types that it cannot."""
    offsets = [field[1] for field in (struct(parts).fields or {}).values()]
    for (suffix, hint), offset in zip(parts.items(), offsets, strict=True):
        if (inner := fields(hint)) is not None:
            yield from leaves(inner, name + suffix, start + offset)
        elif isinstance(kind := mark(hint), Array):
            yield Leaf(name + suffix, start + offset, kind.dtype, kind.ndim, kind.is_strided)
        else:
            yield Leaf(name + suffix, start + offset, np.dtype(kind))
