"""Calls of kernels from Python: each finds the machine code for its arguments, whatever it was called with before."""

import threading
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pytest
from support.command_line import TIMEOUT

from capfst.system import kernel_cache
from capfst.system.kernels import kernel


class Factor(IntEnum):
    THREE = 3


class Scale(NamedTuple):
    factor: float
    ends: tuple[int, int]


@kernel
def total(values, scale):
    result = 0.0
    for i in range(scale.ends[0], scale.ends[1]):
        result += values[i] * (1.0 * scale.factor)
    return result


@kernel
def length(values):
    return len(values)


@kernel
def kinds(small, large, real):
    return small, large, real, large > 2, (small > 2, None)


@kernel
def negative(number):
    if number < 0:
        raise ValueError("negative")


@kernel
def wait(flags):
    flags[0] = 1
    while flags[1] == 0:
        flags[flags[2]] += 1  # which could be flags[1], so that it is read again


@pytest.fixture
def loads(monkeypatch):
    """The names of the kernels for which machine code was looked for, once for each combination of types."""
    names = []
    monkeypatch.setattr(kernel_cache, "load", lambda function, types: names.append(function.__name__))
    return names


VALUES = [
    np.arange(4.0),
    np.arange(4),
    np.arange(4, dtype=np.uint8),
    np.arange(4, dtype=np.longlong),  # equal to int64, but another object
    np.arange(8)[::2],
    np.arange(8.0)[::2],
    np.frombuffer(bytes(range(4)), np.uint8),  # read-only
    np.frombuffer(b" " + np.arange(4.0).tobytes(), np.float64, 4, 1),  # not aligned
]
FACTORS = [3, 1.5, True, np.int8(-3), np.uint64(2**63), np.float32(1.5), np.bool_(False), Factor.THREE]


def test_each_call_is_of_the_code_for_its_types(loads):
    for _ in range(2):
        for values in VALUES:
            for factor in FACTORS:
                assert total(values, Scale(factor, (1, 4))) == sum(values.tolist()[1:]) * float(factor)
    n_types = len(VALUES) - 2  # longlong and read-only
    assert loads == ["total"] * n_types * len(FACTORS)


def test_tuples_of_other_lengths_and_arrays_of_other_dimensions():
    for _ in range(2):
        for values in (1, 2), (1, 2, 3), np.zeros(4), np.zeros((5, 2)), np.zeros((6, 1, 1)):
            assert length(values) == len(values)


def test_dtypes_that_are_equal_need_one_machine_code(loads):
    for size in 1, 2, 3:
        assert length(np.zeros(size, [("a", "u1"), ("b", "f4")])) == size
    assert loads == ["length"]


def test_what_is_returned():
    large = 2**63 + 1
    returned = kinds(np.int8(-1), np.uint64(large), np.float32(0.5))
    assert returned == (-1, large, 0.5, True, (False, None))
    assert [type(item) for item in returned] == [int, int, float, bool, tuple]
    assert negative(1) is None


def test_errors():
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            negative(-1)
        with pytest.raises(OverflowError):
            negative(2**63)
        with pytest.raises(TypeError, match="not list"):
            length([1])
    assert negative(2**63 - 1) is None


def test_other_threads_run_while_a_kernel_does():
    flags = np.array([0, 0, 3, 0])
    wait(np.ones_like(flags))  # which compiles it
    thread = threading.Thread(target=wait, args=(flags,), daemon=True)
    thread.start()
    while not flags[0]:
        assert thread.is_alive()
    flags[1] = 1
    thread.join(TIMEOUT)
    assert not thread.is_alive()
