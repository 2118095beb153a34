"""Link each word of a translation to the source word that it translates, or to none.

In: both texts, and the pairs of their alignments. Out: links, int32[n]: for each word of the translation the index of a
source word, or −1. If several are aligned with it, the one that is the same word in any case is linked; otherwise the
longest one. A word that is not aligned is linked to the first source word of its line that is the same in any case, if
there is one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.bilingual.word_facts import AN, AnnotatedText
from capfst.exceptions import CorpusError, quantity
from capfst.io.alignments import NO_NAMES, Names, Pairs
from capfst.kernels import inner, kernel
from capfst.kernels.types import I32Array, i64
from capfst.system.binary_search import lower_bound
from capfst.text.tokenizer import PROTECTED


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
