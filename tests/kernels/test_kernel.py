"""Calls of kernels from Python: types are checked, arrays are passed and returned, other threads run meanwhile."""

import sys
import threading
from collections.abc import Callable
from enum import IntEnum
from types import ModuleType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from support.command_line import TIMEOUT

from capfst.kernels import (
    add_rows,
    allocating,
    copy_bytes,
    count_ones,
    get_eight,
    inner,
    kernel,
    memory,
    multiply_reals,
    multiply_tile,
    prefetch,
    put_eight,
    read_gates,
    round_tile,
)
from capfst.kernels.types import (
    Array,
    BoolArray,
    F32Array,
    F32Matrix,
    F64Array,
    F64Matrix,
    I8Array,
    I8Matrix,
    I16Array,
    I32Array,
    I64Array,
    I64Matrix,
    Record,
    U8Array,
    U32Strided,
    f32,
    f64,
    i8,
    i64,
    u8,
    u32,
    u64,
)

ITEM = np.dtype([("key", "u1"), ("cost", "f8"), ("rank", "i4")], align=True)
ItemArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(ITEM)]
Item: TypeAlias = Annotated[Any, Record(ITEM)]
Floats = TypeVar("Floats", F32Array, F64Array)


class Factor(IntEnum):
    THREE = 3


class Scale(NamedTuple):
    factor: float
    ends: tuple[int, int]


@kernel
def total(values: F64Array, scale: Scale) -> f64:
    result = 0.0
    for i in range(scale.ends[0], scale.ends[1]):
        result += values[i] * scale.factor
    return result


@kernel
def kinds(small: i8, large: u64, real: f32, flag: bool) -> tuple[i64, u64, f64, bool]:
    return small, large, real, not flag


@kernel
def unsigned(small: u8, middle: u32) -> tuple[u8, u32]:
    return small, middle


@kernel
def sum_column(column: U32Strided) -> i64:
    result = 0
    for i in range(column.size):
        result += column[i]
    return result


@kernel
def raise_costs(items: ItemArray, by: f64) -> None:
    for i in range(items.size):
        items[i].cost += by


@inner
def half(values: Floats) -> float:
    return values[0] / 2


@kernel
def half_of_both(a: F64Array, b: F32Array) -> tuple[f64, f64]:
    return half(a), half(b)


@allocating
def multiples(values: I64Array, n: i64) -> tuple[I64Matrix, F64Array]:
    table, halves = np.empty((n, values.size), np.int64), values / 2
    for k in range(n):
        for i in range(values.size):
            table[k, i] = k * values[i]
    return table, halves


@allocating
def itself(values: I64Array) -> I64Array:
    return values


@allocating
def too_much(n: i64) -> I64Array:
    return np.zeros(n, np.int64)


@inner
def doubled(a: u8) -> i64:
    return 2 * a


@kernel
def converted(number: i64) -> i64:
    return doubled(number)  # converts it to its lowest byte


@kernel
def multiplied(
    left: I8Matrix, right: I8Array, sums: I32Array, reals: F32Matrix, more: F32Matrix, of_reals: F32Array
) -> None:
    """Multiply rows 2 … 5 of left, and columns 3 … 6 of reals, without the first row of both factors."""
    multiply_tile(left, 100, 50, right, 3, 48, sums)
    multiply_reals(reals, 11, 1, 8, more, 47, 40, 4, of_reals)


@kernel
def read(
    table: I8Matrix, rows: I32Array, sums: I8Array, states: I16Array, h: I8Array, keeps: i64, units: F32Array,
    bias: F32Array, tile: I32Array, result: I8Matrix,
) -> None:  # fmt: skip
    """Add columns 2 … 65 of row rows[1], and 66 … 129 of rows[2]; read 32 units, and round columns 1 … 8."""
    add_rows(table, rows, 1, 2, 2, 64, 64, sums, 3)
    read_gates(sums, 3, 32, keeps, states, h, 1)
    round_tile(tile, units, bias, 1, -100, result, 2, 11)


