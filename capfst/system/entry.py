"""How Python's calls get to a kernel: a function of numbers, which makes of them what the kernel takes.

In: a kernel compiled as a part, and the types of its arguments. Out: LLVM's language for a function of C that takes the
numbers that `kernels` finds in arguments, and where to put the results; what it returns is 0, or an error is where the
first result would be. An array is taken as the address of NumPy's object, in which NumPy's C interface says what is
where (PyArrayObject).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils
from numba.core import types as numba_types
from numba.np import numpy_support

from capfst.system.lowering import call_part
from capfst.system.machine_code import N_RESULTS

types: Any = numba_types
_INT, _INT64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_DATA = object.__basicsize__
_SHAPE, _STRIDES = _DATA + 16, _DATA + 24
"""Where a PyArrayObject has its data, shape and strides: a pointer, an int and two pointers behind the head of any
object."""


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


def results(return_type: Any) -> str | None:
    """The types of what a kernel returns, as machine_code.py writes them; None if it is none of these."""
    if isinstance(return_type, types.NoneType):
        return ""
    kinds = [_result(type_) for type_ in (return_type if isinstance(return_type, types.BaseTuple) else (return_type,))]
    return None if None in kinds or len(kinds) > N_RESULTS else "".join(filter(None, kinds))


def _result(type_: Any) -> str | None:
    if isinstance(type_, types.Boolean):
        return "?"
    if isinstance(type_, types.Integer):
        return "q" if type_.signed else "Q"
    return "d" if isinstance(type_, types.Float) else None


def _cells(type_: Any) -> str:
    """The numbers that an argument is passed as."""
    if isinstance(type_, types.BaseTuple):
        return "".join(map(_cells, type_))
    if isinstance(type_, types.Float):
        return "d"
    return "Q" if type_ == types.uint64 else "q"


def add(context: Any, library: Any, name: str, arg_types: Any, part: Any) -> str:
    """Adds the function that calls a part to a library; the types of the numbers that it takes."""
    module = library.create_ir_module(name)
    arguments = "".join(map(_cells, arg_types))
    cell_types = [_DOUBLE if cell == "d" else _INT64 for cell in arguments]
    function = ir.Function(module, ir.FunctionType(_INT, [*cell_types, _INT64.as_pointer()]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    cells = iter(function.args[:-1])
    target = function.args[-1]
    values = [
        context.cast(builder, _value(context, builder, arg_type, cells), arg_type, part_type)
        for arg_type, part_type in zip(arg_types, part.signature.args, strict=False)
    ]
    values += [None] * (len(part.signature.args) - len(values))  # that are left out
    code, error, result = call_part(context, builder, part.fndesc, values)
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, code)):
        builder.store(builder.ptrtoint(builder.load(error), _INT64), target)
        builder.ret(code)
    return_type = part.signature.return_type
    if isinstance(return_type, types.BaseTuple):
        items = list(zip(cgutils.unpack_tuple(builder, result), return_type, strict=True))
    else:
        items = [] if isinstance(return_type, types.NoneType) else [(result, return_type)]
    for k, (item, type_) in enumerate(items):
        to = types.float64 if isinstance(type_, types.Float) else types.int64
        value = context.cast(builder, item, type_, to)
        pointer = builder.gep(target, [_INT(k)])
        builder.store(value, builder.bitcast(pointer, value.type.as_pointer()))
    builder.ret(_INT(0))
    library.add_ir_module(module)
    return arguments


def _value(context: Any, builder: Any, type_: Any, cells: Iterator[Any]) -> Any:
    """What numba has of an argument of a type."""
    if isinstance(type_, types.BaseTuple):
        items = [_value(context, builder, item, cells) for item in type_]
        return context.make_tuple(builder, type_, items)
    cell = next(cells)
    if isinstance(type_, types.Array):
        return _array(context, builder, type_, cell)
    return context.cast(builder, cell, types.float64 if isinstance(type_, types.Float) else types.int64, type_)


def _array(context: Any, builder: Any, type_: Any, address: Any) -> Any:
    def field(offset: int, kind: Any) -> Any:
        place = builder.add(address, _INT64(offset))
        return builder.load(builder.inttoptr(place, kind.as_pointer()))

    array = context.make_array(type_)(context, builder)
    numbers = {}
    for name, offset in (("shape", _SHAPE), ("strides", _STRIDES)):
        first = field(offset, _INT64.as_pointer())
        numbers[name] = [builder.load(builder.gep(first, [_INT(axis)])) for axis in range(type_.ndim)]
        setattr(array, name, cgutils.pack_array(builder, numbers[name], _INT64))
    array.data = field(_DATA, array.data.type)
    items = _INT64(1)
    for size in numbers["shape"]:
        items = builder.mul(items, size)
    array.nitems = items
    array.itemsize = context.get_constant(types.intp, context.get_abi_sizeof(array.data.type.pointee))
    array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
    return array._getvalue()
