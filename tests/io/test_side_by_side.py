"""Texts side by side, and what cannot be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import CapfstError
from capfst.io.side_by_side import Names, side_by_side

NAMES = Names("fr.txt", "en.txt", "pairs")
TEXTS = st.lists(st.text("ab é", max_size=3), max_size=9)


def blocks(lines: list[str], ended: bool, rng) -> list[bytes]:
    """The lines in blocks of any sizes."""
    encoded = [f"{line}\n".encode() for line in lines]
    if encoded and not ended:
        encoded[-1] = encoded[-1][:-1]
    found, begin = [], 0
    while begin < len(encoded):
        end = rng.randint(begin + 1, len(encoded))
        found.append(b"".join(encoded[begin:end]))
        begin = end
    return [block for block in found if block]


@given(
    lines=st.lists(st.tuples(*[st.text("ab é", min_size=1, max_size=3)] * 3), max_size=9),
    ended=st.tuples(*[st.booleans()] * 3),
    rng=st.randoms(use_true_random=False),
)
def test_lines_stay_together_whatever_the_blocks(lines, ended, rng):
    texts = [blocks([line[k] for line in lines], ended[k], rng) for k in range(3)]
    found = list(side_by_side(*texts, NAMES))
    assert b"".join(block.target for block in found) == b"".join(texts[0])
    assert [block.line for block in found] == [1 + sum(b.count(b"\n") for b in texts[0][:k]) for k in range(len(found))]
    together = [tuple(text.decode() for text in line[:3]) for block in found for line in block.lines()]
    assert together == lines


@pytest.mark.parametrize(
    ("source", "align", "message"),
    [
        (b"a\nb\n", b"\n\n\n", "en.txt ends behind line 2, but fr.txt has more lines"),
        (b"a\nb\nc\n", b"\n", "pairs ends behind line 1, but fr.txt has more lines"),
        (b"a\nb\nc\nd", b"\n\n\n", "en.txt has more lines than fr.txt, which ends behind line 3"),
        (b"a\nb\nc\n", b"\n\n\n\n", "pairs has more lines than fr.txt, which ends behind line 3"),
        (b"", b"", "en.txt ends behind line 0, but fr.txt has more lines"),
    ],
)
def test_texts_of_other_lengths_are_refused(source, align, message):
    with pytest.raises(CapfstError, match=f"^{message}"):
        list(side_by_side([b"x\n", b"y\nz"], [source], [align], NAMES))
