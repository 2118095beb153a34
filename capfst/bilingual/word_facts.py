"""What the bilingual features read: facts of the words and lines of a text, translation or source, and the source word
that each word translates.

In: buffers with their words (casing/transducer.py), and the pairs of their alignments. Out: WORD_FACTS and LINE_FACTS
records; and links, int32[n]: for each word of the translation the index of a source word, or −1. The case tags are
those of Wang, Knight & Marcu (2006, §4): AL (all lowercase), IU (initial uppercase), AU (all uppercase), MX (mixed), AN
(no letter with case). They are the shapes of casing/shapes.py, in this order.

If several source words are aligned with a word, the one that is the same word in any case is linked; otherwise the
longest one. A word that is not aligned is linked to the first source word of its line that is the same in any case, if
there is one.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.types import Words
from capfst.exceptions import CorpusError, quantity
from capfst.io.alignments import NO_NAMES, Names, Pairs
from capfst.kernels import allocating, inner, kernel
from capfst.kernels.types import Array, I32Array, Record, U8Array, i64, u64
from capfst.system.binary_search import lower_bound
from capfst.system.hashing import hash_bytes
from capfst.text.sentences import opens
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED
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
    i, at = 0, 0  # at: white space has been counted up to here
    for line in range(lines.size):
        begin, token, in_space = i, -1, True
        position, first_hash, ending = FIRST, u64(0), 3
        n_inside, n_capitals, n_not_upper, n_raised = 0, 0, 0, 0
        while True:
            is_end = i == words.starts.size or words.token_types[i] == NEWLINE
            start = buf.size if i == words.starts.size else words.starts[i]
            while at < start or (at == start and not is_end):
                code, after = decode(buf, at, buf.size)
                is_space = info[code] & CLASS == SPACE
                token += in_space and not is_space
                in_space = is_space
                at = after
            if is_end:
                break
            end, fact = words.ends[i], facts[i]
            size = lower_into(buf, start, end, 0, buf.size, lowered, 0, lowering)
            fact.lower_hash = hash_bytes(lowered, 0, size, 1)
            fact.cased_hash = hash_bytes(buf, start, end, 1)
            fact.suffix_hash = hash_bytes(lowered, max(0, size - 3), size, 2)
            fact.token = i - begin if by_words else token
            tag = shape_of(buf, start, end, info)
            fact.tag, fact.position = tag, position
            i += 1
            if words.token_types[i - 1] == MARKS:
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
        record = lines[line]
        record.begin, record.end = begin, i
        record.n_tokens = i - begin if by_words else token + 1
        record.has_contrast = n_raised > 0 and n_not_upper > 0
        record.heading = _heading(n_inside, n_capitals)
        record.first_hash, record.ending = first_hash, ending
        at = start + 1
        if i < words.starts.size:
            facts[i].tag, facts[i].position, facts[i].token = AN, INSIDE, -1
            facts[i].lower_hash = facts[i].cased_hash = facts[i].suffix_hash = 0
        i += 1


def annotate(buf: npt.NDArray[np.uint8], words: Words, by_words: bool) -> AnnotatedText:
    """Return a buffer's words with the facts that the features read.

    by_words: alignments count the words of the tokenizer, instead of tokens that white space separates.
    """
    n_lines = 1 + int(np.count_nonzero(words.token_types == NEWLINE))
    text = AnnotatedText(buf, words, np.empty(len(words.starts), WORD_FACTS), np.empty(n_lines, LINE_FACTS))
    _annotate(buf, words, by_words, INFO, LOWERING, text.facts, text.lines)
    return text


@inner
def _can_link(text: AnnotatedText, i: i64) -> bool:
    """Return whether a word has case or is protected; no other words are linked."""
    return text.facts[i].tag != AN or text.words.token_types[i] == PROTECTED


@inner
def _value(target: AnnotatedText, i: i64, source: AnnotatedText, k: i64) -> i64:
    """Return how good a link is: that to the same word is best, otherwise the longer the source word, the better."""
    if target.facts[i].lower_hash == source.facts[k].lower_hash:
        return 1 << 40
    return source.words.ends[k] - source.words.starts[k]


@kernel
def _link(target: AnnotatedText, source: AnnotatedText, pairs: Pairs, links: I32Array) -> tuple[i64, i64]:
    """Fill links; return the first pair that is out of range and its line, or −1, −1."""
    for line in range(target.lines.size):
        here = target.lines[line]
        for i in range(here.begin, min(here.end + 1, links.size)):
            links[i] = -1
        if line >= source.lines.size:
            continue
        there = source.lines[line]
        if line + 1 < pairs.offsets.size:
            for pair in range(pairs.offsets[line], pairs.offsets[line + 1]):
                s, t = pairs.source[pair], pairs.target[pair]
                if s >= there.n_tokens or t >= here.n_tokens:
                    return pair, line
                first = lower_bound(source.facts["token"], there.begin, there.end, s)
                i = lower_bound(target.facts["token"], here.begin, here.end, t)
                while i < here.end and target.facts[i].token == t:
                    k = first
                    while _can_link(target, i) and k < there.end and source.facts[k].token == s:
                        if _can_link(source, k):
                            linked = links[i]
                            if linked < 0 or _value(target, i, source, k) > _value(target, i, source, linked):
                                links[i] = k
                        k += 1
                    i += 1
        for i in range(here.begin, here.end):
            if links[i] < 0 and _can_link(target, i):
                for k in range(there.begin, there.end):
                    if source.facts[k].lower_hash == target.facts[i].lower_hash and _can_link(source, k):
                        links[i] = k
                        break
    return -1, -1


def link(
    target: AnnotatedText, source: AnnotatedText, pairs: Pairs, names: Names = NO_NAMES, line: int = 1
) -> npt.NDArray[np.int32]:
    """Return the links of a translation. line: the number of the first line, for errors.

    Raises:
        CorpusError: a pair refers to a word that its line does not have.
    """
    links = np.empty(len(target.words.starts), np.int32)
    pair, bad = _link(target, source, pairs, links)
    if pair >= 0:
        s, t = int(pairs.source[pair]), int(pairs.target[pair])
        raise CorpusError(
            f"{names.align}, line {line + bad}: the pair {s}-{t} is out of range, as {names.source} has"
            f" {quantity(int(source.lines[bad]['n_tokens']), 'word')} in this line and {names.target} has"
            f" {target.lines[bad]['n_tokens']}. Align exactly the given lines."
        )
    return links
