"""The operations of memory.py and of entries as LLVM instructions, by numba's low-level extension API."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, type_callable

from capfst.kernels import memory

_BYTES, _INT, _INT64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)


_TYPES = {int: types.intp, np.uint64: types.uint64, type(None): types.void}
"""numba's types of annotations other than arrays."""


def _lowered(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Register the decorated function, which emits the code of calls of `function`, a function of memory.py."""
    *arguments, result = map(_TYPES.get, get_type_hints(function).values())

    def types_of(*given: Any) -> Any:
        return (result or given[0])(*(wanted or own for wanted, own in zip(arguments, given, strict=True)))

    def register(code: Any) -> Any:
        def implementation(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            typed = zip(signature.args, values, strict=True)
            given = [_Items(context, builder, *each) if isinstance(each[0], types.Array) else each[1] for each in typed]
            return code(builder, *given) or context.get_dummy_value()

        types_of.pysig = inspect.signature(function)  # type: ignore[attr-defined]  # numba reads it
        type_callable(function)(lambda context: types_of)
        lower_builtin(function, *(wanted or types.Array for wanted in arguments))(implementation)
        return code

    return register


class _Items:
    """A contiguous array. A call gives the address of an item; the index counts through all dimensions."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.array, self.builder = context.make_array(kind)(context, builder, value), builder
        self.size = _INT64(context.get_abi_sizeof(context.get_data_type(kind.dtype)))

    def __call__(self, index: Any) -> Any:  # a record's pointer is one of bytes
        offset = self.builder.mul(index, self.size)
        return cgutils.pointer_add(self.builder, self.array.data, offset, return_type=_BYTES)


@_lowered(memory.prefetch)
def _prefetch(builder: Any, array: Any, index: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _INT, _INT, _INT])
    function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
    to_read, keep_close, data = _INT(0), _INT(3), _INT(1)
    builder.call(function, [array(index), to_read, keep_close, data])


@_lowered(memory.get_eight)
def _get_eight(builder: Any, array: Any, index: Any) -> Any:
    return _vector(builder, _INT64, array(index))


@_lowered(memory.put_eight)
def _put_eight(builder: Any, array: Any, index: Any, value: Any) -> None:
    _put_vector(builder, value, array(index))


@_lowered(memory.count_ones)
def _count_ones(builder: Any, value: Any) -> Any:
    return builder.ctpop(value)


@_lowered(memory.copy_bytes)
def _copy(builder: Any, source: Any, begin: Any, size: Any, target: Any, at: Any) -> None:
    cgutils.raw_memmove(builder, target(at), source(begin), size, 1)


@_lowered(memory.part)
def _part(builder: Any, array: Any, begin: Any, size: Any) -> Any:
    begun, result = array(begin), array.array
    result.data, result.nitems = builder.bitcast(begun, result.data.type), size
    result.shape = cgutils.pack_array(builder, [size])
    return result._getvalue()


_SUMS = ir.VectorType(_INT, 8)
_BYTES32, _HALVES, _SHORTS, _PRODUCTS = (
    ir.VectorType(ir.IntType(bits), n) for bits, n in ((8, 32), (8, 16), (16, 16), (32, 16))
)


def _all(number: int, kind: Any = _SHORTS) -> Any:
    return ir.Constant(kind, [number] * kind.count)


def _repeated(builder: Any, item: Any, kind: Any) -> Any:
    """Return a vector of equal items."""
    one, zeros = builder.insert_element(ir.Constant(kind, ir.Undefined), item, _INT(0)), ir.VectorType(_INT, kind.count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), ir.Constant(zeros, [0] * kind.count))


def _every_other(builder: Any, vector: Any) -> list[Any]:
    """Return the items with even indices, and those with odd ones."""
    kind, half = vector.type, ir.VectorType(_INT, vector.type.count // 2)
    indices = (ir.Constant(half, list(range(k, kind.count, 2))) for k in (0, 1))
    return [builder.shuffle_vector(vector, ir.Constant(kind, ir.Undefined), each) for each in indices]


def _vector(builder: Any, kind: Any, pointer: Any) -> Any:
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=1)


def _put_vector(builder: Any, vector: Any, pointer: Any) -> None:
    builder.store(vector, builder.bitcast(pointer, vector.type.as_pointer()), align=1)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    """Call an operation of LLVM on vectors, whose result is of the first one's type."""
    kind = arguments[0].type
    function = ir.FunctionType(kind, [argument.type for argument in arguments])
    name = f"llvm.{name}.v{kind.count}{kind.element.intrinsic_name}"
    return builder.call(builder.module.declare_intrinsic(name, (), function), arguments)


def _sums(builder: Any, kind: Any, n: int) -> list[Any]:
    """Return n variables for vectors, which are 0."""
    return [cgutils.alloca_once_value(builder, ir.Constant(kind, None)) for _ in range(n)]


def _add(builder: Any, total: Any, more: Any) -> None:
    """Add a vector of integers to a variable."""
    builder.store(builder.add(builder.load(total), more), total)


