"""Text whose lines are wrapped at a fixed width, as in mails, licences and books of Project Gutenberg.

In: a text's beginning → whether it is wrapped, and at which width. In: its lines → its paragraphs, a line each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from capfst.corpus.filters import CLOSES, ENDS

# Shares of lines, far from those of the training corpora. Of licences and manuals that are wrapped, at least 74 % of
# the lines that end within a sentence are full; of the corpora hardly any, and of German laws, which are short
# fragments, 58 % if they lose their periods.
_FULL = 0.66
_OPEN = 0.4  # of the lines end within a sentence: fewer are no harm, whatever ends them
_PAIRS = 30  # lines with another one behind that it takes to tell
_WIDTHS = 30, 200  # characters that lines are wrapped at
_SPACES = 9  # that a line may end with, beside them

_RAGGED = 0.9  # of the width: a line that the next word would make so long is taken for full; some are wrapped by hand
_LONG = 5_000  # characters of a paragraph that ends with the next line that ends a sentence: no blank line parts them
_LONGEST = 1 << 20  # characters of one in which no line ends a sentence


def wrapped_at(text: str) -> int:
    """The width at which the lines of a text are wrapped; 0 if they are not.

    Wrapped lines that end within a sentence are full: the next line's first word has no room in them.
    """
    if text.count("\n") < _PAIRS:
        return 0
    lines = text.split("\n")
    if _usual(map(len, lines)) > _WIDTHS[1] + _SPACES:  # most corpora, at once
        return 0
    lines = [line.rstrip() for line in lines]
    width = _usual(map(len, lines))
    pairs = [(line, after) for line, after in pairwise(lines) if line and after]
    if len(pairs) < _PAIRS or not _WIDTHS[0] <= width <= _WIDTHS[1]:
        return 0
    ends_open = [(line, after) for line, after in pairs if not _ends_sentence(line)]
    full = sum(_is_full(line, after, width) for line, after in ends_open)
    return width if len(ends_open) > _OPEN * len(pairs) and full > _FULL * len(ends_open) else 0


def paragraphs(lines: Iterable[str], width: int) -> Iterator[str]:
    """The paragraphs of lines that are wrapped at a width, each on one line.

    A paragraph ends at a blank line. It also ends behind a line in which the next one's first word would have had room,
    unless that word is in lower case: so titles, verses and lists are not joined to what follows.
    """
    held: list[str] = []
    n_held = 0
    last = ""
    for line in map(str.rstrip, lines):
        goes_on = line and (line.lstrip()[0].islower() or _is_full(last, line, _RAGGED * width))
        too_long = n_held > _LONG and (_ends_sentence(last) or n_held > _LONGEST)
        if held and (too_long or not goes_on):
            yield "".join(held)
            held, n_held = [], 0
        if line:
            if held and not _is_divided(last, line):
                held.append(" ")
            held.append(line.strip())
            n_held += len(line)
        last = line
    if held:
        yield "".join(held)


def _usual(lengths: Iterable[int]) -> int:
    """A length that nine of ten lines that are not empty do not exceed: some have longer words, or code."""
    ordered = sorted(filter(None, lengths))
    return ordered[len(ordered) * 9 // 10] if ordered else 0


def _ends_sentence(line: str) -> bool:
    return line.rstrip(CLOSES)[-1:] in ENDS


def _is_full(line: str, after: str, width: float) -> bool:
    """Whether the first word of the line `after` has no room in the line before it."""
    return len(line) + 1 + len(after.split(None, 1)[0]) > width


def _is_divided(line: str, after: str) -> bool:
    """Whether a word, which has a hyphen, stands in both lines."""
    return line.endswith("-") and line[-2:-1].isalpha() and after.lstrip()[0].islower()
