"""The types of kernels: names for annotations, which mypy checks and the build compiles from.

Numbers are `i64`, `f64` and the like, or `bool`, `int` (as i64) and `float` (as f64). Arrays are contiguous in C order:
`U8Array` has one dimension, `U32Matrix` two, `I32Cube` three; but any array of one dimension is a `U32Strided`, such as
a column of a matrix. A module that has records names their arrays itself:

    Nodes: TypeAlias = Annotated[npt.NDArray[np.void], Array(NODE)]
    Node: TypeAlias = Annotated[Any, Record(NODE)]  # one item of these, passed from kernel to kernel

Tuples (`tuple[i64, f64]`) and classes derived from NamedTuple are made of these. A TypeVar is a type that each call
chooses: kernels that only kernels call take any; for those that Python calls, one function is compiled for each of the
TypeVar's constraints.

`layout` reads an annotation; the Python side of a call, the C side (_call.c) and the build (build.py) all follow what
it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

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

_NUMBERS = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}


class Tuple(NamedTuple):
    """The layout of a tuple, of a class derived from NamedTuple, or of all parameters of a kernel."""

    kind: type
    items: tuple[Layout, ...]
    names: tuple[str, ...]  # of the items, in messages

    def variables(self) -> Iterator[TypeVar]:
        """Yield the TypeVars in it."""
        for item in self.items:
            if isinstance(item, TypeVar):
                yield item
            elif isinstance(item, Tuple):
                yield from item.variables()


Layout: TypeAlias = "np.dtype[Any] | Array | Record | Tuple | TypeVar | None"
"""A number has its dtype; None is the layout of a result that is None."""


def layouts(function: Callable[..., Any], chosen: Mapping[Any, Any] | None = None) -> tuple[Tuple, Layout]:
    """Return the layouts of a function's parameters, and of its result.

    chosen: types to put in place of TypeVars. TypeError names an annotation that is missing, or that no kernel can
    have.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    hints = get_type_hints(function, include_extras=True)
    if missing := [name for name in (*names, "return") if name not in hints]:
        raise TypeError(f"{function.__module__}.{function.__qualname__}: {missing[0]} has no annotation")
    try:
        return _tuple(tuple, hints, names, chosen or {}), layout(hints["return"], chosen or {})
    except TypeError as error:
        raise TypeError(f"{function.__module__}.{function.__qualname__}: {error}") from None


def layout(hint: Any, chosen: Mapping[Any, Any]) -> Layout:
    """Return how a value that has this annotation lies in memory. TypeError: it cannot be a kernel's."""
    hint = chosen.get(hint, hint)
    if hint is type(None):
        return None
    if isinstance(hint, TypeVar):
        return hint
    if hint in _NUMBERS:
        return _NUMBERS[hint]
    if get_origin(hint) is Annotated and isinstance(mark := get_args(hint)[1], (np.dtype, Array, Record)):
        return mark
    if get_origin(hint) is tuple:
        items = dict(enumerate(get_args(hint)))
        return _tuple(tuple, items, items, chosen)
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return _tuple(hint, get_type_hints(hint, include_extras=True), hint._fields, chosen)
    raise TypeError(f"{hint} is not one of the types in capfst.kernels.types")


def _tuple(kind: type, hints: Mapping[Any, Any], names: Iterable[Any], chosen: Mapping[Any, Any]) -> Tuple:
    return Tuple(kind, tuple(layout(hints[name], chosen) for name in names), tuple(map(str, names)))


def mismatch(expected: Tuple, values: tuple[Any, ...]) -> str:
    """Return which of the values a kernel cannot be called with, and why, as _call.c finds it."""
    if len(values) != len(expected.items):
        return f"expected {len(expected.items)} values ({', '.join(expected.names)}), not {len(values)}"
    for item, name, value in zip(expected.items, expected.names, values, strict=True):
        if isinstance(item, Tuple):
            if not isinstance(value, tuple):
                return f"{name} must be a {item.kind.__name__}, not {type(value).__name__}"
            if reason := mismatch(item, value):
                return f"{name}: {reason}"
        elif not _fits(item, value):
            return f"{name} must be {_described(item)}, not {_described_value(value)}"
    return ""


def _fits(item: Layout, value: Any) -> bool:
    if isinstance(item, Array):
        return (
            isinstance(value, np.ndarray)
            and value.dtype == item.dtype
            and value.ndim == item.ndim
            and (item.is_strided or value.flags.c_contiguous)
        )
    if not isinstance(item, np.dtype) or isinstance(value, (bool, np.bool_)) != (item.kind == "b"):
        return False
    if item.kind == "f":
        return isinstance(value, (int, float, np.number))
    if item.kind == "b":
        return True
    limits = np.iinfo(item)
    return isinstance(value, (int, np.integer)) and int(limits.min) <= int(value) <= int(limits.max)


def _described(item: Layout) -> str:
    if isinstance(item, Array):
        return f"{'an' if item.is_strided else 'a contiguous'} array of {item.dtype}, {item.ndim}-dimensional"
    return str(item)


def _described_value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        contiguous = "a contiguous array" if value.flags.c_contiguous else "an array with gaps"
        return f"{contiguous} of {value.dtype}, {value.ndim}-dimensional"
    return f"{value!r} ({type(value).__name__})"
