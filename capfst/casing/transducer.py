"""S ∘ T: the words of a text, and for each the range of the labels of its surface forms.

T, the capitalization transducer, is implied by the symbol table, in which the forms of a lowercase word are adjacent.
In: the symbols of a model (word_index.py has their hash table), then buffers of text in any casing. Out: for each token
the labels of its surface forms; a word without any (OOV) has the empty range 0, 0.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from capfst.casing import word_index as ix
from capfst.casing.glued import is_glued, is_unspaced, separate, spread
from capfst.casing.types import Words
from capfst.forks import cached
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, inner, kernel, outlined, prefetch
from capfst.kernels.types import F32Array, I32Array, I64Array, U8Array, U64Array, i64, u8, u32, u64
from capfst.text import tokenizer as tok
from capfst.text import unicode as uni
from capfst.text.protected import AUTOMATON, IDENTIFIER, NOTHING, VERSION, WHOLE_WORD, Automaton, search
from capfst.text.restoring import stripping
from capfst.text.sentences import has_ended
from capfst.text.strings import Strings

_V = ord("v")
_KEPT = 1 << 21  # bytes of text: a thread keeps the memory for the tokens of up to so many


class LowerCase(NamedTuple):
    """How tokens are written in lowercase as the LM has them, and memory for one: GROWTH times as many bytes, and 8."""

    pretokenized: bool
    lowering: uni.Lowering
    lowered: U8Array  # the token in lowercase
    word: U8Array  # the same in the LM's spelling


@outlined
def canonical_lowercase(buf: U8Array, start: i64, end: i64, token_type: u8, lower: LowerCase) -> i64:
    """Write the token buf[start:end] to lower.word in lowercase as the LM has it. Return its length."""
    if token_type != tok.WORD and token_type != tok.COMPOUND:
        return tok.canonical(buf, start, end, token_type, lower.word)
    length = uni.lower_into(buf, start, end, 0, buf.size, lower.lowered, 0, lower.lowering)
    if not lower.pretokenized:
        return tok.canonical(lower.lowered, 0, length, token_type, lower.word)
    copy_bytes(lower.lowered, 0, length, lower.word, 0)
    return length


@inner
def _normalize(
    buf: U8Array, start: i64, end: i64, token_type: u8, lower: LowerCase, parts: U64Array, begin: i64
) -> tuple[i64, bool]:
    """Write a token in lowercase as the LM has it to parts[begin:]. Return its length, and whether it is plain
    ASCII."""
    is_word = token_type == tok.WORD or token_type == tok.COMPOUND
    if is_word and uni.put_plain(buf, start, end, parts, begin, lower.lowering):
        for i in range(0, 0 if lower.pretokenized else end - start, ix.EIGHT):
            part = parts[begin + (i >> 3)]
            parts[begin + (i >> 3)] = part & ~((uni.within(part, 48, 57) >> u64(7)) * u64(15))  # digits become 0
        return end - start, True
    length = canonical_lowercase(buf, start, end, token_type, lower)
    for i in range(0, length, ix.EIGHT):
        parts[begin + (i >> 3)] = uni.eight_of(lower.word, i, length)
    return length, False


@kernel
def _match(
    buf: U8Array, lower: LowerCase, tokens: tok.Tokens, keys: U64Array, forms: Strings, index: ix.Index,
    automaton: Automaton, scratch: ix.Scratch, words: Words, candidates: I64Array,
) -> tuple[i64, i64]:  # fmt: skip
    """Fill `words` from the tokens with these keys, and `candidates` with the indices of those that may be glued
    (glued.py). Return their numbers. forms: by label.

    Compounds in the vocabulary replace their parts; other compounds are dropped.
    """
    starts, ends, token_types = tokens
    pretokenized, info, (data, offsets) = lower.pretokenized, lower.lowering.info, forms
    slots, parts, n_tokens = index.slots, scratch.parts, keys.size
    n_words, n_glued = 0, 0
    covered = 0  # the end of the last compound
    ended, last_end = False, 0  # ended: a sentence may have ended with the last word
    for block in range(0, n_tokens, ix.BLOCK):
        used, n_longer = 0, 0
        for i in range(block, min(n_tokens, block + ix.BLOCK)):
            token, key = scratch.tokens[i - block], keys[i]
            token.length, token.begin, token.is_plain = ends[i] - starts[i], -1, True
            if key == 0 or not lower.lowering.is_regular:
                token.begin = used
                token.length, token.is_plain = _normalize(buf, starts[i], ends[i], token_types[i], lower, parts, used)
                key = ix.key_of(parts, used, token.length)
                used += (token.length + 7) >> 3
                scratch.longer[n_longer] = i - block
                n_longer += i64(token.length > ix.EIGHT)
            token.key, token.slot = key, ix.first_slot(key, token.length, slots)
            prefetch(slots, token.slot)
        for k in range(n_longer):
            slot = slots[scratch.tokens[scratch.longer[k]].slot]
            if slot.n_forms_length & ix.LENGTH == 9:
                prefetch(index.parts, slot.label_or_position)
        for i in range(block, min(n_tokens, block + ix.BLOCK)):
            start, end, token_type = starts[i], ends[i], token_types[i]
            token = scratch.tokens[i - block]
            slot = slots[token.slot]
            label, n_forms = slot.label_or_position, slot.n_forms_length >> u32(4)
            is_found = (slot.key == token.key) & (i64(slot.n_forms_length & ix.LENGTH) == token.length)
            if not is_found & (token.begin < 0):  # one branch for all rare cases
                if start < covered:
                    continue
                length = token.length
                k = ix.find_slot(token.slot, token.key, parts, token.begin, length, index)
                label, n_forms = ix.first_label(k, length, index), slots[k].n_forms_length >> u32(4)
                # Exclude forms that would change the lowercase of the whole line.
                may_change = not token.is_plain and uni.is_joined(buf, start, end, info)
                if may_change and uni.contains(data, offsets[label], offsets[label + n_forms], uni.CAPITAL_SIGMA):
                    label, n_forms = u32(0), u32(0)
                is_word, kind = token_type == tok.WORD or token_type == tok.COMPOUND, i64(NOTHING)
                if not pretokenized and (buf[start] | 32 == _V or (n_forms == 0 and is_word)):
                    kind = search(buf, start, -1, end, WHOLE_WORD, info, automaton)[0]
                if kind == VERSION:  # the LM writes all digits 0: v0.0 in it does not make v2.0 known
                    label, n_forms = u32(0), u32(0)
                if n_forms == 0 and is_word and not pretokenized:
                    if kind == VERSION or kind == IDENTIFIER:
                        token_type = u8(tok.PROTECTED)
                        covered = end
                        candidates[n_glued] = n_words
                        n_glued += is_glued(buf, start, end, info)
                    elif token_type == tok.COMPOUND:
                        continue
                elif token_type == tok.COMPOUND:
                    covered = end
            words.starts[n_words], words.ends[n_words], words.token_types[n_words] = start, end, token_type
            words.first_labels[n_words], words.n_forms[n_words] = label, n_forms
            words.may_begin[n_words] = ended and token_type != tok.NEWLINE and start > last_end
            words.begin_odds[n_words] = 0
            if ended & (start == last_end):
                candidates[n_glued] = n_words
                n_glued += is_unspaced(buf, words.starts, words.ends, words.token_types, n_words, info)
            ended, last_end = has_ended(buf, start, end, token_type, ended), end
            n_words += 1
    return n_words, n_glued


class Transducer:
    """S ∘ T for whole buffers: the possible surface forms of each word, and where sentences may begin. Arguments as for
    `build_index`; `glue` is called when a text has words that may be glued, and returns what glued.glue does."""

    def __init__(
        self,
        symbols: Symbols,
        starts: I32Array,
        pretokenized: bool,
        costs: F32Array | None = None,
        glue: Callable[[], U8Array] | None = None,
    ) -> None:
        self.symbols = symbols
        self._glue = glue
        self.pretokenized = pretokenized
        self.index = ix.build_index(symbols, starts, costs)
        self._of_thread = threading.local()

    @cached
    def _bits(self) -> U8Array:
        """What each word may be among glued ones."""
        assert self._glue is not None
        return self._glue()

    @cached
    def stripping(self) -> uni.Lowering:
        """The lowering of the model's language, followed by the removal of diacritics."""
        return stripping(self.symbols.language.name.partition("/")[0])

    def words(self, buf: U8Array) -> Words:
        """Return the words of valid UTF-8, any number of lines."""
        words, candidates = self._match(buf)
        if not candidates.size or self._glue is None:
            return words
        parts = self._match(np.frombuffer(spread(buf, words, candidates), np.uint8))[0]
        return separate(words, candidates, parts, self._bits)

    def _match(self, buf: U8Array) -> tuple[Words, I64Array]:
        """Return the words, and the indices of those that may be glued."""
        language = self.symbols.language
        token_memory, scratch = self._memory(buf.size)
        tokens, keys = tok.read_tokens(buf, self.pretokenized, language.info, language.clitics, token_memory)
        types = np.int64, np.int64, np.uint8, np.uint32, np.uint32, np.bool_, np.float32
        words = Words._make(np.empty(keys.size, t) for t in types)
        candidates = np.empty(keys.size, np.int64)
        lower = LowerCase(self.pretokenized, language.lowering, scratch.lowered, scratch.word)
        n, n_glued = _match(
            buf, lower, tokens, keys, self.symbols.strings, self.index, AUTOMATON, scratch, words, candidates
        )
        return Words._make(a[:n] for a in words), candidates[:n_glued]

    def _memory(self, size: int) -> tuple[tok.TokensAndKeys, ix.Scratch]:
        """Return memory for the tokens of `size` bytes, which the thread keeps for later texts unless it is very
        large."""
        if size > _KEPT:
            return tok.allocate_tokens(size), ix.Scratch.of(size, size)
        mine = self._of_thread
        if getattr(mine, "size", -1) < size:
            mine.size = max(1 << 16, 1 << size.bit_length())
            mine.memory = tok.allocate_tokens(mine.size), ix.Scratch.of(mine.size, mine.size)
        memory: tuple[tok.TokensAndKeys, ix.Scratch] = mine.memory
        return memory
