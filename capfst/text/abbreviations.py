"""Abbreviations, and whether the period after each of them may end a sentence.

In: `grammars/abbreviations.tsv`, and abbreviations of a user's own. Out: `Abbreviations`, in which a kernel looks up a
word. A period after a word of the kind

* NEVER ends no sentence (*Mr.*, *cf.*);
* NUMBER ends none before a number (*no. 5*, *vol. iii*), and otherwise like MAY (*he said no.*);
* MAY ends one if the model prefers the next word as the first of a sentence (*Inc.*, *etc.*, *a.m.*);
* EVEN likewise, but the context model's odds that one ends count as even if they are higher. So are ordinals where
  nouns have capitals (German *5. Mai*): training text does not show that no sentence begins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner, kernel
from capfst.kernels.types import I64Array, U8Array, i64, u8
from capfst.system.binary_search import lower_bound
from capfst.system.hashing import hash_bytes
from capfst.text.facts import rows
from capfst.text.language import NAME
from capfst.text.strings import Strings
from capfst.text.unicode import GROWTH, Lowering, lower, lower_into

UNLISTED, NEVER, NUMBER, MAY, EVEN = range(5)

LONGEST = 32  # bytes; longer words are no abbreviations
SCRATCH = GROWTH * LONGEST + 8

_KINDS = {"NEVER": NEVER, "NUMBER": NUMBER, "MAY": MAY, "EVEN": EVEN}
_ORDINAL = "0"
"""The row of all ordinals of a language."""
ENGLISH = "en"
"""The language of a model that names none."""
_SEED = 7


class Abbreviations(NamedTuple):
    """Words by the hash of their lowercase, without the last period."""

    hashes: I64Array  # rising
    kinds: U8Array
    of_ordinals: i64  # the kind of 5. and 31.12.
    of_roman: i64  # the kind of II.: the same if all languages have such ordinals, as others end a sentence with it


@kernel
def _hash(words: Strings, hashes: I64Array) -> None:
    """Fill in the hash of each word."""
    for k in range(hashes.size):
        hashes[k] = i64(hash_bytes(words.data, words.offsets[k], words.offsets[k + 1], _SEED))


@inner
def kind_of(
    abbreviations: Abbreviations, buf: U8Array, start: i64, end: i64, lowering: Lowering, scratch: U8Array
) -> u8:
    """Return the kind of the word buf[start:end], of which a last period is ignored. scratch: SCRATCH bytes."""
    if end - start > 1 and buf[end - 1] == 46:
        end -= 1
    if end - start > LONGEST:
        return u8(UNLISTED)
    size = lower_into(buf, start, end, start, end, scratch, 0, lowering)
    hashed = i64(hash_bytes(scratch, 0, size, _SEED))
    hashes, kinds = abbreviations.hashes, abbreviations.kinds
    k = lower_bound(hashes, 0, hashes.size, hashed)
    return kinds[k] if k < hashes.size and hashes[k] == hashed else u8(UNLISTED)


def of_languages(languages: Iterable[str], own: Iterable[str], lowering: Lowering) -> Abbreviations:
    """Return the listed abbreviations of languages, English if they have no name, and the user's own, as NEVER.

    Of an abbreviation that languages list differently, the period may end a sentence wherever it may in one of them.
    """
    kinds = listed(languages, lowering)
    of_ordinals = kinds.pop(_ORDINAL, UNLISTED)
    of_roman = of_ordinals if all(_ORDINAL in listed([name], lowering) for name in languages) else UNLISTED
    kinds |= {lower(word, lowering): NEVER for entry in own for word in _words(entry)}
    hashes, values = np.empty(len(kinds), np.int64), np.array(list(kinds.values()), np.uint8)
    _hash(Strings.of(word.encode() for word in kinds), hashes)
    order = np.argsort(hashes)
    return Abbreviations(hashes[order], values[order], of_ordinals, of_roman)


def listed(languages: Iterable[str], lowering: Lowering) -> dict[str, int]:
    """Return the kinds of the listed abbreviations of languages, English if they have no name."""
    names = {ENGLISH if name == NAME else name for name in languages}
    kinds: dict[str, int] = {}
    for language, word, kind, *_ in rows("abbreviations.tsv"):
        if language in names:
            word = lower(word, lowering)
            kinds[word] = max(_KINDS[kind], kinds.get(word, UNLISTED))
    return kinds


def _words(entry: str) -> list[str]:
    """Return the abbreviations in an entry, without their last periods: the words with a period at the end, or else the
    last word."""
    words = entry.split()
    return [word[:-1] for word in words if word.endswith(".") and len(word) > 1] or words[-1:]
