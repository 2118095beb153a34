"""Tables of counts: as a dictionary has them, as long as there is room."""

import random
from collections import Counter

import numpy as np

from capfst.bilingual import tables
from capfst.bilingual.tables import SLOT, compact
from capfst.system.kernels import allocating


@allocating
def count_all(table, keys, shapes):  # type: ignore[no-untyped-def]
    for i in range(keys.size):
        tables.add(table, keys[i], shapes[i])


@allocating
def slots_of(table, keys):  # type: ignore[no-untyped-def]
    found = np.empty(keys.size, np.int64)
    for i in range(keys.size):
        found[i] = tables.find(table, keys[i])
    return found


def random_keys(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 1 << 63, n, np.uint64)


def test_counts_are_those_of_a_dictionary():
    rng = random.Random(2)
    keys = random_keys(300)
    table = np.zeros(1 << 12, SLOT)
    seen = [(rng.randrange(300), rng.randrange(4)) for _ in range(5000)]
    count_all(table, keys[[k for k, _ in seen]], np.array([shape for _, shape in seen]))
    expected = Counter(seen)
    smaller = compact(table)
    assert smaller.size < table.size
    for some, most_lost in ((table, 0), (smaller, 30)):
        slots = slots_of(some, keys)
        assert np.count_nonzero(slots < 0) <= most_lost
        for k, slot in enumerate(slots):
            if slot >= 0:
                assert some[slot]["counts"].tolist() == [expected[k, shape] for shape in range(4)]
    assert (slots_of(table, random_keys(600)[300:]) == -1).all()


def test_many_counts_keep_their_proportions():
    table = np.zeros(1 << 4, SLOT)
    key = random_keys(1)
    count_all(table, np.repeat(key, 4000), np.arange(4000) % 4 // 3 * 2)  # LOWER three times as often as UPPER
    counts = table[slots_of(table, key)[0]]["counts"].astype(int)
    assert counts[1] == counts[3] == 0
    assert 2.5 < counts[0] / counts[2] < 3.5


def test_a_full_table_keeps_what_is_frequent():
    keys = random_keys(2000)
    table = np.zeros(1 << 6, SLOT)
    frequent = keys[:4]
    count_all(table, np.concatenate([np.repeat(frequent, 5), keys]), np.zeros(2020, np.int64))
    assert (slots_of(table, frequent) >= 0).all()
