"""Keep the lines that look like well-cased sentences (Beaufays & Strope 2013, §4.2).

Input: blocks of whole lines of UTF-8, each line a sentence, raw or tokenized (marks separated by spaces). Output: the
kept lines, unchanged and in order, and the number of lines that each filter rejected.

A line is counted for the first filter, in the order of `FILTERS`, that rejects it. A *word* is a string between spaces
with a letter or a digit; a *mark* is a character other than a space, letter, digit or accent.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import OptionError, quantity
from capfst.kernels import allocating, copy_bytes, count_ones, inner
from capfst.kernels.types import I64Array, U8Array, U32Array, i64, u64
from capfst.system.hashing import PRIME
from capfst.text.sentences import CLOSES, ENDS, QUOTES
from capfst.text.unicode import CLASS, INFO, IS_UPPER, LETTER, MARK, NUMBER, OTHER, SPACE, TO_LOWER, decode, mapped


class Filter(NamedTuple):
    name: str
    rejects: str


FILTERS = (
    Filter("blank", "nothing but spaces"),
    Filter("long", "more than 10,000 bytes: text without line ends, or data"),
    Filter("control", "a character that does not occur in text: control, private, unassigned, U+FFFD"),
    Filter("start", "no upper-case letter at the start, except for quotes, brackets, dashes and an ellipsis"),
    Filter("end", "no . ? ! or … at the end, except for quotes and brackets"),
    Filter("punctuation", "too many marks: tables, references, formulas"),
    Filter("capitals", "too many capitalized words: headlines, lists of names"),
    Filter("shouting", "too many words IN CAPITALS"),
    Filter("repetition", "the same words or the same mark repeated many times"),
)
BLANK, LONG, CONTROL, START, END, PUNCTUATION, CAPITALS, SHOUTING, REPETITION = range(1, len(FILTERS) + 1)
KEPT = 0  # the verdict on a line that no filter rejects; FILTERS[n] has the verdict n + 1

# Pairs are an allowance, which short lines need (a quarter of "Yes." are marks), and a fraction of the line. They were
# set by reading the lines of the training corpora that they reject: less than 0.3 % of edited prose.
LONGEST = 10_000  # bytes; the longest sentence of the novels has 4,612, and a line may be a paragraph
MARKS = 6, 0.15  # of the characters; dialogue, with its quotes and commas, has 0.12 on average, prose 0.03
CAPITALIZED = 2, 0.6  # of the words after the first; a sentence full of names, or a German one, has up to 0.6
INNER_CAPITALS = 6, 0.3  # of the letters, except the first of each word; acronyms need the allowance
REPEATED = 2, 0.4  # of the words: those that are also among the four before them
RUN = 4  # the same word or mark in succession, as in "No, no, no, no!" and in the ellipsis of four periods

ENOUGH = 0.2  # of the lines: if fewer are kept, the text is bad, or the filters do not suit it

OPENS = QUOTES + "([{<¿¡-‐‑‒–—―"
OPENING, CLOSING, ENDING = 1, 2, 4

NEWLINE = 0x0A
REPLACEMENT = 0xFFFD
PERIOD, ELLIPSIS = 0x2E, 0x2026
NO_WORD = np.uint64(0)
"""The hash before the first character of a word."""


def _roles() -> npt.NDArray[np.uint8]:
    roles = np.zeros(0x2040, np.uint8)
    for characters, role in (OPENS, OPENING), (CLOSES, CLOSING), (ENDS, ENDING):
        roles[list(map(ord, characters))] |= role
    return roles


ROLES = _roles()


@inner
def _judge(buf: U8Array, i: i64, on: i64, info: U8Array, lower: U32Array, roles: U8Array) -> tuple[i64, i64]:
    """Return (verdict, offset of the next line) for the line at buf[i]. Bit v of `on`: whether the filter with verdict
    v is on."""
    start = i
    characters = letters = marks = inner = 0
    words = lettered = capitalized = repeated = 0
    begun = well_begun = well_ended = strange = False
    mark = 0
    mark_run = word_run = longest_run = 0
    has_letter = has_capital = False
    word = before1 = before2 = before3 = before4 = NO_WORD
    while True:
        code = i64(buf[i])
        if 0x61 <= code <= 0x7A:  # a to z, most of a text: a fast path with the effect of the code below
            first = i
            while 0x61 <= code <= 0x7A:
                word = (word ^ u64(code)) * PRIME
                i += 1
                code = i64(buf[i])
            characters += i - first
            letters += i - first
            begun = has_letter = True
            well_ended = False
            mark = 0
        if code < 0x80:
            i += 1
        else:
            code, i = decode(buf, i, len(buf))
        traits = info[code]
        char_class = traits & CLASS
        if char_class == SPACE:  # the newline too
            if word != NO_WORD:
                if has_letter:
                    capitalized += has_capital and lettered > 0
                    lettered += 1
                word_run = word_run + 1 if word == before1 else 1
                longest_run = max(longest_run, word_run)
                repeated += word in (before1, before2, before3, before4)
                words += 1
                before1, before2, before3, before4 = word, before1, before2, before3
                word, has_letter, has_capital = NO_WORD, False, False
            if code == NEWLINE:
                break
            continue
        characters += 1
        role = roles[code] if code < len(roles) else 0
        if not begun and not role & OPENING:
            begun = True
            well_begun = traits & IS_UPPER != 0 or code in (PERIOD, ELLIPSIS)  # a sentence that goes on
        if not role & CLOSING:
            well_ended = role & ENDING != 0
        if char_class in (LETTER, NUMBER, MARK):
            word = (word ^ u64(mapped(lower, code))) * PRIME
            mark = 0
            if char_class == LETTER:
                letters += 1
                if not has_letter:
                    has_letter, has_capital = True, traits & IS_UPPER != 0
                elif traits & IS_UPPER:
                    inner += 1
        else:
            marks += 1
            strange |= char_class == OTHER or code == REPLACEMENT
            mark_run = mark_run + 1 if code == mark else 1
            mark = code
            longest_run = max(longest_run, mark_run)

    rejects = i64(characters == 0) << BLANK
    rejects |= i64(i - 1 - start > LONGEST) << LONG
    rejects |= i64(strange) << CONTROL
    rejects |= i64(not well_begun) << START
    rejects |= i64(not well_ended) << END
    rejects |= i64(marks > MARKS[0] + MARKS[1] * characters) << PUNCTUATION
    rejects |= i64(capitalized > CAPITALIZED[0] + CAPITALIZED[1] * (lettered - 1)) << CAPITALS
    rejects |= i64(inner > INNER_CAPITALS[0] + INNER_CAPITALS[1] * letters) << SHOUTING
    rejects |= i64(longest_run > RUN or repeated > REPEATED[0] + REPEATED[1] * words) << REPETITION
    rejects &= on
    verdict = count_ones((rejects & -rejects) - 1) if rejects else KEPT  # the number of the lowest bit
    return verdict, i


@allocating
def _keep(buf: U8Array, on: i64, info: U8Array, lower: U32Array, roles: U8Array, out: U8Array, counts: I64Array) -> i64:
    """Copy the kept lines of buf to out, and count the verdicts; return the number of bytes copied."""
    i = size = 0
    while i < len(buf):
        verdict, after = _judge(buf, i, on, info, lower, roles)
        counts[verdict] += 1
        if verdict == KEPT:
            copy_bytes(buf, i, after - i, out, size)
            size += after - i
        i = after
    return size


def select(skip: Iterable[str] = ()) -> int:
    """Return the filters except those named in `skip`, as the bits for `clean`: bit n + 1 for FILTERS[n].

    Raises:
        OptionError: an unknown filter.
    """
    names = [filter.name for filter in FILTERS]
    on = sum(1 << verdict for verdict in range(1, len(names) + 1))
    for name in set(skip):
        if name not in names:
            raise OptionError(f"`skip_filters` has the unknown filter {name!r}. Use {', '.join(names)}.")
        on &= ~(1 << names.index(name) + 1)
    return on


def clean(block: bytes, on: int = -1) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Return the lines of `block` that the filters `on` keep; and the numbers of lines: kept, then rejected by each
    filter.

    `block` must be valid UTF-8 that ends with a newline, as from `read_blocks`.
    """
    if block and not block.endswith(b"\n"):
        raise ValueError("the last line of a block must end with a newline")
    counts = np.zeros(len(FILTERS) + 1, np.int64)
    out = np.empty(len(block), np.uint8)
    size = _keep(np.frombuffer(block, np.uint8), on, INFO, TO_LOWER, ROLES, out, counts)
    return (block if size == len(block) else out[:size].tobytes()), counts


