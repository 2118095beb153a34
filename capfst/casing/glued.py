"""Find sentences without white space between them (`he left.she stayed`), and titles without one (`mr.jones`).

In: a text, and `left.she` in it, which the model does not know, like a file name or a method. Out: whether its parts
are words instead, as the model says: it knows the first part, and the second often begins sentences, or the first is an
abbreviation and the second a name. After a mark without white space (`left!she`), a sentence may begin with such a
second word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from capfst.casing.word_index import EIGHT, Index, find_label
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Array, I32Array, U8Array, U64Array, i64, u8
from capfst.text.strings import Strings
from capfst.text.tokenizer import MARKS, WORD, Tokens
from capfst.text.unicode import LETTER, NUMBER, ascii_set, class_at, decode, is_in

BEGINS, OFTEN, ABBREVIATION, SMALL, NAME, DOMAIN = 1, 2, 4, 8, 16, 32
"""Bits of a word that the model knows: it begins sentences; does so often; is an abbreviation; mostly begins with a
small letter; or with a capital; is the name of a domain as well (`example.in`): then it must begin sentences often, and
the word before it be in lower case."""

_BEGINS = 8.0
_OFTEN_BEGINS = 5.6
"""−ln P of a word that begins sentences, and of one that is a domain as well. Most names of methods are above."""
_DOMAINS = (
    "ac ad ae ag ai al am an as at au az ba be bg bi by ca cc cd ch ci cl cm cn co cr cz de dj dk do ec ee es eu fi fm"
    " fr ge gg gl gr hk hr hu ie il im in io is it jp ke kr la li lt lu lv ly ma me mk mn ms mx my na ne ng nl no nu nz"
    " pa pe ph pl pm pt re ro rs ru sa sc se sg sh si sk so st su th tk tn to tr tv tw ua ug uk us uz vc vn ws"
    " com org net edu gov info"
)

_PERIOD = 46
_LONGEST_LABEL = 3  # bytes: 1.a
_ENDING = ascii_set(".?!")
_BEFORE = ascii_set("\t\n\v\f\r \"'([?!")
_AFTER = ascii_set("\t\n\v\f\r \"'),.:;?!]nN")  # n't, which is a word


class FirstWords(NamedTuple):
    """The arcs of the LM's `<s>`."""

    labels: I32Array
    costs: F32Array

    @classmethod
    def of(cls, model: CapFst) -> FirstWords:
        pos, n_arcs = (int(model.states[model.start][name]) for name in ("pos", "narcs"))
        arcs = model.arcs[pos + 1 : pos + n_arcs]  # after the backoff
        return cls(arcs["ilabel"].copy(), arcs["weight"].copy())


@kernel
def _mark(words: Strings, bit: u8, index: Index, parts: U64Array, bits: U8Array) -> None:
    """Set a bit of the words that the model knows, and of label 0 if it lacks one."""
    data, offsets = words
    for k in range(offsets.size - 1):
        size = offsets[k + 1] - offsets[k]
        bits[find_label(data[offsets[k] : offsets[k + 1]], size, index, parts)] |= bit


def glue(
    symbols: Symbols, starts: I32Array, index: Index, first_words: FirstWords, abbreviations: Iterable[str]
) -> U8Array:
    """Return uint8[V + 1], the bits of each lowercase word at its first label. starts: the words' first labels,
    as from symbols.check. index: that of T."""
    words = starts[:-1]
    begins = np.full(len(words), np.inf, np.float32)
    np.minimum.at(begins, np.searchsorted(words, first_words.labels, "right") - 1, first_words.costs)
    letter = symbols.data[symbols.offsets[words]]  # a first letter that is not ASCII may be either
    is_capital = (letter >= ord("A")) & (letter <= ord("Z"))
    bits = np.zeros(len(symbols) + 1, np.uint8)
    bits[words] = SMALL * ~is_capital + NAME * (is_capital | (letter > 127))
    bits[words[begins <= _BEGINS]] |= BEGINS
    bits[words[begins <= _OFTEN_BEGINS]] |= OFTEN
    for bit, these in ((DOMAIN, _DOMAINS.split()), (ABBREVIATION, abbreviations)):
        listed = Strings.of(word.encode() for word in these)
        parts = np.empty(1 + int(np.diff(listed.offsets).max(initial=0)) // EIGHT, np.uint64)
        _mark(listed, bit, index, parts, bits)
    bits[0] = 0
    return bits


@inner
def periods_in_glued(buf: U8Array, start: i64, end: i64, info: U8Array) -> i64:
    """Return the number of periods in the word or identifier buf[start:end] if it may be words with periods between
    them, else 0: each has only letters, except that the first may be a number; and several, except the last."""
    if start > 0 and buf[start - 1] < 128 and not is_in(buf[start - 1], _BEFORE):
        return 0
    if end < buf.size and buf[end] < 128 and not is_in(buf[end], _AFTER):
        return 0
    n_parts, n_letters, n_digits = 0, 0, 0
    i = start
    while i < end:
        if buf[i] == _PERIOD:
            if n_letters + 2 * n_digits < 2:
                return 0
            n_parts += 1
            n_letters = n_digits = 0
            i += 1
            continue
        char_class = class_at(buf, i, end, info)
        n_letters += char_class == LETTER
        n_digits += char_class == NUMBER
        if not (char_class == LETTER or (char_class == NUMBER and n_parts == 0)) or n_letters * n_digits > 0:
            return 0
        i = decode(buf, i, end)[1]
    return n_parts if n_letters > 0 and end - start > _LONGEST_LABEL else 0


@inner
def is_unspaced(buf: U8Array, tokens: Tokens, i: i64, info: U8Array) -> bool:
    """Return whether word i follows a word and one `.`, `?` or `!`, all without white space."""
    starts, ends, token_types = tokens
    return (
        i > 1
        and token_types[i] == WORD
        and class_at(buf, starts[i], ends[i], info) == LETTER
        and token_types[i - 1] == MARKS
        and ends[i - 1] == starts[i]
        and ends[i - 1] - starts[i - 1] == 1
        and is_in(buf[starts[i - 1]], _ENDING)
        and token_types[i - 2] == WORD
        and ends[i - 2] == starts[i - 1]
    )


@inner
def are_words(before: u8, after: u8) -> bool:
    """Return whether a period between words with these bits is between words, rather than in a name."""
    if after & u8(DOMAIN) != 0:
        return (after & u8(OFTEN) != 0) & (before & u8(SMALL) != 0)
    begins = (before != 0) & (after & u8(BEGINS) != 0)
    return begins | ((before & u8(ABBREVIATION) != 0) & (after & u8(NAME) != 0))
