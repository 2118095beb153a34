"""What the bilingual features read of a text, on either side: each word's hashes, case tag and place, and facts of its
line.

In: a buffer with its words (casing/transducer.py). Out: WORD and LINE records. The case tags are those of Wang, Knight
& Marcu (2006, §4): AL (all lowercase), IU (initial uppercase), AU (all uppercase), MX (mixed), AN (no letter with
case). They are the shapes of casing/shapes.py, in this order.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.types import Words
from capfst.kernels import allocating, inner, kernel
from capfst.kernels.types import Array, Record, U8Array, i64, u64
from capfst.system.hashing import hash_bytes
from capfst.text.sentences import opens
from capfst.text.tokenizer import MARKS, NEWLINE
from capfst.text.unicode import CLASS, INFO, LOWERING, SPACE, Lowering, decode, lower_into

AL, IU, AU, MX, AN = (shape.value for shape in Shape)
UNALIGNED = 5
"""In the place of a tag: there is no source word."""
N_TAGS = 6

FIRST, SENTENCE, COLON, OPENING, INSIDE = range(5)
"""Places: the line's first word that has case; the first behind . ? ! or …; behind a colon; behind a quote, a bracket
or a dash; any other."""
N_PLACES = 5

N_ENDINGS = 4
"""How a line ends: with . ? ! or …; with a colon; with another mark; with a word."""

N_SINCE = 6
"""How many words before a word the last capital is, without a mark between, and not counting that of the line's first
word: 0 (itself), 1, 2, 3, 4 or more; 5: there is none."""
N_UNTIL = 3
"""Whether the next word has a capital (0), or a later one (1), without a mark between; 2: none has."""

WORD = np.dtype(
    [
        ("lower_hash", "u8"),
        ("cased_hash", "u8"),
        ("suffix_hash", "u8"),  # of the last three bytes of its lowercase
        ("token", "i4"),  # which of its line's tokens, as the alignment counts them, it belongs to
        ("tag", "u1"),
        ("place", "u1"),
        ("since_capital", "u1"),
        ("until_capital", "u1"),
    ],
    align=True,
)
WordArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(WORD)]
Word: TypeAlias = Annotated[Any, Record(WORD)]
LINE = np.dtype(
    [
        ("begin", "i8"),  # its first word
        ("end", "i8"),
        ("first_hash", "u8"),  # of the lowercase of its first word with case; 0 if it has none
        ("n_tokens", "i4"),  # as the alignment counts them
        ("has_contrast", "u1"),  # it has a capital, and a word that is not all uppercase: so its case says something
        ("heading", "u1"),  # how many of its words but the first have a capital, as `_heading` has it
        ("ending", "u1"),
    ],
    align=True,
)
LineArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(LINE)]
Line: TypeAlias = Annotated[Any, Record(LINE)]


class Text(NamedTuple):
    """A buffer, its words, and what is known of them."""

    buf: U8Array
    words: Words
    facts: WordArray  # WORD, by word
    lines: LineArray  # LINE


@inner
def _ending(buf: U8Array, start: i64, end: i64) -> i64:
    code = decode(buf, start, end)[0]
    if code in (46, 63, 33, 0x2026):
        return 0
    return 1 if code == 58 else 2


@inner
def _heading(n_inside: i64, n_capitals: i64) -> i64:
    """Of the words with case but the first, how many have a capital: 0: none; 1: less than a third; 2: less than two
    thirds; 3: more; 4: there is no such word."""
    if n_inside == 0:
        return 4
    if n_capitals == 0:
        return 0
    return 1 + (3 * n_capitals >= n_inside) + (3 * n_capitals >= 2 * n_inside)


@allocating
def _describe(
    buf: U8Array, words: Words, by_words: bool, info: U8Array, lowering: Lowering, facts: WordArray, lines: LineArray
) -> None:
    longest = 0
    for i in range(words.starts.size):
        longest = max(longest, words.ends[i] - words.starts[i])
    room = np.empty(longest * 3 // 2 + 8, np.uint8)
    line, begin, at = 0, 0, 0  # at: up to here white space has been counted
    token, in_space = -1, True
    place = FIRST
    n_inside, n_capitals, n_not_upper, n_raised = 0, 0, 0, 0
    first_hash, ending = u64(0), 3
    since = N_SINCE - 1
    for i in range(words.starts.size + 1):
        is_end = i == words.starts.size or words.token_types[i] == NEWLINE
        start = buf.size if i == words.starts.size else words.starts[i]
        while at < start or (at == start and not is_end):
            code, after = decode(buf, at, buf.size)
            is_space = info[code] & CLASS == SPACE
            token += in_space and not is_space
            in_space = is_space
            at = after
        if is_end:
            record = lines[line]
            record.begin, record.end = begin, i
            record.n_tokens = i - begin if by_words else token + 1
            record.has_contrast = n_raised > 0 and n_not_upper > 0
            record.heading = _heading(n_inside, n_capitals)
            record.first_hash, record.ending = first_hash, ending
            line += 1
            begin = i + 1
            at = start + 1
            token, in_space = -1, True
            place = FIRST
            n_inside, n_capitals, n_not_upper, n_raised = 0, 0, 0, 0
            first_hash, ending = u64(0), 3
            since = N_SINCE - 1
            if i < words.starts.size:
                facts[i].tag, facts[i].place, facts[i].token = AN, INSIDE, -1
                facts[i].since_capital, facts[i].until_capital = N_SINCE - 1, N_UNTIL - 1
                facts[i].lower_hash = facts[i].cased_hash = facts[i].suffix_hash = 0
            continue
        end = words.ends[i]
        fact = facts[i]
        size = lower_into(buf, start, end, 0, buf.size, room, 0, info, lowering)
        fact.lower_hash = hash_bytes(room, 0, size, 1)
        fact.cased_hash = hash_bytes(buf, start, end, 1)
        fact.suffix_hash = hash_bytes(room, max(0, size - 3), size, 2)
        fact.token = i - begin if by_words else token
        tag = shape_of(buf, start, end, info)
        fact.tag, fact.place = tag, place
        if words.token_types[i] == MARKS:
            since = N_SINCE - 1
        elif tag == AL or tag == AN:
            since += since < N_SINCE - 2
        else:
            since = 0
        fact.since_capital = since
        if place == FIRST and tag != AN and words.token_types[i] != MARKS:
            since = N_SINCE - 1
        if words.token_types[i] == MARKS:
            ending = _ending(buf, start, end)
            if place != FIRST and place != SENTENCE:
                if ending == 0:
                    place = SENTENCE
                elif ending == 1:
                    place = COLON
                else:
                    place = OPENING if opens(decode(buf, start, end)[0]) else INSIDE
            continue
        ending = 3
        if tag == AN:
            continue
        if place == FIRST:
            first_hash = fact.lower_hash
        else:
            n_inside += 1
            n_capitals += tag != AL
        n_raised += tag != AL
        n_not_upper += tag != AU
        place = INSIDE


@kernel
def _look_ahead(words: Words, facts: WordArray) -> None:
    """Fills until_capital."""
    until = N_UNTIL - 1
    for i in range(facts.size - 1, -1, -1):
        facts[i].until_capital = until
        if words.token_types[i] == MARKS or words.token_types[i] == NEWLINE:
            until = N_UNTIL - 1
        elif facts[i].tag == AL or facts[i].tag == AN:
            until = min(until, 1) if until < N_UNTIL - 1 else until
            if until == 0:
                until = 1
        else:
            until = 0


def describe(buf: npt.NDArray[np.uint8], words: Words, by_words: bool) -> Text:
    """What the features read of a buffer's words.

    by_words: the tokens of alignments are the words, not what white space separates.
    """
    n_lines = 1 + int(np.count_nonzero(words.token_types == NEWLINE))
    text = Text(buf, words, np.empty(len(words.starts), WORD), np.empty(n_lines, LINE))
    _describe(buf, words, by_words, INFO, LOWERING, text.facts, text.lines)
    _look_ahead(words, text.facts)
    return text
