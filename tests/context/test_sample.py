"""context/sample.py: which sentences the context model learns from."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capfst.context.sample import enclosed, quotas, sample, select, slices, smaller
from capfst.corpus import labels as walks

sentences = st.lists(st.integers(0, 6), max_size=40)
"""Lengths of a source's sentences, in words."""


def labels_of(lengths: list[int]) -> np.ndarray:
    """Return sentences of these lengths, whose words all differ."""
    made: list[int] = []
    for length in lengths:
        made += [*range(len(made) + 1, len(made) + 1 + length), 0]
    return np.array(made, np.uint32)


def split(labels: np.ndarray) -> list[list[int]]:
    ends = np.flatnonzero(labels == 0) + 1
    assert len(labels) == (ends[-1] if len(ends) else 0), "the last sentence is not whole"
    return [labels[a:b].tolist() for a, b in pairwise([0, *ends])]


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([5, 3], 8, [5, 3]),
        ([5, 3], 100, [5, 3]),
        ([5, 3], 7, [4, 3]),
        ([100, 3, 100], 43, [20, 3, 20]),
        ([100, 3, 30], 43, [20, 3, 20]),
        ([0, 7, 0], 5, [0, 5, 0]),
        ([1, 1, 1], 2, [0, 1, 1]),
        ([9, 9], 1, [0, 1]),
        ([], 5, []),
    ],
)
def test_quotas(sizes: list[int], most: int, expected: list[int]) -> None:
    assert quotas(np.array(sizes, np.int64), most).tolist() == expected


@given(sizes=st.lists(st.integers(0, 50), max_size=9), most=st.integers(0, 200))
def test_quotas_are_all_or_as_many_as_of_any_other(sizes: list[int], most: int) -> None:
    found = quotas(np.array(sizes, np.int64), most)
    assert found.sum() == min(most, sum(sizes))
    assert (found <= sizes).all()
    cut = [int(n) for n, size in zip(found, sizes, strict=True) if n < size]
    if cut:
        assert min(cut) >= found.max() - 1 or found.max() <= min(cut)
        assert max(cut) - min(cut) <= 1


@settings(deadline=None)
@given(lengths=sentences, share=st.floats(0, 1))
@example(lengths=[3] * 10, share=1)
def test_selected_sentences_are_whole_in_order_and_evenly_spread(lengths: list[int], share: float) -> None:
    labels = labels_of(lengths)
    quota = int(len(labels) * share)
    found = split(select(labels, quota))
    every = split(labels)
    numbers = [every.index(sentence) for sentence in found if len(sentence) > 1]
    assert numbers == sorted(numbers)
    assert all(sentence in every for sentence in found)
    if share == 1:
        assert found == every
    # The number of selected sentences is proportional in each run of sentences, to within one.
    for n in range(len(every) + 1 if all(lengths) else 0):
        assert abs(sum(number < n for number in numbers) - n * quota / max(1, len(labels))) <= 1


@settings(deadline=None)
@given(length=st.integers(0, 6), number=st.integers(1, 60), share=st.floats(0, 1))
def test_sentences_of_one_length_make_up_the_quota(length: int, number: int, share: float) -> None:
    labels = labels_of([length] * number)
    quota = int(len(labels) * share)
    assert abs(len(select(labels, quota)) - quota) <= length + 1


@settings(deadline=None)
@given(lengths=sentences, share=st.floats(0, 1), piece=st.integers(1, 50))
def test_the_pieces_in_which_a_file_is_read_do_not_matter(lengths: list[int], share: float, piece: int) -> None:
    labels = labels_of(lengths)
    quota = int(len(labels) * share)
    whole = select(labels, quota).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "_CHUNK", piece)
        assert select(labels, quota).tolist() == whole


@settings(deadline=None)
@given(sources=st.lists(sentences, min_size=1, max_size=4), most=st.integers(0, 300))
def test_samples_are_of_each_source(sources: list[list[int]], most: int) -> None:
    parts = [labels_of(lengths) for lengths in sources]
    ends = np.cumsum([len(part) for part in parts])
    found = sample(np.concatenate(parts), ends, most)
    quota = quotas(np.diff([0, *ends]), most)
    for part, taken, n in zip(parts, found, quota, strict=True):
        assert taken.tolist() == select(part, n).tolist()
        if most >= ends[-1]:
            assert taken.tolist() == part.tolist()


@settings(deadline=None)
@given(lengths=sentences, number=st.integers(1, 50))
def test_slices_are_all_sentences_in_order(lengths: list[int], number: int) -> None:
    labels = labels_of(lengths)
    found = slices(labels, number)
    assert len(found) == number
    assert [sentence for part in found for sentence in split(part)] == split(labels)
    # No slice is larger than its part and one sentence.
    assert max(map(len, found)) <= len(labels) / number + max(lengths, default=0) + 2


def test_a_smaller_sample_has_as_much_of_each_source() -> None:
    sources = [labels_of([4] * 300), labels_of([4] * 20), labels_of([])]
    assert smaller(sources, 10_000) == sources
    large, small, empty = smaller(sources, 600)
    assert (small.tolist(), empty.size) == (sources[1].tolist(), 0)
    assert 480 <= large.size <= 500
    assert split(large)


@settings(deadline=None)
@given(lengths=sentences)
def test_sentences_are_enclosed(lengths: list[int]) -> None:
    labels = labels_of(lengths)
    assert split(enclosed(labels, 9999)) == [[9999, *sentence[:-1], 9999, 0] for sentence in split(labels)]
