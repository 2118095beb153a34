"""Map a function over items in several threads: results in the items' order, as soon as possible, in constant memory.

`map_stream` starts its own threads, one of which reads the items, so that waiting for the next item delays no result;
it runs at most a few items ahead of the reader of the results. (`Executor.map` reads all items at once.) `as_they_come`
batches items that are processed faster together, without waiting for a batch to fill.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_stream(function: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Iterator[Result]:
    """Yield `map(function, items)`, computed in `jobs` threads. An exception of either is raised in its turn."""
    if jobs == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(jobs)
    try:
        for futures in as_they_come((pool.submit(function, item) for item in items), jobs):
            for future in futures:
                yield future.result()
        pool.shutdown()  # so that the C library gives the memory of these threads to later ones
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def as_they_come(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Yield all items, in lists of those that have arrived when a list is requested: 1 to `most` items.

    A thread reads the items, at most `most` ahead. An exception of `items` is raised in its turn.
    """
    come: list[Item] = []
    ended: list[BaseException | None] = []  # the exception, or None at the normal end
    stopped = False
    changed = Condition()

    def feed() -> None:
        error = None
        try:
            for item in items:
                with changed:
                    come.append(item)
                    changed.notify()
                    changed.wait_for(lambda: stopped or len(come) < most)
                    if stopped:
                        return
        except BaseException as raised:
            error = raised
        with changed:
            ended.append(error)
            changed.notify()

    # A daemon: when the program ends, it may still wait for an item that never arrives.
    Thread(target=feed, daemon=True).start()
    try:
        while True:
            with changed:
                changed.wait_for(lambda: come or ended)
                batch, come[:] = come[:], []
                changed.notify()
            if batch:
                yield batch
            elif ended[0] is not None:
                raise ended[0]
            else:
                return
    finally:
        with changed:
            stopped = True
            changed.notify()


def for_each(function: Callable[[Item], None], items: Iterable[Item], jobs: int) -> None:
    """Call the function with each item, in `jobs` threads."""
    deque(map_stream(function, items, jobs), maxlen=0)
