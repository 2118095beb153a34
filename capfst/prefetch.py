"""Prefetch, for kernels: asks for an array's item before it is needed, so that waiting for memory overlaps."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """prefetch(array, index): has array[index] (one-dimensional, index in range or near it) brought into the cache."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        view = context.make_array(array_type)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(context, builder, array_type, view, [arguments[1]], wraparound=False)
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        )
        # for reading, to be kept close, data
        builder.call(function, [builder.bitcast(item, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), code
