"""The operations of memory.py and of entries as LLVM instructions, by numba's low-level extension API."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, type_callable

from capfst.kernels import memory

_BYTES, _INT, _INT64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)


def _lowered(function: Callable[..., Any], result: Any, *arguments: Any) -> Callable[[Any], Any]:
    """Register the decorated function, which emits the code of calls of `function`. None: any type of array."""

    def register(code: Any) -> Any:
        def types_of(*given: Any) -> Any:
            return result(*(wanted or own for wanted, own in zip(arguments, given, strict=True)))

        def implementation(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return code(context, builder, signature.args, *values) or context.get_dummy_value()

        types_of.pysig = inspect.signature(function)  # type: ignore[attr-defined]  # numba reads it
        type_callable(function)(lambda context: types_of)
        lower_builtin(function, *(wanted or types.Array for wanted in arguments))(implementation)
        return code

    return register


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of an item of a contiguous array; the index counts through all dimensions."""
    data = context.make_array(array_type)(context, builder, array).data
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))  # a record's pointer is one of bytes
    return cgutils.pointer_add(builder, data, builder.mul(index, _INT64(size)), return_type=_BYTES)


@_lowered(memory.prefetch, types.void, None, types.intp)
def _prefetch(context: Any, builder: Any, args: Any, array: Any, index: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _INT, _INT, _INT])
    function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
    to_read, keep_close, data = _INT(0), _INT(3), _INT(1)
    builder.call(function, [_pointer(context, builder, args[0], array, index), to_read, keep_close, data])


@_lowered(memory.get_eight, types.uint64, None, types.intp)
def _get_eight(context: Any, builder: Any, args: Any, array: Any, index: Any) -> Any:
    pointer = _pointer(context, builder, args[0], array, index)
    return builder.load(builder.bitcast(pointer, _INT64.as_pointer()), align=1)


@_lowered(memory.put_eight, types.void, None, types.intp, types.uint64)
def _put_eight(context: Any, builder: Any, args: Any, array: Any, index: Any, value: Any) -> None:
    pointer = _pointer(context, builder, args[0], array, index)
    builder.store(value, builder.bitcast(pointer, _INT64.as_pointer()), align=1)


@_lowered(memory.count_ones, types.int64, types.int64)
def _count_ones(context: Any, builder: Any, args: Any, value: Any) -> Any:
    return builder.ctpop(value)


@_lowered(memory.copy_bytes, types.void, None, types.intp, types.intp, None, types.intp)
def _copy(context: Any, builder: Any, args: Any, source: Any, begin: Any, size: Any, target: Any, at: Any) -> None:
    to, start = _pointer(context, builder, args[3], target, at), _pointer(context, builder, args[0], source, begin)
    cgutils.raw_memmove(builder, to, start, size, 1)


@_lowered(memory.part, lambda *given: given[0](*given), None, types.intp, types.intp)
def _part(context: Any, builder: Any, args: Any, array: Any, begin: Any, size: Any) -> Any:
    result = context.make_array(args[0])(context, builder, array)
    data = _pointer(context, builder, args[0], array, begin)
    result.data, result.nitems = builder.bitcast(data, result.data.type), size
    result.shape = cgutils.pack_array(builder, [size])
    return result._getvalue()


_NARROW, _SHORTS = (ir.VectorType(ir.IntType(bits), memory.WIDTH) for bits in (8, 16))


def _load_wide(context: Any, builder: Any, array_type: Any, array: Any, begin: Any) -> Any:
    pointer = _pointer(context, builder, array_type, array, begin)
    return builder.sext(builder.load(builder.bitcast(pointer, _NARROW.as_pointer()), align=1), _SHORTS)


@_lowered(memory.widen, types.void, None, types.intp, None, types.intp)
def _widen(context: Any, builder: Any, args: Any, source: Any, begin: Any, target: Any, position: Any) -> None:
    to = builder.bitcast(_pointer(context, builder, args[2], target, position), _SHORTS.as_pointer())
    builder.store(_load_wide(context, builder, args[0], source, begin), to, align=2)


@_lowered(memory.add_wide, types.void, None, types.intp, types.int16, None)
def _add_wide(context: Any, builder: Any, args: Any, source: Any, begin: Any, factor: Any, target: Any) -> None:
    first = builder.insert_element(ir.Constant(_SHORTS, ir.Undefined), factor, _INT(0))
    factors = builder.shuffle_vector(
        first, ir.Constant(_SHORTS, ir.Undefined), ir.Constant(ir.VectorType(_INT, memory.WIDTH), [0] * memory.WIDTH)
    )
    to = builder.bitcast(_pointer(context, builder, args[3], target, _INT64(0)), _SHORTS.as_pointer())
    product = builder.mul(factors, _load_wide(context, builder, args[0], source, begin))
    builder.store(builder.add(builder.load(to, align=2), product), to, align=2)


_PAIRS, _SUMS, _WIDE = (ir.VectorType(ir.IntType(bits), n) for bits, n in ((16, 16), (32, 8), (32, 16)))


