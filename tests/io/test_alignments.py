"""Alignments and parallel texts: valid ones are read, and the error for others has its place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import CorpusError
from capfst.io.alignments import Names, parse, side_by_side

PAIRS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5)
NAMES = Names("fr.txt", "en.txt", "pairs")


@given(lines=st.lists(PAIRS, min_size=1, max_size=6), space=st.sampled_from([" ", "\t", "  "]))
def test_pairs_of_each_line(lines, space):
    text = "\n".join(space.join(f"{s}-{t}" for s, t in line) for line in lines).encode()
    pairs = parse(text, len(lines), "pairs")
    read = [
        list(zip(pairs.source[a:b].tolist(), pairs.target[a:b].tolist(), strict=True))
        for a, b in zip(pairs.offsets, pairs.offsets[1:], strict=False)
    ]
    assert read == lines


def test_line_ends_of_other_systems_and_missing_lines():
    pairs = parse(b"0-1 2-3\r\n", 3, "pairs")
    assert pairs.offsets.tolist() == [0, 2, 2, 2]


@pytest.mark.parametrize(
    "wrong", ["3-x", "x", "1", "1-", "-1", "1--2", "0-0:0.5", "1-2-3", "99999999999-0", "0–0", "é"]
)
def test_an_invalid_pair_is_reported_with_its_line(wrong):
    with pytest.raises(CorpusError, match=rf"^pairs, line 12: '{re.escape(wrong)}' is not a pair"):
        parse(f"0-0\n\n1-1 {wrong} 2-2\n".encode(), 3, "pairs", 10)


def blocks(lines: list[str], ended: bool, rng) -> list[bytes]:
    """Return the lines in blocks of any sizes."""
    encoded = [f"{line}\n".encode() for line in lines]
    if encoded and not ended:
        encoded[-1] = encoded[-1][:-1]
    made, begin = [], 0
    while begin < len(encoded):
        end = rng.randint(begin + 1, len(encoded))
        made.append(b"".join(encoded[begin:end]))
        begin = end
    return [block for block in made if block]


@given(
    lines=st.lists(st.tuples(*[st.text("ab é", min_size=1, max_size=3)] * 3), max_size=9),
    ended=st.tuples(*[st.booleans()] * 3),
    rng=st.randoms(use_true_random=False),
)
def test_lines_stay_together_whatever_the_blocks(lines, ended, rng):
    texts = [blocks([line[k] for line in lines], ended[k], rng) for k in range(3)]
    read = list(side_by_side(*texts, NAMES))
    assert b"".join(block.target for block in read) == b"".join(texts[0])
    assert [block.line for block in read] == [1 + sum(b.count(b"\n") for b in texts[0][:k]) for k in range(len(read))]
    together = [tuple(text.decode() for text in line[:3]) for block in read for line in block.lines()]
    assert together == lines


@pytest.mark.parametrize(
    ("source", "align", "message"),
    [
        (b"a\nb\n", b"\n\n\n", r"en.txt: fewer lines \(2\) than fr.txt"),
        (b"a\nb\nc\n", b"\n", r"pairs: fewer lines \(1\) than fr.txt"),
        (b"a\nb\nc\nd", b"\n\n\n", r"en.txt: more lines than fr.txt \(3\)"),
        (b"a\nb\nc\n", b"\n\n\n\n", r"pairs: more lines than fr.txt \(3\)"),
        (b"", b"", r"en.txt: fewer lines \(0\) than fr.txt"),
    ],
)
def test_texts_of_different_lengths_are_refused(source, align, message):
    with pytest.raises(CorpusError, match=f"^{message}"):
        list(side_by_side([b"x\n", b"y\nz"], [source], [align], NAMES))