def _byte_products(builder: Any, left: Any, right: Any) -> Any:
    """Return left[2k] right[2k] + left[2k + 1] right[2k + 1] in 16 bits, which saturate: an instruction on x86. The
    items of `left` have no sign."""
    factors = zip(_every_other(builder, left), _every_other(builder, right), strict=True)
    even, odd = (builder.mul(builder.zext(a, _PRODUCTS), builder.sext(b, _PRODUCTS)) for a, b in factors)
    total = _call(builder, "smin", builder.add(even, odd), _all(32767, _PRODUCTS))
    return builder.trunc(_call(builder, "smax", total, _all(-32768, _PRODUCTS)), _SHORTS)


def _load_wide(builder: Any, array: Any, begin: Any) -> Any:
    return builder.sext(_vector(builder, _HALVES, array(begin)), _SHORTS)


@_lowered(memory.widen)
def _widen(builder: Any, source: Any, begin: Any, target: Any, position: Any) -> None:
    _put_vector(builder, _load_wide(builder, source, begin), target(position))


@_lowered(memory.add_wide)
def _add_wide(builder: Any, source: Any, begin: Any, factor: Any, target: Any) -> None:
    place = target(_INT64(0))
    product = builder.mul(
        _repeated(builder, builder.trunc(factor, ir.IntType(16)), _SHORTS), _load_wide(builder, source, begin)
    )
    _put_vector(builder, builder.add(_vector(builder, _SHORTS, place), product), place)


@_lowered(memory.multiply_shorts)
def _multiply_shorts(
    builder: Any, left: Any, row: Any, stride: Any, right: Any, begin: Any, pairs: Any, sums: Any,
) -> None:  # fmt: skip
    halves = memory.SHORT_COLUMNS // 8
    totals = _sums(builder, _SUMS, memory.TILE_ROWS * halves)
    rows = [builder.add(row, builder.mul(stride, _INT64(k))) for k in range(memory.TILE_ROWS)]
    with cgutils.for_range(builder, pairs, intp=_INT64) as loop:
        at = builder.add(begin, builder.mul(loop.index, _INT64(2 * memory.SHORT_COLUMNS)))
        columns = [_vector(builder, _SHORTS, right(builder.add(at, _INT64(16 * half)))) for half in range(halves)]
        for k, first in enumerate(rows):
            item = left(builder.add(first, builder.mul(loop.index, _INT64(2))))
            pair = builder.load(builder.bitcast(item, _INT.as_pointer()), align=2)
            repeated = builder.bitcast(_repeated(builder, pair, _SUMS), _SHORTS)
            for half, column in enumerate(columns):
                products = builder.mul(builder.sext(repeated, _PRODUCTS), builder.sext(column, _PRODUCTS))
                _add(builder, totals[k * halves + half], builder.add(*_every_other(builder, products)))
    for k, total in enumerate(totals):
        _put_vector(builder, builder.load(total), sums(_INT64(8 * k)))


