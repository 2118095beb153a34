"""Kernels as wholes and as parts of others: what is compiled how often; that it can be stopped, and says so."""

import signal
import subprocess
import threading
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import event
from support.command_line import TIMEOUT, start
from support.models import tiny

from capfst.system import compilation
from capfst.system.compilation import KEPT, NOT_KEPT, Compilation
from capfst.system.kernels import allocating, compiled_for, copy_bytes, kernel, outlined, part


@kernel
def add(a, b):
    return a + b


@compiled_for("uint64(uint64)")
def halve(a):
    return a >> np.uint64(1)


@kernel
def both(values):
    return add(values[0], 1) + add(values[0], 20) + add(values[1], values[0]), halve(7), halve(np.uint8(255))


@allocating
def doubled(values):
    result = np.empty(values.size, np.int64)
    for i in range(values.size):
        result[i] = add(values[i], values[i])
    return result


@kernel
def swap(values, i, j):
    first = values[i]
    values[i] = values[j]
    values[j] = first


@kernel
def swap_costs(records, i, j):
    first, second = records[i], records[j]
    cost = first.cost
    first.cost = second.cost
    second.cost = cost
    return second.key


class Pair(NamedTuple):
    values: np.ndarray
    ends: tuple[int, int]


@kernel
def swap_ends(pair, extra=None):
    if len(pair.values) < 2:
        raise ValueError("too short")
    swap(pair.values, pair.ends[0], pair.ends[1])
    return pair


@kernel
def swap_twice(values, i, j):
    pair = swap_ends(swap_ends(Pair(values, (i, j))))
    swap(pair.values, np.uint32(0), np.uint64(1))


@allocating
def smallest(values):
    zeros, least = np.zeros(3), np.empty(1)
    least[0] = max(min(values[0], values[1]), zeros.sum())
    return least


@kernel
def counted(begin, end, step, numbers):
    n = 0
    for number in range(begin, end, step):
        numbers[n] = number
        n += 1
    return n


@kernel
def counted_unsigned(begin, end):
    total = np.uint64(0)
    for number in range(np.uint64(begin), np.uint64(end)):
        total += number
    return total


@kernel
def transpose(matrix, result):
    for i in range(matrix.shape[0]):
        row = matrix[i]
        for j in range(row.size):
            result[j, i] = row[j] + matrix[i, j]


@kernel
def largest_of_three(a, b, c):
    most = a
    most = max(most, b)
    most = max(most, c)
    before = most
    most = -1.0
    return before, most


@outlined
def first_digit(text, i):
    return text[i] - 48


@kernel
def digits(text, begin, size, room):
    some = part(text, begin, size)
    copy_bytes(some, 1, some.size - 1, room, 0)
    return first_digit(some, 0), first_digit(some, some.size - 1), some.size


@pytest.fixture
def compiled():
    """The names of the kernels that are compiled, in order."""
    names = []

    class Listener(event.Listener):
        def on_start(self, event):
            names.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Listener()):
        yield names


@pytest.fixture(autouse=True)
def uncached(monkeypatch):
    monkeypatch.setattr("capfst.system.kernel_cache.load", lambda *args: None)


def test_parts_are_compiled_once_for_all_literals(compiled):
    values = np.array([3, 4])
    assert both(values) == (3 + 1 + 3 + 20 + 4 + 3, 3, 127)
    assert both(values) == (3 + 1 + 3 + 20 + 4 + 3, 3, 127)
    assert doubled(values).tolist() == [6, 8]
    assert [name for name in compiled if name in ("add", "halve")] == ["add", "halve"]
    assert compiled.count("both") == 1


def test_a_part_is_a_whole_too():
    assert add(1, 2) == 3
    assert add(1.5, 2) == 3.5
    assert halve(9) == 4


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.bool_])
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize(("i", "j"), [(0, 2), (4, 1), (np.uint8(1), np.int32(2)), (np.uint64(2), np.uint32(2))])
def test_items(dtype, step, i, j):
    compiled, plain = (np.arange(9).astype(dtype)[::step] for _ in range(2))
    swap(compiled, i, j)
    swap.py_func(plain, i, j)
    assert compiled.tolist() == plain.tolist()


@pytest.mark.parametrize("align", [False, True])
def test_items_that_are_records_or_fields_of_them(align):
    dtype = np.dtype([("key", "u1"), ("cost", "f8"), ("rank", "i4")], align=align)
    records = np.array([(1, 1.5, -1), (2, 2.5, -2), (3, 3.5, -3)], dtype)
    assert swap_costs(records, 0, 2) == 3
    swap(records["rank"], 1, 2)
    assert records.tolist() == [(1, 3.5, -1), (2, 2.5, -3), (3, 1.5, -2)]


