"""How Python's calls get to a kernel: a function of C that makes of objects of Python what the kernel takes.

In: a kernel compiled as a part, and the types of its arguments. Out: LLVM's language for the function. It takes the
tuple of all arguments, and a tuple of what it expects, as kernels.py makes it: what to return for arguments of other
types; then the type of each argument, with those of its items behind a tuple's, and the dtype behind an array's. It
returns what the kernel returns, or, of an error that it raises, the bytes in which numba has pickled that. While the
kernel runs, other threads of Python do, too.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils
from numba.core import types as numba_types
from numba.np import numpy_support

from capfst.system.kernels import ALIGNED, C_CONTIGUOUS
from capfst.system.lowering import call_part

types: Any = numba_types
_INT, _INT64, _POINTER = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
_HEAD = object.__basicsize__
"""Where an object has what is its own: before it is its type, behind it a tuple has its length (PyTupleObject)."""
_TYPE, _LENGTH, _ITEMS = _HEAD - 8, _HEAD, tuple.__basicsize__
_DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE, _FLAGS = (_HEAD + place for place in (0, 8, 16, 24, 40, 48))
"""Where an array has what (PyArrayObject)."""


def type_of(value: Any) -> Any:
    """numba's type of an argument; arrays may all be written to."""
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "A"
        return types.Array(
            numpy_support.from_dtype(value.dtype), value.ndim, layout, readonly=False, aligned=value.flags.aligned
        )
    if isinstance(value, tuple):
        return types.BaseTuple.from_types(tuple(map(type_of, value)), type(value))
    if isinstance(value, (bool, np.bool_)):
        return types.boolean
    if isinstance(value, int):
        return types.int64
    return typeof(value)


def add(context: Any, library: Any, name: str, arg_types: Any, part: Any) -> bool:
    """Adds the function that calls a part to a library, if it can return what the part returns."""
    return_type = part.signature.return_type
    if not _is_returned(return_type):
        return False
    module = library.create_ir_module(name)
    function = ir.Function(module, ir.FunctionType(_POINTER, [_POINTER, _POINTER]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    python = context.get_python_api(builder)
    expected, args = function.args
    values = _Arguments(context, builder, python, expected).items(types.Tuple(arg_types), args)
    values = [
        context.cast(builder, value, arg_type, part_type)
        for value, arg_type, part_type in zip(values, arg_types, part.signature.args, strict=False)
    ]
    values += [None] * (len(part.signature.args) - len(values))  # that are left out
    thread = python.save_thread()
    code, error, result = call_part(context, builder, part.fndesc, values)
    python.restore_thread(thread)
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, code)):
        data, size = (builder.extract_value(builder.load(builder.load(error)), k) for k in range(2))
        builder.ret(python.bytes_from_string_and_size(data, builder.sext(size, _INT64)))
    builder.ret(python.from_native_value(return_type, result))
    library.add_ir_module(module)
    return True


def _is_returned(type_: Any) -> bool:
    if isinstance(type_, (types.Tuple, types.UniTuple)):
        return all(map(_is_returned, type_))
    return isinstance(type_, (types.NoneType, types.Boolean, types.Integer, types.Float))


class _Arguments:
    """Reads arguments. The function returns before it does anything if their types are not those expected."""

    def __init__(self, context: Any, builder: Any, python: Any, expected: Any) -> None:
        self._context, self._builder, self._python = context, builder, python
        self._expected = (self._field(expected, _ITEMS + 8 * k) for k in count())
        other_types = next(self._expected)
        self._other_types = builder.append_basic_block()
        with builder.goto_block(self._other_types):
            python.incref(other_types)
            builder.ret(other_types)

    def items(self, type_: Any, value: Any) -> list[Any]:
        """What numba has of the items of a tuple."""
        self._require(self._field(value, _LENGTH, _INT64), _INT64(len(type_)))
        return [self._read(item, self._field(value, _ITEMS + 8 * k)) for k, item in enumerate(type_)]

    def _read(self, type_: Any, value: Any) -> Any:
        self._require(self._field(value, _TYPE), next(self._expected))
        if isinstance(type_, types.BaseTuple):
            return self._context.make_tuple(self._builder, type_, self.items(type_, value))
        if isinstance(type_, types.Array):
            return self._array(type_, value)
        number = self._python.to_native_value(type_, value)
        with cgutils.if_unlikely(self._builder, number.is_error):
            self._builder.ret(self._python.get_null_object())
        return number.value

    def _array(self, type_: Any, value: Any) -> Any:
        context, builder = self._context, self._builder
        self._require(self._field(value, _DTYPE), next(self._expected))
        self._require(self._field(value, _NDIM, _INT), _INT(type_.ndim))
        aligned = ALIGNED * type_.aligned
        flags = builder.and_(self._field(value, _FLAGS, _INT), _INT(C_CONTIGUOUS | aligned))
        self._require(flags, _INT(C_CONTIGUOUS * (type_.layout == "C") | aligned))
        array = context.make_array(type_)(context, builder)
        numbers = {}
        for name, place in (("shape", _SHAPE), ("strides", _STRIDES)):
            first = self._field(value, place)
            numbers[name] = [self._field(first, 8 * axis, _INT64) for axis in range(type_.ndim)]
            setattr(array, name, cgutils.pack_array(builder, numbers[name], _INT64))
        array.data = self._field(value, _DATA, array.data.type)
        items = _INT64(1)
        for size in numbers["shape"]:
            items = builder.mul(items, size)
        array.nitems = items
        array.itemsize = context.get_constant(types.intp, context.get_abi_sizeof(array.data.type.pointee))
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()

    def _field(self, value: Any, place: int, kind: Any = _POINTER) -> Any:
        """What stands at a place of an object."""
        pointer = self._builder.gep(value, [_INT64(place)])
        return self._builder.load(self._builder.bitcast(pointer, kind.as_pointer()))

    def _require(self, found: Any, wanted: Any) -> None:
        block = self._builder.append_basic_block()
        self._builder.cbranch(self._builder.icmp_unsigned("==", found, wanted), block, self._other_types)
        self._builder.position_at_end(block)
