"""scripts/experiments/helpers/bitext.py: held-out text, tokens, and the joined links of two directions."""

import pytest
from helpers import bitext

WORDS = [*"abcdefghij"]


def test_held_out_text_has_nothing_in_common_with_the_training_text():
    line, other = " ".join(WORDS), " ".join(reversed(WORDS))
    training = [("1", f"{line} k"), ("2", "Short.")]
    candidates = [("3", f"x {line}"), ("4", "short."), ("5", other), ("6", "Shorter."), (line, "7"), ("2", "8")]
    found = bitext.without_overlap(training, candidates)
    assert found == (training, [("5", other), ("6", "Shorter."), (line, "7")], 3)


def test_spread():
    assert bitext.spread([*range(10)], 4) == [0, 3, 6, 9]
    assert bitext.spread([*range(3)], 4) == [0, 1, 2]


@pytest.mark.parametrize(
    "line, tokens",
    [
        ("L'image, qu’il n'a pas.", "L' image , qu’ il n' a pas ."),
        ("It doesn't (e.g. AutoText)!", "It doesn't ( e.g . AutoText ) !"),
        ("mysql_query(), Load/Save 7.3.0", "mysql_query ( ) , Load/Save 7.3.0"),
    ],
)
def test_tokens(line, tokens):
    assert bitext.tokenized(line) == tokens


@pytest.mark.parametrize(
    "forward, reverse, links",
    [
        ({(0, 0), (1, 1)}, {(0, 0), (1, 1)}, [(0, 0), (1, 1)]),
        # (1, 1) is a neighbor of (0, 0); (3, 3) is not, but its words have no link; a word of (3, 0) has one
        ({(0, 0), (1, 1), (3, 3)}, {(0, 0), (3, 0)}, [(0, 0), (1, 1), (3, 3)]),
        # (1, 0) grows, because row 1 has no link yet; (5, 2) is not a neighbor of a link
        ({(0, 0), (1, 0)}, {(0, 0), (5, 2)}, [(0, 0), (1, 0), (5, 2)]),
        # both words of (0, 1) already have links
        ({(0, 0), (1, 1), (0, 1)}, {(0, 0), (1, 1)}, [(0, 0), (1, 1)]),
    ],
)
def test_symmetrized(forward, reverse, links):
    assert bitext.symmetrized(forward, reverse) == links