def _add_products(builder: Any, total: Any, left: Any, right: Any) -> Any:
    """Return total[k] + left[0] right[2k] + left[1] right[2k + 1]: a single instruction and an addition on x86."""
    first = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), left, _INT(0))
    repeated = builder.shuffle_vector(first, ir.Constant(_SUMS, ir.Undefined), ir.Constant(_SUMS, [0] * 8))
    wide = [builder.sext(vector, _WIDE) for vector in (builder.bitcast(repeated, _PAIRS), right)]
    products, none = builder.mul(*wide), ir.Constant(_WIDE, ir.Undefined)
    even, odd = (ir.Constant(_SUMS, list(range(k, 16, 2))) for k in (0, 1))
    added = builder.add(builder.shuffle_vector(products, none, even), builder.shuffle_vector(products, none, odd))
    return builder.add(total, added)


@_lowered(memory.multiply_tile, types.void, None, types.intp, types.intp, None, types.intp, types.intp, None)
def _multiply_tile(
    context: Any, builder: Any, args: Any,
    left: Any, row: Any, stride: Any, right: Any, begin: Any, pairs: Any, sums: Any,
) -> None:  # fmt: skip
    halves = memory.TILE_COLUMNS // 8
    totals = [cgutils.alloca_once_value(builder, ir.Constant(_SUMS, None)) for _ in range(memory.TILE_ROWS * halves)]
    for total in totals:
        builder.store(ir.Constant(_SUMS, None), total)
    rows = [builder.add(row, builder.mul(stride, _INT64(k))) for k in range(memory.TILE_ROWS)]
    with cgutils.for_range(builder, pairs, intp=_INT64) as loop:
        at = builder.add(begin, builder.mul(loop.index, _INT64(2 * memory.TILE_COLUMNS)))
        columns = [
            builder.load(
                builder.bitcast(
                    _pointer(context, builder, args[3], right, builder.add(at, _INT64(16 * half))), _PAIRS.as_pointer()
                ),
                align=2,
            )
            for half in range(halves)
        ]
        for k, first in enumerate(rows):
            item = _pointer(context, builder, args[0], left, builder.add(first, builder.mul(loop.index, _INT64(2))))
            pair = builder.load(builder.bitcast(item, _INT.as_pointer()), align=2)
            for half, column in enumerate(columns):
                total = totals[k * halves + half]
                builder.store(_add_products(builder, builder.load(total), pair, column), total)
    for k, total in enumerate(totals):
        target = _pointer(context, builder, args[6], sums, _INT64(8 * k))
        builder.store(builder.load(total), builder.bitcast(target, _SUMS.as_pointer()), align=4)


_REALS = ir.VectorType(ir.FloatType(), 8)


@_lowered(
    memory.multiply_reals, types.void,
    None, types.intp, types.intp, types.intp, None, types.intp, types.intp, types.intp, None,
)  # fmt: skip
def _multiply_reals(
    context: Any, builder: Any, args: Any,
    left: Any, first: Any, row: Any, step: Any, right: Any, begin: Any, width: Any, n: Any, sums: Any,
) -> None:  # fmt: skip
    halves = memory.TILE_COLUMNS // 8
    targets = [
        builder.bitcast(_pointer(context, builder, args[8], sums, _INT64(8 * k)), _REALS.as_pointer())
        for k in range(memory.TILE_ROWS * halves)
    ]
    totals = [cgutils.alloca_once_value(builder, ir.Constant(_REALS, None)) for _ in targets]
    for total, target in zip(totals, targets, strict=True):
        builder.store(builder.load(target, align=4), total)
    rows = [builder.add(first, builder.mul(row, _INT64(k))) for k in range(memory.TILE_ROWS)]
    with cgutils.for_range(builder, n, intp=_INT64) as loop:
        at = builder.add(begin, builder.mul(loop.index, width))
        columns = []
        for half in range(halves):
            item = _pointer(context, builder, args[4], right, builder.add(at, _INT64(8 * half)))
            columns.append(builder.load(builder.bitcast(item, _REALS.as_pointer()), align=4))
        for k, start in enumerate(rows):
            item = _pointer(context, builder, args[0], left, builder.add(start, builder.mul(loop.index, step)))
            real = builder.load(builder.bitcast(item, ir.FloatType().as_pointer()), align=4)
            one = builder.insert_element(ir.Constant(_REALS, ir.Undefined), real, _INT(0))
            repeated = builder.shuffle_vector(one, ir.Constant(_REALS, ir.Undefined), ir.Constant(_SUMS, [0] * 8))
            for half, column in enumerate(columns):
                total = totals[k * halves + half]
                builder.store(builder.fadd(builder.load(total), builder.fmul(repeated, column)), total)
    for total, target in zip(totals, targets, strict=True):
        builder.store(builder.load(total), target, align=4)


@_lowered(memory.fence, types.void)
def _fence(context: Any, builder: Any, args: Any) -> None:
    builder.fence("acq_rel")


@intrinsic
def load(typing_context: Any, pointer: Any) -> Any:
    """Return the value at an address. The arrays in it are Python's: numba need not count references to them."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.unpack_value(builder, pointer.dtype, arguments[0])
        for _, counted in context.nrt.get_meminfos(builder, pointer.dtype, value):
            builder.assume(builder.icmp_unsigned("==", counted, counted.type(None)))
        return value

    return pointer.dtype(pointer), code


@intrinsic
def store(typing_context: Any, value: Any, pointer: Any) -> Any:
    """Write a value to an address, and count this reference to each array in it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        context.nrt.incref(builder, pointer.dtype, arguments[0])
        context.pack_value(builder, pointer.dtype, *arguments)
        return context.get_dummy_value()

    return types.void(pointer.dtype, pointer), code
