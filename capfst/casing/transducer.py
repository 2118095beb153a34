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
from capfst.casing.glued import BEGINS, are_words, is_unspaced, periods_in_glued
from capfst.casing.types import Words
from capfst.forks import cached
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, inner, kernel, outlined, prefetch
from capfst.kernels.types import F32Array, I32Array, U8Array, U64Array, i64, u8, u32, u64
from capfst.text import tokenizer as tok
from capfst.text import unicode as uni
from capfst.text.protected import AUTOMATON, IDENTIFIER, NOTHING, VERSION, WHOLE_WORD, Automaton, search
from capfst.text.restoring import stripping
from capfst.text.sentences import has_ended
from capfst.text.strings import Strings

_V, _PERIOD = ord("v"), ord(".")
_ROOM = 16  # with this many words, there is room for another one, of glued words
_KEPT = 1 << 21  # bytes of text: a thread keeps the memory for the tokens of at most this many


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


@inner
def _put_part(
    buf: U8Array, start: i64, end: i64, token_type: u8, lower: LowerCase, index: ix.Index, parts: U64Array, begin: i64,
    words: Words, n: i64,
) -> u32:  # fmt: skip
    """Put a part of glued words into `words`, as word n; return its first label. parts[begin:]: memory for it."""
    length, _ = _normalize(buf, start, end, token_type, lower, parts, begin)
    slot = ix.slot_of(parts, begin, length, index)
    label = ix.first_label(slot, length, index)
    words.starts[n], words.ends[n], words.token_types[n] = start, end, token_type
    words.first_labels[n], words.n_forms[n] = label, index.slots[slot].n_forms_length >> u32(4)
    words.may_begin[n], words.begin_odds[n] = token_type == tok.WORD, 0
    return label


@outlined
def _separate(
    buf: U8Array, start: i64, end: i64, lower: LowerCase, index: ix.Index, parts: U64Array, begin: i64, bits: U8Array,
    words: Words, n: i64,
) -> i64:  # fmt: skip
    """Put the parts of buf[start:end] after n words if they are words; return their number then. parts[begin:]: memory
    for one."""
    n_words, before = n, u8(0)
    for i in range(start, end + 1):
        if i < end and buf[i] != _PERIOD:
            continue
        after = bits[_put_part(buf, start, i, u8(tok.WORD), lower, index, parts, begin, words, n)]
        if n > n_words and not are_words(before, after):
            return n_words
        if i < end:
            _put_part(buf, i, i + 1, u8(tok.MARKS), lower, index, parts, begin, words, n + 1)
        before, start, n = after, i + 1, n + 2
    return n - 1


@kernel
def _match(
    buf: U8Array, lower: LowerCase, tokens: tok.Tokens, keys: U64Array, forms: Strings, index: ix.Index,
    automaton: Automaton, scratch: ix.Scratch, bits: U8Array, words: Words,
) -> tuple[i64, i64, bool]:  # fmt: skip
    """Fill `words` from the tokens with these keys. Return their number; the number of words, more than the tokens,
    for which glued ones may need room (glued.py); and whether bits were needed. forms: by label. bits: as from
    glued.glue; if they are empty, or there is no room, no word is taken for glued ones.

    Compounds in the vocabulary replace their parts; other compounds are dropped.
    """
    starts, ends, token_types = tokens
    pretokenized, info, (data, offsets) = lower.pretokenized, lower.lowering.info, forms
    slots, parts, n_tokens = index.slots, scratch.parts, keys.size
    n_words, n_more, needs_bits = 0, 0, False
    covered = 0  # the end of the last compound
    so_far = tok.Tokens(words.starts, words.ends, words.token_types)
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
                if kind == VERSION:  # the LM writes all digits as 0: v0.0 in the LM does not make v2.0 a known word
                    label, n_forms = u32(0), u32(0)
                if n_forms == 0 and is_word and not pretokenized:
                    n_periods = periods_in_glued(buf, start, end, info)
                    if n_periods > 0:
                        n_more, needs_bits = n_more + 2 * n_periods, True
                        if bits.size > 0 and n_more <= words.starts.size - n_tokens:
                            n = _separate(buf, start, end, lower, index, parts, used, bits, words, n_words)
                            if n > n_words:
                                words.may_begin[n_words] = ended and start > last_end
                                ended, last_end, n_words = False, end, n
                                continue
                    if kind == VERSION or kind == IDENTIFIER:
                        token_type, covered = u8(tok.PROTECTED), end
                    elif token_type == tok.COMPOUND:
                        continue
                elif token_type == tok.COMPOUND:
                    covered = end
            words.starts[n_words], words.ends[n_words], words.token_types[n_words] = start, end, token_type
            words.first_labels[n_words], words.n_forms[n_words] = label, n_forms
            words.may_begin[n_words] = ended and token_type != tok.NEWLINE and start > last_end
            words.begin_odds[n_words] = 0
            if ended & (start == last_end) and is_unspaced(buf, so_far, n_words, info):
                needs_bits = True
                words.may_begin[n_words] |= bits.size > 0 and bits[label] & u8(BEGINS) != 0
            ended, last_end = has_ended(buf, start, end, token_type, ended), end
            n_words += 1
    return n_words, n_more, needs_bits


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
        self._bits = np.empty(0, np.uint8)  # what each word may be in glued words, once it is known
        self.pretokenized = pretokenized
        self.index = ix.build_index(symbols, starts, costs)
        self._of_thread = threading.local()

    @cached
    def stripping(self) -> uni.Lowering:
        """The lowering of the model's language, followed by the removal of diacritics."""
        return stripping(self.symbols.language.name.partition("/")[0])

    def words(self, buf: U8Array) -> Words:
        """Return the words of valid UTF-8, any number of lines."""
        language = self.symbols.language
        token_memory, scratch = self.memory(buf.size)
        tokens, keys = tok.read_tokens(buf, self.pretokenized, language.info, language.clitics, token_memory)
        types = np.int64, np.int64, np.uint8, np.uint32, np.uint32, np.bool_, np.float32
        text = buf, self.lower_case(scratch), tokens, keys, self.symbols.strings, self.index, AUTOMATON, scratch
        room = keys.size // _ROOM
        while True:
            bits = self._bits  # which another thread may set meanwhile
            words = Words._make(np.empty(keys.size + room, t) for t in types)
            n, n_more, needs_bits = _match(*text, bits, words)
            if self._glue is None or not needs_bits or (bits.size and n_more <= room):
                return Words._make(a[:n] for a in words)
            room = max(room, n_more)
            self._bits = bits if bits.size else self._glue()

    def lower_case(self, scratch: ix.Scratch) -> LowerCase:
        """Return how tokens are written in lower case, with this memory for one."""
        return LowerCase(self.pretokenized, self.symbols.language.lowering, scratch.lowered, scratch.word)

    def memory(self, size: int) -> tuple[tok.TokensAndKeys, ix.Scratch]:
        """Return memory for the tokens of `size` bytes, which the thread keeps for later texts unless it is very
        large."""
        if size > _KEPT:
            return tok.allocate_tokens(size), ix.Scratch.of(size, size)
        mine = self._of_thread
        if getattr(mine, "size", -1) < size:
            size = max(1 << 16, 1 << size.bit_length())
            mine.memory = tok.allocate_tokens(size), ix.Scratch.of(size, size)
            mine.size = size  # only now: there may be no memory
        memory: tuple[tok.TokensAndKeys, ix.Scratch] = mine.memory
        return memory
