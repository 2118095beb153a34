"""Give tokens ids, in order of appearance.

Input: blocks of whole lines. Output: each block as a stream of ids, with 0 at the end of a line. A hyphenated word is
written as a whole and in parts: (id | 2³¹, number of parts), parts. A position inside a line where a sentence may begin
is written as (id | 2³¹, 0), with the id of the word before the mark; there are none after abbreviations with their
periods (`J.`, `U.S.`). vocabulary.py decides on both, when it has the counts of the whole corpus.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, copy_bytes, inner, kernel
from capfst.kernels.types import BoolArray, I64Matrix, U8Array, U32Array, U64Array, i64, u32, u64
from capfst.system.hashing import hash_bytes
from capfst.text import tokenizer as tok
from capfst.text.language import DEFAULT, Language
from capfst.text.sentences import mark_capitalized
from capfst.text.strings import Strings, is_same
from capfst.text.unicode import INFO

COMPOUND_BIT = np.uint32(1 << 31)
COMPOUNDS, LINE_ENDS, BREAKS = range(3)
"""Columns of a word's counts: how often it is a compound, the last word of a line, and the last word before a position
where a sentence may begin."""
_ID = np.uint64(0xFFFFFFFF)
_SEED = 0


class WordTable(NamedTuple):
    """A hash table of words with open addressing; string k of `words` has the id k + 1."""

    slots: U64Array  # uint64[2^b]: upper half of the word's hash << 32 | id; 0 where free
    words: Strings  # maybe with capacity for more words


@inner
def _find_slot(table: WordTable, word: U8Array, length: i64) -> tuple[u64, u64]:
    """Return the slot of word[:length], or the free slot for it; and the upper half of its hash."""
    slots, words = table
    mask = u64(slots.size - 1)
    word_hash = hash_bytes(word, 0, length, _SEED)
    tag = word_hash >> u64(32)
    i = word_hash & mask
    while True:
        slot = slots[i]
        if slot == 0:
            return i, tag
        if slot >> u64(32) == tag:
            k = i64(slot & _ID) - 1
            if is_same(words.data, words.offsets[k], words.offsets[k + 1], word, 0, length):
                return i, tag
        i = (i + u64(1)) & mask


@inner
def id_of(table: WordTable, word: U8Array, length: i64) -> i64:
    """Return the id of word[:length]; 0 if the table lacks it."""
    return i64(table.slots[_find_slot(table, word, length)[0]] & _ID)


@kernel
def _rehash(table: WordTable, n: i64) -> None:
    """Fill the empty slots of a table with its first n words."""
    slots, words = table
    for k in range(n):
        start, end = words.offsets[k], words.offsets[k + 1]
        i, tag = _find_slot(table, words.data[start:end], end - start)
        slots[i] = tag << u64(32) | u64(k + 1)


@inner
def _word_before(token_types: U8Array, i: i64, least: i64, stream: U32Array, written: i64) -> i64:
    """Return the id of the word before token i and the marks before it, each of which is one id in the stream; 0 if
    there is none, or if fewer than `least` tokens are before the marks in the line."""
    t = i - 1
    while t >= 0 and token_types[t] == tok.MARKS:
        t -= 1
    for k in range(least):
        if t - k < 0 or token_types[t - k] == tok.NEWLINE:
            return 0
    return stream[written - (i - t)]


@allocating
def _intern(
    buf: U8Array,
    tokens: tok.Tokens,
    begins: BoolArray,
    first: i64,
    last: i64,
    as_written: bool,
    table: WordTable,
    n: i64,
    counts: I64Matrix,
    scratch: U8Array,
    stream: U32Array,
    written: i64,
) -> tuple[i64, i64, i64]:
    """Append the ids of the tokens first..last of `buf` to `stream`; stop early when the table, of n words, is full.

    begins: whether a sentence may begin with the token, inside its line. as_written: the word is the token itself, not
    its canonical form. counts: int64[ids, 3]. scratch: a buffer for one word.
    Returns (tokens done, length of the stream, words in the table).
    """
    starts, ends, token_types = tokens
    slots, (data, offsets) = table
    i = first
    while i < last:
        token_type = token_types[i]
        if token_type == tok.NEWLINE:
            counts[_word_before(token_types, i, 1, stream, written), LINE_ENDS] += 1
            stream[written] = 0
            written += 1
            i += 1
            continue
        if as_written:
            length = ends[i] - starts[i]
            copy_bytes(buf, starts[i], length, scratch, 0)
        else:
            length = tok.canonical(buf, starts[i], ends[i], token_type, scratch)
        if 2 * (n + 1) > slots.size or n + 2 > offsets.size or offsets[n] + length > data.size:
            break
        slot, tag = _find_slot(table, scratch, length)
        if slots[slot] == 0:
            copy_bytes(scratch, 0, length, data, offsets[n])
            offsets[n + 1] = offsets[n] + length
            n += 1
            slots[slot] = tag << u64(32) | u64(n)
        word = u32(slots[slot] & _ID)
        # A sentence of one word is rarer than a line that begins with an abbreviation: Mr. Smith, Fig. 3.
        after_mark = begins[i] and token_types[i - 1] == tok.MARKS
        before = _word_before(token_types, i, 2, stream, written) if after_mark else 0
        if before:
            counts[before, BREAKS] += 1
            stream[written] = u32(before) | COMPOUND_BIT
            stream[written + 1] = 0
            written += 2
        if token_type == tok.COMPOUND:
            parts = 1
            while i + parts < last and ends[i + parts] <= ends[i]:
                parts += 1
            counts[word, COMPOUNDS] += 1
            stream[written] = word | COMPOUND_BIT
            stream[written + 1] = parts - 1
            written += 2
        else:
            stream[written] = word
            written += 1
        i += 1
    return i, written, n


class Interner:
    """Gives words the ids 1, 2, …; not shared between threads."""

    def __init__(self, language: Language = DEFAULT) -> None:
        self.info, self.clitics = language.info, language.clitics
        self.size = 0  # number of words
        words = Strings(np.empty(1 << 18, np.uint8), np.zeros(1 << 15, np.int64))
        self.counts = np.zeros((words.offsets.size, 3), np.int64)  # by id: COMPOUNDS, LINE_ENDS, BREAKS
        self.table = WordTable(np.zeros(1 << 16, np.uint64), words)
        self._tokens: tok.TokensAndKeys | None = None  # buffers for the tokens of a block

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tokens": None, "info": INFO[:0]}

    def words(self) -> Strings:
        """Return the words by id − 1."""
        data, offsets = self.table.words
        return Strings(data[: offsets[self.size]], offsets[: self.size + 1])

    def block(self, block: bytes, pretokenized: bool) -> npt.NDArray[np.uint32]:
        """Return the stream of a block of whole lines, uint32[·]."""
        buf = np.frombuffer(block, np.uint8)
        if self._tokens is None or self._tokens[1].size < tok.capacity(buf.size):
            self._tokens = tok.allocate_tokens(buf.size)
        tokens, keys = tok.read_tokens(buf, pretokenized, self.info, self.clitics, self._tokens)
        begins = np.zeros(keys.size, np.bool_)
        if not pretokenized:
            mark_capitalized(buf, tokens, self.info, begins)
        return self._intern(buf, tokens, begins, pretokenized)

    def ids(self, words: Strings) -> npt.NDArray[np.uint32]:
        """Return the ids of words, uint32[n]; add new ones."""
        offsets = words.offsets.astype(np.int64, copy=False)
        starts, ends = offsets[:-1], offsets[1:]
        tokens = tok.Tokens(starts, ends, np.full(len(starts), tok.WORD, np.uint8))
        return self._intern(words.data, tokens, np.zeros(len(starts), np.bool_), True)

    def absorb(self, other: Interner) -> npt.NDArray[np.uint32]:
        """Add the words and counts of another interner; return the ids here of its ids: uint32[its ids]."""
        ids = np.concatenate([np.zeros(1, np.uint32), self.ids(other.words())])
        np.add.at(self.counts, ids, other.counts[: other.size + 1])
        return ids

    def _intern(
        self, buf: npt.NDArray[np.uint8], tokens: tok.Tokens, begins: npt.NDArray[np.bool_], as_written: bool
    ) -> npt.NDArray[np.uint32]:
        """Return the stream of the tokens of `buf`."""
        n = len(tokens.starts)
        longest = int((tokens.ends - tokens.starts).max(initial=8))
        scratch = np.empty(longest, np.uint8)
        stream = np.empty(3 * n, np.uint32)  # per token: its id, and a position where a sentence may begin
        done = written = 0
        while done < n:
            done, written, self.size = _intern(
                buf, tokens, begins, done, n, as_written, self.table, self.size, self.counts, scratch, stream, written
            )
            if done < n:
                self._grow(longest)
        return stream[:written].copy()

    def _grow(self, longest: int) -> None:
        """Enlarge the table for another word of up to `longest` bytes."""
        slots, (data, offsets) = self.table
        n = self.size
        if n >= (1 << 31) - 2:
            raise OverflowError("more than 2^31 different words")
        if n + 2 > offsets.size:
            offsets = np.resize(offsets, 2 * offsets.size)
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
        if offsets[n] + longest > data.size:
            data = np.resize(data, 2 * data.size + longest)
        full = 2 * (n + 1) > slots.size
        self.table = WordTable(np.zeros(2 * slots.size, np.uint64) if full else slots, Strings(data, offsets))
        if full:
            _rehash(self.table, n)