@kernel
def operate(text: U8Array, room: U8Array, table: F64Matrix) -> tuple[u64, i64]:
    some = text[1:10]
    prefetch(table, 5)
    number = get_eight(some, 1)
    put_eight(room, 0, number)
    copy_bytes(text, 0, 4, room, 8)
    return number, count_ones(255)


@kernel
def wait(flags: I64Array) -> None:
    flags[0] = 1
    while flags[1] == 0:
        flags[flags[2]] += 1  # which could be flags[1]: the compiler must read it again


def test_numbers_of_all_types_that_fit() -> None:
    values = np.arange(4.0)
    for factor in 3, 1.5, np.int8(-3), np.uint64(2**63), np.float32(1.5), Factor.THREE:
        assert total(values, Scale(factor, (1, 4))) == 6 * float(factor)
    returned = kinds(np.int8(-1), np.uint64(2**63 + 1), np.float32(0.5), np.bool_(True))
    assert returned == (-1, 2**63 + 1, 0.5, False)
    assert [type(item) for item in returned] == [int, int, float, bool]


def test_a_type_variable_is_what_the_caller_has() -> None:
    assert half_of_both(np.array([3.0]), np.array([5], np.float32)) == (1.5, 2.5)
    with pytest.raises(TypeError, match="is not one of the types in"):
        half(np.array([3.0]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((128, 0, 0.5, True), "small must be int8, not 128"),
        ((-129, 0, 0.5, True), "small must be int8, not -129"),
        ((1.5, 0, 0.5, True), "small must be int8, not 1.5"),
        ((True, 0, 0.5, True), "small must be int8, not True"),
        ((1, -1, 0.5, True), "large must be uint64, not -1"),
        ((1, 2**64, 0.5, True), "large must be uint64"),
        ((1, 0, "0.5", True), "real must be float32, not '0.5'"),
        ((1, 0, 0.5, 1), "flag must be bool, not 1"),
        ((1, 0, 0.5), "takes 4 numbers and arrays, not 3"),
    ],
)
def test_other_numbers_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(TypeError, match=f"kinds:? {message}"):
        kinds(*arguments)


@pytest.mark.parametrize(("small", "middle"), [(-1, 0), (256, 0), (0, -1), (0, 2**32), (-(2**63), 0), (0, 2**64)])
def test_unsigned_numbers(small: int, middle: int) -> None:
    assert unsigned(255, 2**32 - 1) == (255, 2**32 - 1)
    name, type_, value = ("middle", "uint32", middle) if middle else ("small", "uint8", small)
    with pytest.raises(TypeError, match=f"unsigned: {name} must be {type_}, not {value}"):
        unsigned(small, middle)


@pytest.mark.parametrize(
    "items",
    [
        np.zeros(3),
        np.zeros((3, 1), ITEM),
        np.zeros(6, ITEM)[::2],
        np.zeros(3, [("key", "u1"), ("cost", "f8"), ("rank", "i4")]),  # not aligned, so of another size
        np.zeros(3, ITEM.newbyteorder()),
        [1, 2],
        None,
    ],
)
def test_other_arrays_are_refused(items: object) -> None:
    with pytest.raises(TypeError, match="raise_costs: items must be a contiguous array of "):
        raise_costs(items, 1)


def test_an_error_inside_a_tuple_is_named() -> None:
    with pytest.raises(TypeError, match=r"total: scale\.ends\[1\] must be int64, not 'x'"):
        total(np.zeros(3), Scale(1, (0, "x")))
    with pytest.raises(TypeError, match="total takes 4 numbers and arrays, not 2"):
        total(np.zeros(3), 1)
    with pytest.raises(TypeError, match="converted takes no keyword"):
        converted(number=1)