def test_parts_take_and_return_structures_and_raise_errors():
    values = np.array([5, 6, 7])
    swap_twice(values, 0, 2)
    assert values.tolist() == [6, 5, 7]
    assert swap_ends(Pair(values, (0, 2))).ends == (0, 2)
    assert values.tolist() == [7, 5, 6]
    with pytest.raises(ValueError, match="too short"):
        swap_twice(values[:1], 0, 0)


@pytest.mark.parametrize("arguments", [(0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (5, 0, 1), (0, 5, -1), (-3, 4, 2)])
def test_ranges(arguments):
    numbers = np.zeros(9, np.int64)
    expected = list(range(*arguments))
    assert counted(*arguments, numbers) == len(expected)
    assert numbers[: len(expected)].tolist() == expected


def test_ranges_of_unsigned_numbers():
    assert counted_unsigned(2**63 - 2, 2**63 - 1) == 2**63 - 2
    assert counted_unsigned(3, 2) == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("contiguous", [False, True])
def test_rows_and_items_of_matrices(dtype, contiguous):
    matrix = np.arange(12).reshape(3, 4).astype(dtype)
    result = np.zeros((4, 3), dtype)
    transpose(matrix if contiguous else np.asfortranarray(matrix), result)
    assert result.tolist() == (2 * matrix).T.tolist()


def test_variables_that_change():
    for values in (1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (1.0, 3.0, 2.0):
        assert largest_of_three(*values) == (3.0, -1.0)


def test_parts_of_arrays_and_copies():
    room = np.zeros(4, np.uint8)
    text = np.frombuffer(b"xx1234xx", np.uint8)  # which is read-only
    assert digits(text, 2, 4, room) == (1, 4, 4)
    assert bytes(room) == b"234\0"


def test_numbers_of_all_kinds_are_taken_and_returned():
    assert add(np.float32(1.5), np.float32(2)) == 3.5
    assert add(np.uint64(2**63), np.uint64(5)) == 2**63 + 5
    assert add(np.int8(-3), np.int8(1)) == -2
    assert add(True, 1) == 2
    with pytest.raises(TypeError, match="not str"):
        add("1", "2")


def test_arrays_that_are_not_contiguous():
    values = np.arange(12)[::3]
    assert both(values) == (0 + 1 + 0 + 20 + 3 + 0, 3, 127)


def test_parts_that_numba_has():
    assert smallest(np.array([2.5, 1.5])).tolist() == [1.5]
    assert smallest(np.array([2.5, -1.5])).tolist() == [0]


def test_it_says_so_once_and_only_if_it_takes_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(compilation.time, "monotonic", lambda: now[0])
    said = []
    compiling = Compilation()
    compiling.say = said.append
    with compiling:
        now[0] += 0.6
        compiling.check()
    now[0] += 50  # in which nothing is compiled
    with compiling:
        compiling.check()
        assert said == []
        now[0] += 0.6
        compiling.check()
        compiling.check()
    assert said == [KEPT]


def test_it_says_that_nothing_is_kept(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(compilation.time, "monotonic", lambda: now[0])
    said = []
    compiling = Compilation()
    compiling.say, compiling.are_kept = said.append, lambda: False
    with compiling:
        now[0] += 2
        compiling.check()
    assert said == [NOT_KEPT]


def test_stopping_ends_the_thread_that_compiles():
    compiling = Compilation()
    begun, stopped, ended = threading.Event(), threading.Event(), []

    def work():
        with compiling:
            begun.set()
            stopped.wait(TIMEOUT)
            try:
                compiling.check()
            except KeyboardInterrupt:
                ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(TIMEOUT)
    assert not compiling.stop(KeyboardInterrupt())  # this thread does not compile
    stopped.set()
    thread.join()
    assert ended == [True]
    with compiling:
        assert compiling.stop(KeyboardInterrupt())


@pytest.mark.slow
def test_ctrl_c_while_kernels_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    model, out = tmp_path / "cap.fst", tmp_path / "out.txt"
    tiny().save(model)
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start("recase", "--lm", model, "-o", out, **options) as process:
        assert process.stderr
        line = process.stderr.readline().decode()
        assert line == f"capfst: {KEPT}\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
        assert process.stderr.read().strip() == b"capfst: stopped"
    assert not out.exists()
    assert not list(tmp_path.rglob("*.tmp"))
