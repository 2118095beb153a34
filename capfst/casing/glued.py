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
import numpy.typing as npt

from capfst.casing.types import Words
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, F32Array, I32Array, I64Array, U8Array, i64
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

_PERIOD, _SPACE, _NL = 46, 32, 10
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


def glue(
    symbols: Symbols,
    starts: npt.NDArray[np.int32],
    first_words: FirstWords,
    abbreviations: Iterable[str],
) -> npt.NDArray[np.uint8]:
    """Return uint8[V + 1], the bits of each lowercase word at its first label. starts: the words' first labels,
    as from symbols.check."""
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
        for word in these:
            bits[symbols.forms(word, starts)[:1]] |= bit
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


@kernel
def spread(buf: U8Array, words: Words, candidates: I64Array, out: U8Array) -> i64:
    """Write the words that may be glued, one per line, with spaces around the periods. Return the size."""
    j = 0
    for c in range(candidates.size):
        i = candidates[c]
        if words.token_types[i] == PROTECTED:
            for k in range(words.starts[i], words.ends[i]):
                if buf[k] == _PERIOD:
                    out[j], out[j + 2] = _SPACE, _SPACE
                    j += 1
                out[j] = buf[k]
                j += 1 + (buf[k] == _PERIOD)
            out[j] = _NL
            j += 1
    return j


@inner
def _are_words(parts: Words, begin: i64, end: i64, bits: U8Array) -> bool:
    """Return whether the parts begin … end − 1, of which every other is a period, are words rather than a name."""
    for i in range(begin, end - 2, 2):
        before, after = bits[parts.first_labels[i]], bits[parts.first_labels[i + 2]]
        is_domain = after & DOMAIN != 0
        begins = after & OFTEN != 0 and before & SMALL != 0 if is_domain else after & BEGINS != 0
        is_sentence = before != 0 and begins
        is_name = before & ABBREVIATION != 0 and after & NAME != 0 and not is_domain
        if not (is_sentence or is_name):
            return False
    return True


@kernel
def _decide(words: Words, candidates: I64Array, parts: Words, bits: U8Array, splits: BoolArray) -> i64:
    """Mark where sentences may begin after a mark without white space. Fill splits, bool[candidates]: whether a word is
    to be replaced by its parts; return how many more words there are then."""
    part, more = 0, 0
    for c in range(candidates.size):
        i, begin = candidates[c], part
        splits[c] = False
        if words.token_types[i] != PROTECTED:
            words.may_begin[i] |= bits[words.first_labels[i]] & BEGINS != 0
            continue
        while parts.token_types[part] != NEWLINE:
            part += 1
        part += 1
        if _are_words(parts, begin, part - 1, bits):
            splits[c] = True
            more += part - 2 - begin
    return more


@inner
def _put(words: Words, i: i64, out: Words, n: i64) -> None:
    out.starts[n], out.ends[n], out.token_types[n] = words.starts[i], words.ends[i], words.token_types[i]
    out.first_labels[n], out.n_forms[n] = words.first_labels[i], words.n_forms[i]
    out.may_begin[n], out.begin_odds[n] = words.may_begin[i], words.begin_odds[i]


@kernel
def _separate(words: Words, candidates: I64Array, splits: BoolArray, parts: Words, out: Words) -> None:
    """Fill `out` with the words, some of which are replaced by their parts."""
    n, part, i = 0, 0, 0
    for c in range(candidates.size):
        if words.token_types[candidates[c]] != PROTECTED:
            continue
        begin = part
        while parts.token_types[part] != NEWLINE:
            part += 1
        part += 1
        if splits[c]:
            while i < candidates[c]:
                _put(words, i, out, n)
                i, n = i + 1, n + 1
            start = words.starts[i]
            for k in range(begin, part - 1):
                _put(parts, k, out, n)
                size = parts.ends[k] - parts.starts[k]
                out.starts[n], out.ends[n] = start, start + size
                out.may_begin[n] = words.may_begin[i] if k == begin else (k - begin) & 1 == 0
                start += size
                n += 1
            i += 1
    while i < words.starts.size:
        _put(words, i, out, n)
        i, n = i + 1, n + 1


def separate(words: Words, candidates: npt.NDArray[np.int64], parts: Words, bits: npt.NDArray[np.uint8]) -> Words:
    """Return the words, those that are glued replaced by their parts, and mark where sentences may begin after a mark
    without white space. candidates: the words that may be glued. parts: the words of `spread`. bits: as from `glue`."""
    splits = np.empty(len(candidates), np.bool_)
    more = _decide(words, candidates, parts, bits, splits)
    if not more:
        return words
    out = Words._make(np.empty(len(words.starts) + more, a.dtype) for a in words)
    _separate(words, candidates, splits, parts, out)
    return out