def test_a_call_that_is_refused_changes_nothing() -> None:
    items = np.zeros(3, ITEM)
    with pytest.raises(TypeError, match="raise_costs takes no keyword"):
        raise_costs(items, 1, more=2)
    assert items["cost"].tolist() == [0] * 3


def test_messages_are_short() -> None:
    with pytest.raises(TypeError, match="total: values must be a contiguous array of float64") as gaps:
        total(np.zeros(8)[::2], Scale(1, (0, 1)))
    assert "not an array with gaps of float64" in str(gaps.value)
    with pytest.raises(TypeError) as long:
        total("x" * 100_000, Scale(1, (0, 1)))
    assert len(str(long.value)) < 200


def test_records_are_written_in_place_whatever_object_their_dtype_is() -> None:
    for dtype in ITEM, np.dtype([("key", "u1"), ("cost", "f8"), ("rank", "i4")], align=True):
        items = np.zeros(3, dtype)
        assert raise_costs(items, 1.5) is None
        assert items["cost"].tolist() == [1.5] * 3


def test_columns() -> None:
    table = np.arange(12, dtype=np.uint32).reshape(4, 3)
    assert sum_column(table[:, 1]) == 1 + 4 + 7 + 10
    assert sum_column(table[::-2, 0]) == 9 + 3
    assert sum_column(table[0]) == 3


def test_arrays_that_kernels_make_live_as_long_as_they_are_used() -> None:
    table, halves = multiples(np.arange(3), 3)
    view = table[2:]
    del table
    for _ in range(100):
        multiples(np.arange(1000), 3)
    assert view.tolist() == [[0, 2, 4]]
    assert halves.tolist() == [0, 0.5, 1]
    view[0, 0] = 1
    empty, _ = multiples(np.arange(0), 2)
    assert empty.shape == (2, 0)


def test_an_argument_that_is_returned() -> None:
    values = np.arange(3)
    assert itself(values) is values


def test_no_memory() -> None:
    with pytest.raises(MemoryError, match="too_much"):
        too_much(2**58)
    with pytest.raises(MemoryError, match="too_much"):
        too_much(-1)


def test_arguments_become_the_types_of_inner_kernels() -> None:
    assert converted(257) == 2
    assert doubled(7) == 14  # Python can also call it; it is then compiled


def test_memory_in_kernels_and_in_python() -> None:
    text, room, table = np.arange(16, dtype=np.uint8), np.zeros(12, np.uint8), np.arange(6.0).reshape(2, 3)
    number = int.from_bytes(bytes(range(2, 10)), "little")
    for run in operate, operate.py_func:
        room[:] = 0
        assert run(text, room, table) == (number, 8)
        assert room.tolist() == [*range(2, 10), *range(4)]
    assert memory.prefetch(text, 0) is memory.fence() is None


@pytest.mark.parametrize("multiplied", [multiplied, multiplied.py_func])
def test_products_of_tiles(multiplied: Callable[..., None]) -> None:
    random = np.random.default_rng(1)
    left = random.integers(0, 128, (7, 50)).astype(np.int8)
    right = random.integers(-31, 32, (48, 8)).astype(np.int8)
    packed = np.append(np.zeros(3, np.int8), right.reshape(12, 4, 8).transpose(0, 2, 1).ravel())
    reals, more = random.standard_normal((5, 8)).astype(np.float32), random.standard_normal((6, 40)).astype(np.float32)
    sums, of_reals = np.empty(32, np.int32), np.ones(64, np.float32)
    left[2], right[:, 0], packed[3:].reshape(12, 8, 4)[:, 0] = 127, -31, -31  # the largest sums
    multiplied(left, packed, sums, reals, more, of_reals)
    assert (sums.reshape(4, 8) == left[2:6, :48].astype(int) @ right).all()
    assert np.allclose(of_reals.reshape(4, 16), 1 + reals[1:, 3:7].T @ more[1:5, 7:23], atol=1e-5)