@_lowered(memory.multiply_tile)
def _multiply_tile(
    builder: Any, left: Any, row: Any, stride: Any, right: Any, begin: Any, size: Any, sums: Any,
) -> None:  # fmt: skip
    totals = _sums(builder, _SUMS, memory.TILE_ROWS)
    rows = [builder.add(row, builder.mul(stride, _INT64(k))) for k in range(memory.TILE_ROWS)]
    with cgutils.for_range_slice(builder, _INT64(0), size, _INT64(memory.TILE_INPUTS), _INT64) as (at, _):
        first = builder.add(begin, builder.mul(at, _INT64(memory.TILE_COLUMNS)))
        columns = [
            _vector(builder, _BYTES32, right(builder.add(first, _INT64(32 * k))))
            for k in range(memory.TILE_INPUTS // 4)
        ]
        for start, total in zip(rows, totals, strict=True):
            short = None  # four products of at most 2 · 127 · 31 fit in 16 bits
            for k, column in enumerate(columns):
                index = builder.add(builder.add(start, at), _INT64(4 * k))
                four = builder.bitcast(left(index), _INT.as_pointer())
                repeated = builder.bitcast(_repeated(builder, builder.load(four, align=1), _SUMS), _BYTES32)
                products = _byte_products(builder, repeated, column)
                short = builder.add(short, products) if short else products
            _add(builder, total, builder.add(*_every_other(builder, builder.sext(short, _PRODUCTS))))
    for k, total in enumerate(totals):
        _put_vector(builder, builder.load(total), sums(_INT64(8 * k)))


_REALS = ir.VectorType(ir.FloatType(), 8)


@_lowered(memory.round_tile)
def _round_tile(
    builder: Any, sums: Any, units: Any, bias: Any, column: Any, least: Any, result: Any, to: Any, stride: Any,
) -> None:  # fmt: skip
    unit, of_bias = (_vector(builder, _REALS, array(column)) for array in (units, bias))
    floor = _repeated(builder, builder.trunc(least, _INT), _SUMS)
    for k in range(memory.TILE_ROWS):
        total = _vector(builder, _SUMS, sums(_INT64(8 * k)))
        real = builder.fadd(builder.fmul(builder.sitofp(total, _REALS), unit), of_bias)
        number = builder.fptosi(_call(builder, "rint", real), _SUMS)
        number = _call(builder, "smin", _call(builder, "smax", number, floor), _all(127, _SUMS))
        place = result(builder.add(to, builder.mul(stride, _INT64(k))))
        _put_vector(builder, builder.trunc(number, ir.VectorType(ir.IntType(8), 8)), place)


@_lowered(memory.multiply_reals)
def _multiply_reals(
    builder: Any, left: Any, first: Any, row: Any, step: Any, right: Any, begin: Any, width: Any, n: Any, sums: Any,
) -> None:  # fmt: skip
    halves = memory.REAL_COLUMNS // 8
    targets = [sums(_INT64(8 * k)) for k in range(memory.TILE_ROWS * halves)]
    totals = _sums(builder, _REALS, len(targets))
    for total, target in zip(totals, targets, strict=True):
        builder.store(_vector(builder, _REALS, target), total)
    rows = [builder.add(first, builder.mul(row, _INT64(k))) for k in range(memory.TILE_ROWS)]
    with cgutils.for_range(builder, n, intp=_INT64) as loop:
        at = builder.add(begin, builder.mul(loop.index, width))
        columns = [_vector(builder, _REALS, right(builder.add(at, _INT64(8 * half)))) for half in range(halves)]
        for k, start in enumerate(rows):
            item = left(builder.add(start, builder.mul(loop.index, step)))
            real = builder.load(builder.bitcast(item, ir.FloatType().as_pointer()), align=4)
            repeated = _repeated(builder, real, _REALS)
            for half, column in enumerate(columns):
                total = totals[k * halves + half]
                builder.store(_call(builder, "fma", repeated, column, builder.load(total)), total)
    for total, target in zip(totals, targets, strict=True):
        _put_vector(builder, builder.load(total), target)


@_lowered(memory.add_rows)
def _add_rows(
    builder: Any, table: Any, rows: Any, at: Any, n: Any, first: Any, stride: Any, size: Any, sums: Any, to: Any,
) -> None:  # fmt: skip
    width = cgutils.unpack_tuple(builder, table.array.shape)[1]
    totals = [(cgutils.alloca_once(builder, _BYTES32), _INT64(k)) for k in range(0, memory.ADDED, 32)]
    with cgutils.for_range_slice(builder, _INT64(0), size, _INT64(memory.ADDED), _INT64) as (column, _):
        for total, _ in totals:
            builder.store(ir.Constant(_BYTES32, None), total)
        begin = builder.add(first, column)
        with cgutils.for_range(builder, n, intp=_INT64) as loop:
            number = rows(builder.add(at, loop.index))
            row = builder.sext(builder.load(builder.bitcast(number, _INT.as_pointer())), _INT64)
            index = builder.add(builder.mul(row, width), builder.add(begin, builder.mul(loop.index, stride)))
            for total, k in totals:
                item = _vector(builder, _BYTES32, table(builder.add(index, k)))
                builder.store(_call(builder, "sadd.sat", builder.load(total), item), total)
        for total, k in totals:
            index = builder.add(builder.add(to, column), k)
            _put_vector(builder, builder.load(total), sums(index))


def _high_products(builder: Any, left: Any, right: Any) -> Any:
    """Return left · right / 2¹⁶, rounded down: an instruction on x86."""
    products = builder.mul(builder.sext(left, _PRODUCTS), builder.sext(right, _PRODUCTS))
    return builder.trunc(builder.lshr(products, _all(16, _PRODUCTS)), _SHORTS)


@_lowered(memory.read_gates)
def _read_gates(builder: Any, gates: Any, at: Any, units: Any, keeps: Any, states: Any, h: Any, to: Any) -> None:
    mask = _repeated(builder, builder.trunc(keeps, ir.IntType(16)), _SHORTS)

    def q(index: Any) -> Any:
        x = builder.sext(_vector(builder, _HALVES, gates(index)), _SHORTS)
        x = builder.shl(_call(builder, "smin", _call(builder, "smax", x, _all(-63)), _all(63)), _all(9))
        absolute = _call(builder, "smax", x, builder.sub(_all(0), x))
        return builder.sub(x, _high_products(builder, x, absolute))

    with cgutils.for_range_slice(builder, _INT64(0), units, _INT64(memory.LANES), _INT64) as (unit, _):
        index = builder.add(at, builder.mul(unit, _INT64(2)))
        f, c = _call(builder, "sadd.sat", q(index), _all(1 << 14)), q(builder.add(index, _INT64(memory.LANES)))
        place = states(unit)
        difference = _call(builder, "ssub.sat", builder.and_(_vector(builder, _SHORTS, place), mask), c)
        moved = builder.shl(_high_products(builder, f, difference), _all(1))
        state = builder.add(builder.add(c, moved), _all(1))
        _put_vector(builder, state, place)
        shown = builder.lshr(builder.add(state, _all((1 << 14) + (1 << 8))), _all(9))
        _put_vector(builder, builder.trunc(shown, _HALVES), h(builder.add(to, unit)))


@_lowered(memory.fence)
def _fence(builder: Any) -> None:
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
