"""The tables that look-ups use tell the same as the model's arcs."""

from itertools import takewhile

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.models import Model, arcs_of, backoff_models, backoff_of, in_one_folder

from capfst.fst.write import ARC, STATE
from capfst.search.lookup import (
    STEP,
    fill_buckets,
    first_bucket,
    guessed_place,
    lookup_tables,
    search_sparse_index,
)


@in_one_folder
@given(model=backoff_models())
def test_tables(tmp_path, model: Model) -> None:
    fst = model.save(tmp_path / "cap.fst")
    made = lookup_tables(fst)
    np.testing.assert_array_equal(made.sparse_index, fst.arcs["ilabel"][::STEP])
    singles = list(takewhile(lambda s: backoff_of(fst, s)[1] == 0, range(1, len(fst.states))))
    for state in singles:
        pos, narcs = int(fst.states["pos"][state]), int(fst.states["narcs"][state])
        first, last = first_bucket(pos), first_bucket(pos + narcs)
        for label in range(1, len(fst.symbols)):
            below = np.searchsorted(arcs_of(fst, state)["ilabel"][1:], label)
            if first < last:  # the bucket of the label begins with its arc, or before
                bucket = first + guessed_place(last - first, int(made.forms[label]["share"]))
                assert pos < made.buckets[bucket] <= pos + 1 + below
    n_short = len(fst.symbols) - 1 + sum(int(fst.states["narcs"][s]) for s in singles)
    assert (made.n_short, len(made.buckets)) == (n_short, first_bucket(n_short))
    some = made.sparse_index[len(fst.symbols) // STEP + 1 : n_short // STEP]
    for label in range(1, len(fst.symbols)):
        form, arc = made.forms[label], fst.arcs[label - 1]
        assert (form["cost"], form["state"]) == (arc["weight"], arc["nextstate"])
        assert form["share"] == min((some < label).mean() * 2**32 if len(some) else 0, 2**32 - 1) // 1
        if form["state"]:
            state = fst.states[form["state"]]
            assert (form["pos"], form["narcs"], form["backoff_cost"]) == (
                state["pos"],
                state["narcs"],
                backoff_of(fst, form["state"])[0],
            )


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    shares=st.lists(st.integers(0, 2**32 - 1), min_size=100, max_size=100),
    seed=st.integers(0, 2**32),
)
def test_buckets(sizes: list[int], shares: list[int], seed: int) -> None:
    generator, sorted_shares = np.random.default_rng(seed), np.sort(np.array(shares, np.uint32))
    states, arcs = np.zeros(len(sizes), STATE), np.zeros(sum(sizes), ARC)
    states["narcs"], states["pos"] = sizes, np.cumsum([0, *sizes[:-1]])
    for state in states:
        labels = generator.choice(np.arange(1, 100), int(state["narcs"]) - 1, replace=False)
        arcs["ilabel"][state["pos"] + 1 : state["pos"] + state["narcs"]] = np.sort(labels)
    buckets = np.zeros(first_bucket(len(arcs)), np.uint32)
    fill_buckets(states, arcs, sorted_shares, 0, len(states), buckets)
    for state in states:
        pos, behind = int(state["pos"]), int(state["pos"] + state["narcs"])
        first, last = first_bucket(pos), first_bucket(behind)
        for label in range(1, 100 if first < last else 1):
            bucket = first + guessed_place(last - first, int(sorted_shares[label]))
            arc = pos + 1 + np.searchsorted(arcs["ilabel"][pos + 1 : behind], label)
            assert first <= bucket < last
            assert pos < buckets[bucket] <= arc
            in_bucket = arcs["ilabel"][buckets[bucket] : arc]  # what is read in vain is in the label's own bucket
            assert all(first + guessed_place(last - first, int(sorted_shares[k])) == bucket for k in in_bucket)


def test_entries_of_the_sparse_index_are_found_from_anywhere() -> None:
    sparse_index = np.array([3, 5, 9, 11, 40, 41, 100], np.int32)
    for low in range(8):
        for high in range(low, 8):
            for label in (2, 3, 4, 11, 12, 41, 99, 101):
                for guess in range(-3, 12):
                    found = search_sparse_index(sparse_index, low, high, guess, label)
                    assert found == low + np.searchsorted(sparse_index[low:high], label)
