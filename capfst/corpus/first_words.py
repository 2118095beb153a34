"""The case of first words: what they would be inside a sentence.

A first word has a capital because of its position, so the capital says nothing of the word. In: how often each form of
a word stands in each place of a corpus. Out: the form that counts where it begins a sentence: the lowercase one, unless
the word is a name there.

This is one step of EM. Inside sentences, words have their own case, and names are the capitalized words that are hardly
ever in lower case. Relative to its occurrences inside, a name begins about as many sentences as other names do. A word
that begins many more is not a name in most of them: *Hello* is a song, but seldom at the start of a sentence. A word
that only begins sentences is treated like the words that occur once inside: as a name if most of these are names,
unless it is repeated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.kernels import allocating
from capfst.kernels.types import U8Array
from capfst.text.strings import Strings
from capfst.text.unicode import ascii_set, class_at, decode, is_alphanumeric, is_in

FIRST, BEFORE_NAME, AFTER_MARK, INSIDE, PLACES = range(5)
"""Where a word stands: it begins a sentence; it does, and a word with capitals follows; it follows a mark that is no
comma, after which its capital may be that of its position; or none of these. The last one is their number."""
OTHER, NAME, MARK, END, COMMA = range(5)
"""What a word is: NAME if it has capitals and more than one letter; END if it is a mark that may end a sentence."""

OFTEN, SELDOM = 20, 0.02
"""Names are inside sentences at least so often, and at most this fraction of it in lower case."""
SURELY = 10
"""Before a name, where a first word may be a part of it (*New York*), it is in lower case inside sentences this much
more often than capitalized."""
AGAIN = 3
"""First words of several letters that are nowhere else are in lower case if they occur at least so often, in a corpus
with names, which would be inside sentences as well; in others, if they are OFTEN first."""
EXCESS = 2
"""A word that may be a name begins this much more sentences than it would as one."""


_ENDS = ascii_set(".?!")


@allocating
def word_kinds(words: Strings, shapes: U8Array, info: U8Array) -> U8Array:
    """Return uint8[n + 1]: what each of n words is, by id, from 1 on. shapes: by id."""
    kinds = np.empty(len(shapes), np.uint8)
    kinds[0] = OTHER
    for k in range(words.offsets.size - 1):
        start, end = words.offsets[k], words.offsets[k + 1]
        code = words.data[start]
        kind = COMMA if end - start == 1 and code == 44 else END if is_in(code, _ENDS) else MARK
        i = start
        while i < end and kind != OTHER:
            if is_alphanumeric(class_at(words.data, i, end, info)):
                kind = OTHER
            i = decode(words.data, i, end)[1]
        has_capitals = shapes[k + 1] != Shape.LOWER and shapes[k + 1] != Shape.CASELESS
        kinds[k + 1] = NAME if kind == OTHER and has_capitals and end - start > 1 else kind
    return kinds


def first_forms(
    counts: npt.NDArray[np.int64],
    small_ids: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.uint8],
    kinds: npt.NDArray[np.uint8],
    several: bool,
) -> npt.NDArray[np.uint32]:
    """Return uint32[2, ids]: for the places FIRST and BEFORE_NAME, the id of each form's form there.

    Args:
        counts: int64[PLACES, ids], the occurrences of each form in each place.
        small_ids: the id of each form's lowercase form.
        shapes, kinds: of each form.
        several: whether the corpus is in several languages, in one of which a word may be a noun with a capital, and in
            another one none (*Rose*).
    """
    first, capital = counts[FIRST] + counts[BEFORE_NAME], counts[INSIDE]
    small, capitalized = capital[small_ids], shapes == Shape.CAPITALIZED
    is_name = capitalized & (capital >= OFTEN) & (small <= SELDOM * capital)
    as_name = capital * first[is_name].sum() / max(1, capital[is_name].sum())
    is_known = small + capital > 0
    rather_small = small >= (SURELY if several else 1) * capital
    rather_small |= (small > SELDOM * capital) & (first > EXCESS * as_name)
    once = (capital == 1) & (kinds < MARK)
    are_words = 2 * (once & capitalized).sum() < (once & (shapes != Shape.CASELESS)).sum()
    is_new = (kinds == NAME) & (are_words | (first >= (AGAIN if is_name.any() else OFTEN)))
    is_small = np.stack([np.where(is_known, rather_small, is_new), is_known & (small >= SURELY * capital)])
    return np.where(capitalized & is_small, small_ids, np.arange(len(shapes))).astype(np.uint32)
