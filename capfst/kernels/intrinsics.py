"""The operations of memory.py as LLVM's instructions, and arrays as numbers: for numba, by its low-level extension API.

Each operation has two functions: its types, and its code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed, impl_ret_new_ref
from numba.extending import intrinsic, lower_builtin, type_callable

from capfst.kernels import memory

_BYTE, _INT, _INT64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of array[index]."""
    view = context.make_array(array_type)(context, builder, array)
    item = cgutils.get_item_pointer(context, builder, array_type, view, [index], wraparound=False)
    return builder.bitcast(item, _BYTE)


@type_callable(memory.prefetch)
def _prefetch_types(context: Any) -> Callable[..., Any]:
    return lambda array, index: types.void(array, types.intp)


@lower_builtin(memory.prefetch, types.Array, types.intp)
def _prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    function = builder.module.declare_intrinsic(
        "llvm.prefetch", [_BYTE], ir.FunctionType(ir.VoidType(), [_BYTE, _INT, _INT, _INT])
    )
    # for reading, to be kept close, data
    builder.call(function, [_pointer(context, builder, signature.args[0], *arguments), _INT(0), _INT(3), _INT(1)])
    return context.get_dummy_value()


@type_callable(memory.get_eight)
def _get_eight_types(context: Any) -> Callable[..., Any]:
    return lambda array, index: types.uint64(array, types.intp)


@lower_builtin(memory.get_eight, types.Array, types.intp)
def _get_eight(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer = _pointer(context, builder, signature.args[0], *arguments)
    return builder.load(builder.bitcast(pointer, _INT64.as_pointer()), align=1)


@type_callable(memory.put_eight)
def _put_eight_types(context: Any) -> Callable[..., Any]:
    return lambda array, index, value: types.void(array, types.intp, types.uint64)


@lower_builtin(memory.put_eight, types.Array, types.intp, types.uint64)
def _put_eight(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
    builder.store(arguments[2], builder.bitcast(pointer, _INT64.as_pointer()), align=1)
    return context.get_dummy_value()


@type_callable(memory.count_ones)
def _count_ones_types(context: Any) -> Callable[..., Any]:
    return lambda value: types.int64(types.int64)


@lower_builtin(memory.count_ones, types.int64)
def _count_ones(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


@type_callable(memory.copy_bytes)
def _copy_bytes_types(context: Any) -> Callable[..., Any]:
    return lambda source, begin, size, target, position: types.void(source, types.intp, types.intp, target, types.intp)


@lower_builtin(memory.copy_bytes, types.Array, types.intp, types.intp, types.Array, types.intp)
def _copy_bytes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    source, target = signature.args[0], signature.args[3]
    to = _pointer(context, builder, target, *arguments[3:])
    cgutils.raw_memmove(builder, to, _pointer(context, builder, source, *arguments[:2]), arguments[2], 1)
    return context.get_dummy_value()


@type_callable(memory.part)
def _part_types(context: Any) -> Callable[..., Any]:
    return lambda array, begin, size: array(array, types.intp, types.intp)


@lower_builtin(memory.part, types.Array, types.intp, types.intp)
def _part(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array_type = signature.return_type
    whole, result = (context.make_array(array_type)(context, builder, arguments[0]) for _ in range(2))
    result.data = cgutils.get_item_pointer(context, builder, array_type, whole, [arguments[1]], wraparound=False)
    result.nitems = arguments[2]
    result.shape = cgutils.pack_array(builder, [arguments[2]])
    return impl_ret_borrowed(context, builder, array_type, result._getvalue())


@type_callable(memory.flat)
def _flat_types(context: Any) -> Callable[..., Any]:
    return lambda array: array.copy(ndim=1)(array)


@lower_builtin(memory.flat, types.Array)
def _flat(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    whole = context.make_array(signature.args[0])(context, builder, arguments[0])
    result = context.make_array(signature.return_type)(context, builder)
    for name in "meminfo", "parent", "nitems", "itemsize", "data":
        setattr(result, name, getattr(whole, name))
    result.shape = cgutils.pack_array(builder, [whole.nitems])
    result.strides = cgutils.pack_array(builder, [whole.itemsize])
    return impl_ret_borrowed(context, builder, signature.return_type, result._getvalue())


@type_callable(memory.release)
def _release_types(context: Any) -> Callable[..., Any]:
    return lambda: types.void


@lower_builtin(memory.release)
def _release(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.fence("release")
    return context.get_dummy_value()


@type_callable(memory.acquire)
def _acquire_types(context: Any) -> Callable[..., Any]:
    return lambda: types.void


@lower_builtin(memory.acquire)
def _acquire(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.fence("acquire")
    return context.get_dummy_value()


# What entries (jit.py) do with slots of eight bytes:


@intrinsic
def pointer_of(typing_context, number):  # type: ignore[no-untyped-def]
    """The address that an int64 is."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], _BYTE)

    return types.voidptr(types.int64), code


@intrinsic
def float_of(typing_context, bits):  # type: ignore[no-untyped-def]
    """The float64 that has these bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@intrinsic
def bits_of(typing_context, number):  # type: ignore[no-untyped-def]
    """The bits of a float64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _INT64)

    return types.int64(types.float64), code


@intrinsic
def hand_over(typing_context, array):  # type: ignore[no-untyped-def]
    """A handle of the array's memory, which now also belongs to who has the handle."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        context.nrt.incref(builder, signature.args[0], arguments[0])
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(view.meminfo, _INT64)

    return types.int64(array), code


@intrinsic
def take_back(typing_context, handle):  # type: ignore[no-untyped-def]
    """An array whose memory is that of a handle; when it ends, so does the handle."""
    array_type = types.Array(types.uint8, 1, "C")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(array_type)(context, builder)
        array.meminfo = builder.inttoptr(arguments[0], array.meminfo.type)
        array.nitems = context.get_constant(types.intp, 0)
        return impl_ret_new_ref(context, builder, array_type, array._getvalue())

    return array_type(types.int64), code