@dataclass
class Report:
    """The sums of the counts of `clean`, with the filters `on`."""

    on: int = -1
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(FILTERS) + 1, np.int64))

    @property
    def lines(self) -> int:
        return int(self.counts.sum())

    @property
    def kept(self) -> int:
        return int(self.counts[KEPT])

    def rejected(self) -> dict[str, int]:
        """Return how many lines each filter rejected, without the filters that are off."""
        numbers = zip(FILTERS, self.counts[1:].tolist(), strict=True)
        return {filter.name: number for v, (filter, number) in enumerate(numbers, 1) if self.on >> v & 1}

    def advice(self) -> str:
        """Return which filters rejected most lines, and a remedy, if too few were kept; empty if enough were.

        Blank lines are not counted. (In the training corpora, at least 77 % of the lines are kept.)
        """
        lines = self.lines - int(self.counts[BLANK])
        if self.kept >= ENOUGH * lines:
            return ""
        counts = dict(zip(FILTERS[BLANK:], self.counts[BLANK + 1 :].tolist(), strict=True))
        most = sorted(counts, key=counts.__getitem__, reverse=True)
        most = [filter for filter in most if 10 * counts[filter] >= lines] or most[:1]
        rejected = "; ".join(f"{each.name} rejected {_percent(counts[each], lines)} ({each.rejects})" for each in most)
        skip = ", ".join(filter.name for filter in most)
        return (
            f"only {_percent(self.kept, lines)} of the lines were kept: {rejected}. Write one sentence per line or, if"
            f" these lines are good, disable filters with `skip_filters`: {skip}."
        )

    def __str__(self) -> str:
        rows = [f"kept {self.kept:,} of {quantity(self.lines, 'line')} ({_percent(self.kept, self.lines)})"]
        for verdict, filter in enumerate(FILTERS, 1):
            count = int(self.counts[verdict])
            figure = f"{count:,} {_percent(count, self.lines):>7}" if self.on >> verdict & 1 else "off"
            rows.append(f"  {filter.name:<11} {figure:>21}  {filter.rejects}")
        return "\n".join(rows)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"
