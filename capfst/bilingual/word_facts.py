"""Annotate a text, translation or source, with the facts that the bilingual features read of its words and lines.

In: a buffer with its words (casing/transducer.py). Out: WORD_FACTS and LINE_FACTS records. The case tags are those of
Wang, Knight & Marcu (2006, §4): AL (all lowercase), IU (initial uppercase), AU (all uppercase), MX (mixed), AN (no
letter with case). They are the shapes of casing/shapes.py, in this order.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.types import Words
from capfst.kernels import allocating, inner
from capfst.kernels.types import Array, Record, U8Array, i64, u64
from capfst.system.hashing import hash_bytes
from capfst.text.sentences import opens
from capfst.text.tokenizer import MARKS, NEWLINE
from capfst.text.unicode import CLASS, INFO, LOWERING, SPACE, Lowering, decode, lower_into

AL, IU, AU, MX, AN = (shape.value for shape in Shape)
UNALIGNED = 5
"""Pseudo tag: there is no source word."""
N_TAGS = 6

FIRST, SENTENCE, COLON, OPENING, INSIDE = range(5)
"""Positions: the line's first word that has case; the first after . ? ! or …; after a colon; after a quote, a bracket
or a dash; any other."""
N_POSITIONS = 5
MAY_BEGIN = COLON
"""The last of the positions in which a sentence may begin."""

N_ENDINGS = 4
"""How a line ends: 0: with . ? ! or …; 1: with a colon; 2: with another mark; 3: with a word."""

WORD_FACTS = np.dtype(
    [
        ("lower_hash", "u8"),
        ("cased_hash", "u8"),
        ("suffix_hash", "u8"),  # of the last three bytes of its lowercase
        ("token", "i4"),  # the index in its line of the token, as the alignment counts them, to which it belongs
        ("tag", "u1"),
        ("position", "u1"),
    ],
    align=True,
)
WordFactsArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(WORD_FACTS)]
WordFacts: TypeAlias = Annotated[Any, Record(WORD_FACTS)]
LINE_FACTS = np.dtype(
    [
        ("begin", "i8"),  # its first word
        ("end", "i8"),
        ("first_hash", "u8"),  # of the lowercase of its first word with case; 0 if it has none
        ("n_tokens", "i4"),  # as the alignment counts them
        ("has_contrast", "u1"),  # it has a capital, and a word that is not all uppercase: its case is informative
        ("heading", "u1"),  # how many of its words except the first have a capital, as in `_heading`
        ("ending", "u1"),
    ],
    align=True,
)
LineFactsArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(LINE_FACTS)]
LineFacts: TypeAlias = Annotated[Any, Record(LINE_FACTS)]


class AnnotatedText(NamedTuple):
    """A buffer, its words, and the facts about them."""

    buf: U8Array
    words: Words
    facts: WordFactsArray  # WORD_FACTS, by word
    lines: LineFactsArray  # LINE_FACTS


@inner
def _ending(buf: U8Array, start: i64, end: i64) -> i64:
    """Return how a line ends with this mark, as in N_ENDINGS."""
    code = decode(buf, start, end)[0]
    if code in (46, 63, 33, 0x2026):
        return 0
    return 1 if code == 58 else 2


@inner
def _heading(n_inside: i64, n_capitals: i64) -> i64:
    """Return how many of the words with case, except the first, have a capital: 0: none; 1: less than a third; 2: less
    than two thirds; 3: more; 4: there is no such word."""
    if n_inside == 0:
        return 4
    if n_capitals == 0:
        return 0
    return 1 + (3 * n_capitals >= n_inside) + (3 * n_capitals >= 2 * n_inside)


@allocating
def _annotate(
    buf: U8Array,
    words: Words,
    by_words: bool,
    info: U8Array,
    lowering: Lowering,
    facts: WordFactsArray,
    lines: LineFactsArray,
) -> None:
    """Fill facts and lines."""
    longest = 0
    for i in range(words.starts.size):
        longest = max(longest, words.ends[i] - words.starts[i])
    lowered = np.empty(longest * 3 // 2 + 8, np.uint8)
    line, begin, at = 0, 0, 0  # at: white space has been counted up to here
    token, in_space = -1, True
    position = FIRST
    n_inside, n_capitals, n_not_upper, n_raised = 0, 0, 0, 0
    first_hash, ending = u64(0), 3
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
            position = FIRST
            n_inside, n_capitals, n_not_upper, n_raised = 0, 0, 0, 0
            first_hash, ending = u64(0), 3
            if i < words.starts.size:
                facts[i].tag, facts[i].position, facts[i].token = AN, INSIDE, -1
                facts[i].lower_hash = facts[i].cased_hash = facts[i].suffix_hash = 0
            continue
        end = words.ends[i]
        fact = facts[i]
        size = lower_into(buf, start, end, 0, buf.size, lowered, 0, lowering)
        fact.lower_hash = hash_bytes(lowered, 0, size, 1)
        fact.cased_hash = hash_bytes(buf, start, end, 1)
        fact.suffix_hash = hash_bytes(lowered, max(0, size - 3), size, 2)
        fact.token = i - begin if by_words else token
        tag = shape_of(buf, start, end, info)
        fact.tag, fact.position = tag, position
        if words.token_types[i] == MARKS:
            ending = _ending(buf, start, end)
            if position != FIRST and position != SENTENCE:
                if ending == 0:
                    position = SENTENCE
                elif ending == 1:
                    position = COLON
                else:
                    position = OPENING if opens(decode(buf, start, end)[0]) else INSIDE
            continue
        ending = 3
        if tag == AN:
            continue
        if position == FIRST:
            first_hash = fact.lower_hash
        else:
            n_inside += 1
            n_capitals += tag != AL
        n_raised += tag != AL
        n_not_upper += tag != AU
        position = INSIDE


def annotate(buf: npt.NDArray[np.uint8], words: Words, by_words: bool) -> AnnotatedText:
    """Return a buffer's words with the facts that the features read.

    by_words: alignments count the words of the tokenizer, instead of tokens that white space separates.
    """
    n_lines = 1 + int(np.count_nonzero(words.token_types == NEWLINE))
    text = AnnotatedText(buf, words, np.empty(len(words.starts), WORD_FACTS), np.empty(n_lines, LINE_FACTS))
    _annotate(buf, words, by_words, INFO, LOWERING, text.facts, text.lines)
    return text
