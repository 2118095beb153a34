"""as_they_come: all items in order, a bounded number ahead, and its thread ends with the reader."""

import threading
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import TIMEOUT

from capfst.system.parallel import as_they_come


@given(st.lists(st.integers()), st.integers(1, 5))
def test_all_items_in_order(items, most):
    batches = list(as_they_come(iter(items), most))
    assert [item for batch in batches for item in batch] == items
    assert all(1 <= len(batch) <= most for batch in batches)


def test_few_items_are_read_ahead_and_the_thread_ends():
    numbers = count()
    before = set(threading.enumerate())
    batches = as_they_come(numbers, 3)
    seen = next(batches)
    (feeding,) = set(threading.enumerate()) - before
    batches.close()
    feeding.join(TIMEOUT)
    assert not feeding.is_alive()
    assert next(numbers) <= len(seen) + 5


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt()])
def test_an_exception_is_raised_in_its_turn(error):
    def broken():
        yield 1
        raise error

    batches = as_they_come(broken(), 9)
    assert next(batches) == [1]
    with pytest.raises(type(error)):
        next(batches)
