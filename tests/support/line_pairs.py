"""Hypothesis strategy for lines in two casings."""

from hypothesis import strategies as st

UNITS = [
    "aA",
    "bB",
    "iI",
    ["İ", "i̇", "İ"],
    "Σσς",
    "ßẞ",
    "Ǆǅǆ",
    "ⓐⒶ",
    ".",
    "1",
    "'",
    "-",
    "中",
    "ª",
    "😀",
    "\0",
    " ",
    " ",
    "\t",
    "\xa0",
]


@st.composite
def line_pairs(draw):
    """Draw a line, and the same line in another casing."""
    units = draw(st.lists(st.sampled_from(UNITS), max_size=25))
    return tuple("".join(draw(st.sampled_from(unit)) for unit in units) for _ in range(2))