@pytest.mark.parametrize("keeps", [0, -1])
def test_readings_in_python(keeps: int) -> None:
    random, found = np.random.default_rng(2), []
    table = random.integers(-128, 128, (9, 140)).astype(np.int8)
    rows, states = np.array([7, 3, 8], np.int32), random.integers(-16384, 16386, 33).astype(np.int16)
    units, bias = random.standard_normal((2, 12)).astype(np.float32)
    tile = random.integers(-200, 200, 32).astype(np.int32)
    for function in (read, read.py_func):
        sums, h, result = np.zeros(70, np.int8), np.zeros(40, np.int8), np.zeros((4, 11), np.int8)
        mine = states.copy()
        function(table, rows, sums, mine, h, keeps, units, bias, tile, result)
        found.append(np.concatenate([sums, mine, h, result.ravel()]))
    assert (found[0] == found[1]).all()
    total = table[3, 2:66].astype(int) + table[8, 66:130]
    assert found[0][3:67].tolist() == total.clip(-128, 127).tolist()
    assert 0 <= h.min() < h.max() <= 64
    assert (
        result.ravel()[2 + 11 : 2 + 11 + 8].tolist()
        == np.rint(tile[8:16] * units[1:9] + bias[1:9]).clip(-100, 127).tolist()
    )


def test_other_threads_run_while_a_kernel_does() -> None:
    flags = np.array([0, 0, 3, 0])
    wait(np.ones_like(flags))  # compiles it
    thread = threading.Thread(target=wait, args=(flags,), daemon=True)
    thread.start()
    while not flags[0]:
        assert thread.is_alive()
    flags[1] = 1
    thread.join(TIMEOUT)
    assert not thread.is_alive()


def test_annotations_that_no_kernel_can_have() -> None:
    def unannotated(a, b: i64) -> None: ...  # type: ignore[no-untyped-def]

    def of_text(a: str) -> None: ...

    def of_a_record(a: Item) -> None: ...

    def without_a_result(a: BoolArray): ...  # type: ignore[no-untyped-def]

    for function, message in (
        (unannotated, "unannotated: a has no annotation"),
        (of_text, "<class 'str'> is not one of the types in"),
        (of_a_record, "is a record, which only kernels"),
        (without_a_result, "return has no annotation"),
    ):
        with pytest.raises(TypeError, match=message):
            kernel(function)(1)


def test_what_changes_machine_code_changes_the_digest() -> None:
    def of(source: str) -> str:
        names = {"inner": inner, "kernel": kernel, "i64": i64, "u8": u8, "__name__": "made"}
        exec(source, names)
        return names["f"].digest

    first = "N = 3\n@inner\ndef g(a: i64) -> i64:\n    return a + N\n@kernel\ndef f(a: i64) -> i64:\n    return g(a)\n"
    assert of(first) == of(first.replace("    return g", "    # a comment\n    return g"))
    others = [
        first.replace("N = 3", "N = 4"),
        first.replace("a + N", "a - N"),
        first.replace("def g(a: i64)", "def g(a: u8)"),
        first.replace("return g(a)", "return g(a) + 1"),
    ]
    assert len({of(source) for source in [first, *others]}) == 5


def test_what_a_kernel_reads_from_a_module_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("capfst.made")
    monkeypatch.setitem(sys.modules, "capfst.made", module)

    def of(source: str) -> str:
        names = {"inner": inner, "kernel": kernel, "i64": i64, "__name__": "capfst.made"}
        exec(source, names)
        vars(module).update(names)
        exec("@kernel\ndef f(a: i64) -> i64:\n    return made.g(a) + made.N\n", names | {"made": module}, names)
        return names["f"].digest

    first = "N = M = 3\n@inner\ndef g(a: i64) -> i64:\n    return a + M\n"
    others = [first.replace("N = M = 3", "N, M = 4, 3"), first.replace("a + M", "a - M"), first.replace("= 3", "= 4")]
    assert len({of(source) for source in [first, *others]}) == 4
