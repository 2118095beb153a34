"""What kernels ask beyond numpy's indexing and arithmetic: prefetching, eight bytes at a time, parts of arrays,
counting bits, and order between threads. Kernels name these as kernels.py does.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

_BYTE, _INT = ir.IntType(8).as_pointer(), ir.IntType(32)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    item = cgutils.get_item_pointer(context, builder, array_type, view, [index], wraparound=False)
    return builder.bitcast(item, _BYTE)


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """prefetch(array, index): has array[index] (one-dimensional, index in range or near it) brought into the cache."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [_BYTE], ir.FunctionType(ir.VoidType(), [_BYTE, _INT, _INT, _INT])
        )
        # for reading, to be kept close, data
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        builder.call(function, [pointer, _INT(0), _INT(3), _INT(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), code


@intrinsic
def get_eight(typing_context, array, index):  # type: ignore[no-untyped-def]
    """The uint64 of array[index : index + 8], bytes, the first of which are its lowest bits; all must be in range."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, types.intp), code


@intrinsic
def put_eight(typing_context, array, index, value):  # type: ignore[no-untyped-def]
    """Writes a uint64 to array[index : index + 8], as `get_eight` reads it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), code


@intrinsic
def count_ones(typing_context, value):  # type: ignore[no-untyped-def]
    """How many bits of an int64 are 1."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), code


@intrinsic
def copy_bytes(typing_context, source, begin, size, target, place):  # type: ignore[no-untyped-def]
    """Copies source[begin : begin + size], bytes, to target[place:], also within one array; all must be in range. As a
    loop it would become code of many instructions, for eight sizes of vectors."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source_type, _, _, target_type, _ = signature.args
        to = _pointer(context, builder, target_type, *arguments[3:])
        cgutils.raw_memmove(builder, to, _pointer(context, builder, source_type, *arguments[:2]), arguments[2], 1)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, target, types.intp), code


@intrinsic
def part(typing_context, array, begin, size):  # type: ignore[no-untyped-def]
    """array[begin : begin + size] of a one-dimensional array, in range: what a slice takes long to compile for."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        result = context.make_array(array)(context, builder, arguments[0])
        result.data = cgutils.get_item_pointer(context, builder, array, whole, [arguments[1]], wraparound=False)
        result.nitems = arguments[2]
        result.shape = cgutils.pack_array(builder, [arguments[2]])
        return impl_ret_borrowed(context, builder, array, result._getvalue())

    return array(array, types.intp, types.intp), code


def _fence(ordering: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence(ordering)
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def release(typing_context):  # type: ignore[no-untyped-def]
    """What was written before is there for other threads that, behind an `acquire`, have read what is written next."""
    return _fence("release")


@intrinsic
def acquire(typing_context):  # type: ignore[no-untyped-def]
    """What is read next was not read before: see `release`."""
    return _fence("acquire")
