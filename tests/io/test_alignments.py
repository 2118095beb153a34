"""Alignments as they are read, and what is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import CapfstError
from capfst.io.alignments import parse

PAIRS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5)


@given(lines=st.lists(PAIRS, min_size=1, max_size=6), space=st.sampled_from([" ", "\t", "  "]))
def test_pairs_of_each_line(lines, space):
    text = "\n".join(space.join(f"{s}-{t}" for s, t in line) for line in lines).encode()
    pairs = parse(text, len(lines), "pairs")
    found = [
        list(zip(pairs.source[a:b].tolist(), pairs.target[a:b].tolist(), strict=True))
        for a, b in zip(pairs.offsets, pairs.offsets[1:], strict=False)
    ]
    assert found == lines


def test_line_ends_of_other_systems_and_missing_lines():
    pairs = parse(b"0-1 2-3\r\n", 3, "pairs")
    assert pairs.offsets.tolist() == [0, 2, 2, 2]


@pytest.mark.parametrize(
    "wrong", ["3-x", "x", "1", "1-", "-1", "1--2", "0-0:0.5", "1-2-3", "99999999999-0", "0–0", "é"]
)
def test_what_is_no_pair_is_named_with_its_line(wrong):
    with pytest.raises(CapfstError, match=rf"^pairs, line 12: '{re.escape(wrong)}' is no pair of word numbers"):
        parse(f"0-0\n\n1-1 {wrong} 2-2\n".encode(), 3, "pairs", 10)
