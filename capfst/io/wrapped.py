"""Detect text whose lines are wrapped at a fixed width, as in mails, licenses and Project Gutenberg's books, and join
its lines to paragraphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from capfst.text.sentences import CLOSES, ENDS

# Fractions of lines, far from those of the training corpora. In wrapped licenses and manuals, at least 74 % of the
# lines that end within a sentence are full; in the corpora hardly any; in German laws, which are short fragments, 58 %
# if they lose their periods.
_FULL = 0.66
_OPEN = 0.4  # minimum of lines that end within a sentence: fewer do no harm
_PAIRS = 30  # minimum of lines with another line after them
_WIDTHS = 30, 200  # characters
_SPACES = 9  # maximum of trailing spaces, in addition to the width

_RAGGED = 0.9  # of the width: a line that would be longer with the next word is full; some texts are wrapped by hand
_LONG = 5_000  # characters; a longer paragraph without blank lines ends at the next line that ends a sentence
_LONGEST = 1 << 20  # characters; a longer paragraph ends even if no line ends a sentence


def wrapped_at(text: str) -> int:
    """Return the width at which the lines of a text are wrapped; 0 if they are not.

    Wrapped lines that end within a sentence are full: the next line's first word does not fit into them.
    """
    if text.count("\n") < _PAIRS:
        return 0
    lines = text.split("\n")
    if _usual(map(len, lines)) > _WIDTHS[1] + _SPACES:  # the quick test rejects most corpora
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
    """Join lines that are wrapped at a width to paragraphs, one per line.

    A paragraph ends at a blank line. It also ends after a line into which the first word of the next line would fit,
    unless that word is in lower case: so titles, verses and lists are not joined to the lines after them.
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
    """Return a length that 9 of 10 non-empty lines do not exceed: the others may have longer words, or code."""
    ordered = sorted(filter(None, lengths))
    return ordered[len(ordered) * 9 // 10] if ordered else 0


def _ends_sentence(line: str) -> bool:
    return line.rstrip(CLOSES)[-1:] in ENDS


def _is_full(line: str, after: str, width: float) -> bool:
    """Return whether the first word of the line `after` does not fit into `line`."""
    return len(line) + 1 + len(after.split(None, 1)[0]) > width


def _is_divided(line: str, after: str) -> bool:
    """Return whether a hyphenated word is divided between the two lines."""
    return line.endswith("-") and line[-2:-1].isalpha() and after.lstrip()[0].islower()
