"""The tables that look-ups use tell the same as the model's arcs."""

from itertools import pairwise, takewhile

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.models import Model, arcs_of, backoff_models, backoff_of, in_one_folder

from capfst.fst.write import ARC, STATE
from capfst.search.lookup import (
    FORM,
    NEAR,
    STEP,
    LookupTables,
    fill_buckets,
    first_bucket,
    guessed_place,
    look_into_bucket,
    lookup_tables,
    search_sparse_index,
)


@in_one_folder
@given(model=backoff_models())
def test_tables(tmp_path, model: Model) -> None:
    fst = model.save(tmp_path / "cap.fst")
    made = lookup_tables(fst)
    singles = list(takewhile(lambda s: backoff_of(fst, s)[1] == 0, range(1, len(fst.states))))
    n_short = len(fst.symbols) - 1 + sum(int(fst.states["narcs"][s]) for s in singles)
    assert made.n_short == n_short
    assert 0 <= made.origin - len(fst.symbols) < 4
    np.testing.assert_array_equal(made.sparse_index, fst.arcs["ilabel"][made.origin :: 1 << STEP])
    np.testing.assert_array_equal(made.contexts["pos"], [*fst.states["pos"], len(fst.arcs)])
    assert not made.contexts["backoff_cost"].any()
    for label in range(1, len(fst.symbols)):
        form, arc = made.forms[label], fst.arcs[label - 1]
        assert (form["cost"], form["state"]) == (arc["weight"], arc["nextstate"])
        if form["state"]:
            state = fst.states[form["state"]]
            assert (form["pos"], form["end"] - form["pos"], form["backoff_cost"]) == (
                state["pos"],
                state["narcs"],
                backoff_of(fst, form["state"])[0],
            )
    shares = made.forms["share"] >> 4  # the last bits tell words of one bucket apart
    assert (np.diff(shares.astype(int)) >= 0).all()
    for number, (first, behind) in enumerate(pairwise(fst.starts.tolist())):
        assert (made.forms["share"][first:behind] == made.forms["share"][first]).all()
        assert made.forms["share"][first] & 15 == number & 15


@in_one_folder
@given(model=backoff_models())
def test_words_are_found_in_buckets(tmp_path, model: Model) -> None:
    fst = model.save(tmp_path / "cap.fst")
    made = lookup_tables(fst)
    tables = made._replace(states=made.states.view(np.recarray), arcs=made.arcs.view(np.recarray))
    tables = tables._replace(forms=made.forms.view(np.recarray))
    for state in takewhile(lambda s: backoff_of(fst, s)[1] == 0, range(1, len(fst.states))):
        pos, end = int(fst.states["pos"][state]), int(fst.states["pos"][state] + fst.states["narcs"][state])
        first, last = (first_bucket.py_func(arc) for arc in (pos, end))
        labels = arcs_of(fst, state)["ilabel"][1:]
        for first_label, behind in pairwise(fst.starts.tolist()):
            bucket = first + guessed_place.py_func(last - first, int(made.forms["share"][first_label]))
            is_likely, arc = look_into_bucket.py_func(tables, bucket, state, end, first_label)
            below = int(np.searchsorted(labels, first_label))
            if below < len(labels) and labels[below] < behind:
                assert is_likely
                assert pos < arc <= pos + 1 + below


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
    buckets = np.zeros(first_bucket(len(arcs)) + 1, np.uint32)
    fill_buckets(states, arcs, sorted_shares, 0, len(states), buckets)
    for state in states:
        pos, behind = int(state["pos"]), int(state["pos"] + state["narcs"])
        first, last = first_bucket(pos), first_bucket(behind)
        assert first < last or behind == pos + 1  # only a state without arcs has no bucket
        begins: dict[int, int] = {}
        filters: dict[int, int] = {}
        for arc in range(pos + 1, behind):
            share = int(sorted_shares[arcs["ilabel"][arc]])
            bucket = first + guessed_place(last - first, share)
            begins.setdefault(bucket, arc)
            filters[bucket] = filters.get(bucket, 0) | 1 << (share & 15)
        for bucket in range(first, last):
            if bucket in begins:
                assert (int(buckets[bucket]) >> 16) - NEAR == begins[bucket] - (bucket << 1)
            assert int(buckets[bucket]) & 0xFFFF == filters.get(bucket, 0)


def test_a_bucket_far_from_its_place_is_searched() -> None:
    """As of a state with very many arcs, nearly all of which are of low labels."""
    n = 3 * NEAR
    states, arcs = np.zeros(1, STATE), np.zeros(n + 1, ARC)
    states["narcs"] = n + 1
    arcs["ilabel"][1:] = np.arange(1, n + 1)
    shares = np.full(n + 1, 2**31, np.uint32)  # half of the arcs are below all
    shares[-1] += 1
    buckets = np.zeros(first_bucket(n + 1) + 1, np.uint32)
    fill_buckets(states, arcs, shares, 0, 1, buckets)
    bucket = guessed_place(first_bucket(n + 1), int(shares[1]))
    assert int(buckets[bucket]) >> 16 == 0
    forms = np.zeros(n + 1, FORM)
    forms["share"] = shares
    records = [a.view(np.recarray) for a in (states, arcs, forms)]
    tables = LookupTables(*records, buckets, np.zeros(1), np.zeros(1, np.int32), 0, n + 1, 0)
    assert look_into_bucket.py_func(tables, bucket, 0, n + 1, 1234) == (1, 1234)


def test_entries_of_the_sparse_index_are_found_from_anywhere() -> None:
    sparse_index = np.array([3, 5, 9, 11, 40, 41, 100], np.int32)
    for low in range(8):
        for high in range(low, 8):
            for label in (2, 3, 4, 11, 12, 41, 99, 101):
                for guess in range(-3, 12):
                    found = search_sparse_index(sparse_index, low, high, guess, label)
                    assert found == low + np.searchsorted(sparse_index[low:high], label)
