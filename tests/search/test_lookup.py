"""lookup.py: the tables agree with the arcs of the model."""

from itertools import pairwise, takewhile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import Model, arcs_of, backoff_models, backoff_of, in_one_folder

from capfst.fst.write import ARC, STATE
from capfst.search.lookup import (
    CONTEXT,
    FORM,
    NEAR,
    ArcBuckets,
    LookupTables,
    _empty_buckets,
    fill_buckets,
    has_buckets,
    look_into_bucket,
    lookup_tables,
    prepare,
    sixteenth_of,
)


@in_one_folder
@given(model=backoff_models())
def test_tables(tmp_path, model: Model) -> None:
    fst = model.save(tmp_path / "cap.fst")
    made = lookup_tables(fst)
    singles = list(takewhile(lambda s: backoff_of(fst, s)[1] == 0, range(1, len(fst.states))))
    n_short = len(fst.symbols) - 1 + sum(int(fst.states["narcs"][s]) for s in singles)
    assert (made.short.origin, made.longer.origin) == (len(fst.symbols) - 1, n_short)
    np.testing.assert_array_equal(made.contexts["pos"], [*fst.states["pos"], len(fst.arcs)])
    assert np.isnan(made.contexts["backoff_cost"]).all()
    assert not made.longer.entries.any()
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
    fractions = made.forms["fraction"][fst.starts[:-1]].astype(int)
    assert (np.diff(fractions) > 0).all()
    np.testing.assert_array_equal(made.forms["fraction"][1:], np.repeat(fractions, np.diff(fst.starts)))


@in_one_folder
@given(model=backoff_models())
def test_words_are_found_in_buckets(tmp_path, model: Model) -> None:
    fst = model.save(tmp_path / "cap.fst")
    made = lookup_tables(fst)
    for state in range(1, len(fst.states)):
        cost, shorter = backoff_of(fst, state)
        if shorter != 0:
            assert not prepare(made, state, 0)
            assert np.isnan(made.contexts["backoff_cost"][state])
            assert prepare(made, state, shorter)
            assert made.contexts["backoff_cost"][state] == cost
        pos, end = int(fst.states["pos"][state]), int(fst.states["pos"][state] + fst.states["narcs"][state])
        buckets = made.short if pos < made.longer.origin else made.longer
        if not has_buckets(buckets, pos, end):
            continue
        labels = arcs_of(fst, state)["ilabel"][1:]
        for first_label, next_label in pairwise(fst.starts.tolist()):
            sixteenth = sixteenth_of(buckets, pos, end, int(made.forms["fraction"][first_label]))
            is_likely, arc = look_into_bucket(made, buckets, sixteenth, state, end, first_label)
            below = int(np.searchsorted(labels, first_label))
            if below < len(labels) and labels[below] < next_label:
                assert is_likely
                assert pos < arc <= pos + 1 + below


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    fractions=st.lists(st.integers(0, 2**32 - 1), min_size=100, max_size=100),
    log_size=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_buckets(sizes: list[int], fractions: list[int], log_size: int, seed: int) -> None:
    generator, sorted_fractions = np.random.default_rng(seed), np.sort(np.array(fractions, np.uint32))
    states, arcs = np.zeros(len(sizes), STATE), np.zeros(sum(sizes), ARC)
    states["narcs"], states["pos"] = sizes, np.cumsum([0, *sizes[:-1]])
    for state in states:
        labels = generator.choice(np.arange(1, 100), int(state["narcs"]) - 1, replace=False)
        arcs["ilabel"][state["pos"] + 1 : state["pos"] + state["narcs"]] = np.sort(labels)
    origin = int(states["pos"][1]) if len(states) > 1 else 0
    made = ArcBuckets(np.zeros((len(arcs) - origin >> log_size) + 1, np.uint32), log_size, origin)
    fill_buckets(states, arcs, sorted_fractions, 1, len(states), made)
    begins: dict[int, int] = {}
    sixteenths: dict[int, int] = {}
    filled: set[int] = set()
    for state in states[1:]:
        pos, end = int(state["pos"]), int(state["pos"] + state["narcs"])
        if not has_buckets(made, pos, end):
            assert end - pos < 1 << log_size
            continue
        own = set(range(pos - origin >> log_size, end - origin >> log_size))
        assert own.isdisjoint(filled)
        filled |= own
        for arc in range(pos + 1, end):
            fraction = int(sorted_fractions[arcs["ilabel"][arc]])
            bucket, part = divmod(sixteenth_of(made, pos, end, fraction), 16)
            assert bucket in own
            begins.setdefault(bucket, arc)
            sixteenths[bucket] = sixteenths.get(bucket, 0) | 1 << part
    for bucket, entry in enumerate(made.entries.tolist()):
        assert entry & 0xFFFF == sixteenths.get(bucket, 0)
        if bucket in begins:
            assert (entry >> 16) - NEAR == begins[bucket] - (origin + (bucket << log_size))


@pytest.mark.parametrize(("arcs", "log_size"), [(0, 1), (2**28 - 1, 1), (2**29 - 1, 1), (2**29, 2), (2**32 - 1, 4)])
def test_sixteenths_have_numbers_of_32_bits(monkeypatch: pytest.MonkeyPatch, arcs: int, log_size: int) -> None:
    monkeypatch.setattr("numpy.zeros", lambda size, dtype: range(size))
    buckets = _empty_buckets(0, arcs, 1)
    assert buckets.log_size == log_size
    assert len(buckets.entries) << 4 <= 2**32
    assert arcs >> log_size in buckets.entries


def test_a_bucket_that_is_not_near_is_searched() -> None:
    """As in a state with very many arcs, nearly all of them of low labels."""
    n = 3 * NEAR
    states, arcs = np.zeros(1, STATE), np.zeros(n + 1, ARC)
    states["narcs"] = n + 1
    arcs["ilabel"][1:] = np.arange(1, n + 1)
    fractions = np.full(n + 1, 2**31, np.uint32)  # half of the arcs are of lower words
    fractions[-1] += 1
    buckets = ArcBuckets(np.zeros((n + 1 >> 1) + 1, np.uint32), 1, 0)
    fill_buckets(states, arcs, fractions, 0, 1, buckets)
    sixteenth = sixteenth_of(buckets, 0, n + 1, int(fractions[1]))
    assert int(buckets.entries[sixteenth >> 4]) >> 16 == 0
    tables = LookupTables(states, arcs, np.zeros(n + 1, FORM), np.zeros(1, CONTEXT), buckets, buckets, 0)
    assert look_into_bucket(tables, buckets, sixteenth, 0, n + 1, 1234) == (1, 1234)
