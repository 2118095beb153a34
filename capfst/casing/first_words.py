"""The first words of sentences, after quotes, brackets and other prefixes (text/sentences.py).

In: the words of a text, and where sentences begin or may begin inside its lines. Out: which words come first, and which
tokens leave this to the next one.
"""

from __future__ import annotations

import numpy as np

from capfst.casing.types import Words
from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, U8Array, i64
from capfst.text.language import DEFAULT, Language
from capfst.text.sentences import mark_first, mark_prefixes, mark_small_first, opens
from capfst.text.tokenizer import NEWLINE, Tokens
from capfst.text.unicode import decode

_NONE = np.empty(0, np.bool_)


def small_words(buf: U8Array, words: Words, language: Language, languages: U8Array | None) -> BoolArray:
    """Return bool[n]: whether each word stays small at the start of a sentence; empty if the model has none."""
    if not language.small_first or (languages is None and len(language.small_first) > 1):
        return _NONE
    n = len(words.starts)
    small_first, languages = np.zeros(n, np.bool_), np.zeros(n, np.uint8) if languages is None else languages
    for number, small_words in enumerate(language.small_first):
        if small_words.size:
            mark_small_first(buf, Tokens(*words[:3]), languages, number, small_words, small_first)
    return small_first


def first_words(
    buf: U8Array,
    words: Words,
    begins: BoolArray,
    pretokenized: bool,
    language: Language = DEFAULT,
    languages: U8Array | None = None,
) -> BoolArray:
    """Return bool[n]: whether each word is the first of a sentence. begins: bool[n], whether a sentence begins with it,
    inside its line. language, languages: of the model; of the words, as of `CasingCosts`."""
    first = np.empty(len(words.starts), np.bool_)
    if pretokenized:
        _mark_spaced_first(buf, words, begins, first)
    else:
        small_first = small_words(buf, words, language, languages)
        mark_first(buf, Tokens(*words[:3]), small_first, begins, first)
    return first


@inner
def _is_opening(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether all characters of a word open."""
    while start < end and opens(decode(buf, start, end)[0]):
        start = decode(buf, start, end)[1]
    return start == end


@kernel
def _mark_spaced_first(buf: U8Array, words: Words, begins: BoolArray, first: BoolArray) -> None:
    """Do the same as `mark_first` for text that is already tokenized: words may begin with marks."""
    at_start = True
    for i in range(first.size):
        at_start |= begins[i]
        first[i] = at_start
        is_open = at_start and _is_opening(buf, words.starts[i], words.ends[i])
        at_start = is_open or words.token_types[i] == NEWLINE


@kernel
def _mark_spaced_openings(buf: U8Array, words: Words, passes: BoolArray) -> None:
    for i in range(passes.size):
        passes[i] = _is_opening(buf, words.starts[i], words.ends[i])


def openings(
    buf: U8Array, words: Words, pretokenized: bool, language: Language = DEFAULT, languages: U8Array | None = None
) -> BoolArray:
    """Return bool[n]: whether the next word is the first of a sentence if this one is. language, languages: as in
    `first_words`."""
    passes = np.empty(len(words.starts), np.bool_)
    if pretokenized:
        _mark_spaced_openings(buf, words, passes)
    else:
        small_first = small_words(buf, words, language, languages)
        mark_prefixes(buf, Tokens(*words[:3]), small_first, passes)
    return passes
