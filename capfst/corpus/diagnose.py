"""What is wrong with a corpus that is no text of cased sentences, a sentence a line.

In: the corpus's files, of which the beginnings are looked at. Out: the cause in words, with what to do; nothing if the
text looks well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path
from statistics import median

import numpy as np

from capfst.corpus.filters import CLOSES, ENDS
from capfst.corpus.read import read_blocks
from capfst.text.unicode import CLASS, INFO, IS_CASED, IS_UPPER, LETTER

_FILES = 16
_BYTES = 1 << 17  # of each file

# Shares of letters and lines, far from those of the training corpora. In these, all letters are cased, and 1.2 to 8 %
# of them are capitals. Of licences and manuals that are wrapped, at least 74 % of the lines that end within a sentence
# are full; of the corpora hardly any, and of German laws, which are short fragments, 58 % if they lose their periods.
_CASED = 0.2
_CAPITALS = 0.004, 0.5
_FULL = 0.66
_OPEN = 0.4  # of the lines end within a sentence: fewer are no harm, whatever ends them
_PAIRS = 30  # lines with another one behind that it takes to tell
_WIDTHS = 30, 200  # characters that lines are wrapped at


def beginnings(files: Sequence[Path]) -> list[str]:
    """The first lines of the files, of some if they are many. Of pipes, which cannot be read twice, nothing.

    Raises:
        CapfstError: as `read_blocks`.
    """
    regular = [file for file in files if file.is_file()]
    chosen = regular[:: -(-len(regular) // _FILES) or 1]
    blocks = [block for file in chosen for block in islice(read_blocks([file], _BYTES, errors="replace"), 1)]
    return [block.decode() for block in blocks]


def diagnose(texts: Sequence[str]) -> str:
    """Why a model of these texts cannot be good; empty if nothing is conspicuous."""
    traits = INFO[np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)]
    is_cased = (traits & IS_CASED) != 0
    n_letters = np.count_nonzero(is_cased | ((traits & CLASS) == LETTER))
    n_cased = np.count_nonzero(is_cased)
    if not n_letters:
        return ""
    if n_cased < _CASED * n_letters:
        return f"its script has no case ({1 - n_cased / n_letters:.0%} of the letters): there is nothing to restore"
    capitals = np.count_nonzero((traits & IS_UPPER) != 0) / n_cased
    if capitals < _CAPITALS[0]:
        return f"it has hardly any capitals ({capitals:.1%} of the letters): train on text in its original casing"
    if capitals > _CAPITALS[1]:
        return f"it is in capitals ({capitals:.0%} of the letters): train on text in its original casing"
    widths = [wrapped_at(text) for text in texts]
    if 2 * len([width for width in widths if width]) > len(widths):
        width = int(median(filter(None, widths)))
        return f"its lines are wrapped at about {width} characters: put each sentence on a line of its own"
    return ""


def wrapped_at(text: str) -> int:
    """The width at which the lines of a text are wrapped; 0 if they are not.

    Wrapped lines that end within a sentence are full: the next line's first word has no room in them.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    lengths = sorted(len(line) for line in lines if line)
    pairs = [(line, after) for line, after in pairwise(lines) if line and after]
    if len(pairs) < _PAIRS:
        return 0
    width = lengths[len(lengths) * 9 // 10] if lengths else 0  # some lines have longer words, or code
    ends_open = [(line, after) for line, after in pairs if line.rstrip(CLOSES)[-1:] not in ENDS]
    full = sum(len(line) + 1 + len(after.split(None, 1)[0]) > width for line, after in ends_open)
    is_wrapped = len(ends_open) > _OPEN * len(pairs) and full > _FULL * len(ends_open)
    return width if is_wrapped and _WIDTHS[0] <= width <= _WIDTHS[1] else 0
