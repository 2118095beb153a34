"""Test the edits of capitals: goldens, and the band against the full matrix."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.capitals import capitalization_errors


def by_matrix(reference, hypothesis):
    """Return the counts of `capitalization_errors`, computed with the textbook's full matrix."""
    ref, hyp = ([c for c in text if c.lower() != c] for text in (reference, hypothesis))
    cost = [[(0, 0)] * (len(hyp) + 1) for _ in range(len(ref) + 1)]
    for i in range(len(ref) + 1):
        for j in range(len(hyp) + 1):
            ways = [(0, 0)] if i == j == 0 else []
            if i:
                ways.append((cost[i - 1][j][0] + 1, cost[i - 1][j][1]))
            if j:
                ways.append((cost[i][j - 1][0] + 1, cost[i][j - 1][1]))
            if i and j:
                wrong = ref[i - 1] != hyp[j - 1]
                ways.append((cost[i - 1][j - 1][0] + wrong, cost[i - 1][j - 1][1] + wrong))
            cost[i][j] = min(ways)
    total, substitutions = cost[-1][-1]
    surplus = len(ref) - len(hyp)
    return (
        len(ref),
        (total - substitutions + surplus) // 2,
        (total - substitutions - surplus) // 2,
        substitutions,
    )


@pytest.mark.parametrize(
    ("reference", "hypothesis", "characters", "deletions", "insertions", "substitutions"),
    [
        ("Hi Bob", "High top", 2, 1, 0, 0),  # Beaufays & Strope (2013), §5.1
        ("", "", 0, 0, 0, 0),
        ("hi", "Hi", 0, 0, 1, 0),
        ("Hi", "hi", 1, 1, 0, 0),
        ("Hi bob", "hi Bob", 1, 0, 0, 1),
        ("A B", "B C", 2, 1, 1, 0),  # not two substitutions
        ("A", "XYZ", 1, 0, 2, 1),
        ("New York", "NEW YORK", 2, 0, 5, 0),
        ("NASA and ESA", "Nasa And ESA", 7, 2, 0, 0),  # the A of And is aligned with an A of NASA
        ("Tom and ESA", "Tom And esa", 4, 2, 0, 0),
        ("ΣΟΦΙΑ", "Σοφια", 5, 4, 0, 0),
        ("Ǆ", "ǅ", 1, 0, 0, 1),  # two different upper-case characters
        ("Straẞe", "Straße", 2, 1, 0, 0),
        ("\ud800A", "\ud800a", 1, 1, 0, 0),  # a lone surrogate
    ],
)
def test_golden(reference, hypothesis, characters, deletions, insertions, substitutions):
    errors = capitalization_errors(reference, hypothesis)
    assert errors == (characters, deletions, insertions, substitutions)


few = st.text("ABC", max_size=40)


@given(few, few)
@example("ABCABCAABBCC" * 3, "CCBBAACBACBA" * 3)
@example("A" * 30 + "B", "B" + "C" * 30)
def test_band_equals_matrix(reference, hypothesis):
    assert capitalization_errors(reference, hypothesis) == by_matrix(reference, hypothesis)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_errors_against_itself(text):
    assert capitalization_errors(text, text)[1:] == (0, 0, 0)


@given(few, few)
def test_swapping_swaps_deletions_and_insertions(one, other):
    there, back = capitalization_errors(one, other), capitalization_errors(other, one)
    assert there[1:] == (back[2], back[1], back[3])


def test_a_long_text_with_few_errors_takes_little_memory_and_time():
    reference = "ABCDEFGHIJ" * 200_000
    hypothesis = reference[:1_000_000].lower()[:3] + reference[3:500_000] + "X" + reference[500_001:] + "YZ"
    assert capitalization_errors(reference, hypothesis) == (2_000_000, 3, 2, 1)
