"""Find sentences without white space between them (`he left.she stayed`), and titles without one (`mr.jones`).

In: a text and its words, of which `left.she` is one that the model does not know, like a file name or a method. Out:
the words, with those replaced by their parts where the model says that these are words: it knows the first part, and
the second often begins sentences, or the first is an abbreviation and the second a name. After a mark without white
space (`left!she`), a sentence may begin with such a second word.

The parts are looked up in a text of their own, where spaces separate them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from capfst.casing.types import Words
from capfst.casing.word_index import EIGHT, Index, find_label
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, F32Array, I32Array, I64Array, U8Array, U64Array, i64, u8
from capfst.text.strings import Strings
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED, WORD
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
_ENDING = ascii_set(".?!")
_BEFORE = ascii_set("\t\n\v\f\r \"'([")
_AFTER = ascii_set("\t\n\v\f\r \"'),.:;?!]")


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
def is_glued(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether the word or identifier buf[start:end] may be words with periods between them: each has only
    letters, except that the first may be a number, and all but the last several."""
    if start > 0 and not is_in(buf[start - 1], _BEFORE):
        return False
    if end < buf.size and buf[end] < 128 and not is_in(buf[end], _AFTER):
        return False
    n_parts, n_letters, n_digits = 0, 0, 0
    i = start
    while i < end:
        if buf[i] == _PERIOD:
            if n_letters + n_digits < 2:
                return False
            n_parts += 1
            n_letters = n_digits = 0
            i += 1
            continue
        char_class = class_at(buf, i, end, info)
        n_letters += char_class == LETTER
        n_digits += char_class == NUMBER
        if not (char_class == LETTER or (char_class == NUMBER and n_parts == 0)) or n_letters * n_digits > 0:
            return False
        i = decode(buf, i, end)[1]
    return n_parts > 0 and n_letters > 0


@inner
def is_unspaced(buf: U8Array, starts: I64Array, ends: I64Array, token_types: U8Array, i: i64, info: U8Array) -> bool:
    """Return whether word i follows a word and one `.`, `?` or `!`, all without white space."""
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


def spread(buf: U8Array, words: Words, candidates: I64Array) -> bytes:
    """Return the words that may be glued, one per line, with spaces around the periods."""
    glued = candidates[words.token_types[candidates] == PROTECTED]
    sizes = words.ends[glued] - words.starts[glued] + 1
    line_ends = np.cumsum(sizes)
    offsets = np.repeat(words.ends[glued] + 1 - line_ends, sizes) + np.arange(sizes.sum())
    text = buf.take(offsets, mode="clip")
    text[line_ends - 1] = ord("\n")
    return text.tobytes().replace(b".", b" . ")


def _are_words(before: U8Array, after: U8Array) -> BoolArray:
    """Return whether a period between words with these bits is between words, rather than in a name."""
    is_domain = after & DOMAIN != 0
    often_begins = (after & OFTEN != 0) & (before & SMALL != 0)
    is_sentence = (before != 0) & np.where(is_domain, often_begins, after & BEGINS != 0)
    return is_sentence | (before & ABBREVIATION != 0) & (after & NAME != 0) & ~is_domain


def separate(words: Words, candidates: I64Array, parts: Words, bits: U8Array) -> Words:
    """Return the words, those that are glued replaced by their parts, and mark where sentences may begin after a mark
    without white space. candidates: the words that may be glued. parts: the words of `spread`. bits: as from `glue`."""
    is_glued = words.token_types[candidates] == PROTECTED
    glued, unspaced = candidates[is_glued], candidates[~is_glued]
    words.may_begin[unspaced] |= bits[words.first_labels[unspaced]] & BEGINS != 0

    line_ends = np.flatnonzero(parts.token_types == NEWLINE)
    line_starts = np.append(0, line_ends + 1)[:-1]
    line = np.repeat(np.arange(len(glued)), line_ends + 1 - line_starts)
    place = np.arange(len(line)) - line_starts[line]  # of a part: every other one is a period
    before = np.flatnonzero((place % 2 == 0) & (place + 2 < (line_ends - line_starts)[line]))
    bits = bits[parts.first_labels]
    splits = np.ones(len(glued), np.bool_)
    splits[line[before[~_are_words(bits[before], bits[before + 2])]]] = False
    if not splits.any():
        return words

    # A space precedes each part but the first.
    shift = words.starts[glued][line] - parts.starts[line_starts][line] - place
    may_begin = np.where(place == 0, words.may_begin[glued][line], place % 2 == 0)
    parts = parts._replace(starts=parts.starts + shift, ends=parts.ends + shift, may_begin=may_begin)
    out, done = [], 0
    for word, begin, end in zip(glued[splits], line_starts[splits], line_ends[splits], strict=True):
        out += [(words, done, word), (parts, begin, end)]
        done = word + 1
    out.append((words, done, len(words.starts)))
    return Words._make(np.concatenate([of[k][begin:end] for of, begin, end in out]) for k in range(len(words)))
