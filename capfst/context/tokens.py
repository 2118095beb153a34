"""Words of a text → tokens: what is known of each word and its place, as the features read it.

In: a buffer's words, and the context model. Out: `Text`, the tokens of all lines with padding between, and the domain
of each line, or the language of each sentence: the likeliest one, given its known words.

If the model knows what is left of an OOV word without diacritics, its *stand-in*, all that is known of that is taken to
be known of it: names keep their case from language to language, but not their diacritics (*Finlandia*, *Finlândia*).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.transducer import Transducer, canonical_lowercase
from capfst.casing.types import Words
from capfst.casing.word_index import Index, find_label
from capfst.context.classes import RARE
from capfst.context.context_model import Context, Word
from capfst.context.domains import ANY, MAX_DOMAINS, likeliest_domain
from capfst.context.features import MAX_POSITION, PADDING, TOKEN, Token, TokenArray, sentence_padding
from capfst.context.lexicon import N_HASHES, NO_CASE, SUFFIX, UNSEEN, WHOLE, has_case, hash_word
from capfst.kernels import inner, kernel, outlined, prefetch
from capfst.kernels.types import BoolArray, I8Array, I64Array, U8Array, U32Array, U64Array, i64, u32
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD
from capfst.text.unicode import GROWTH, INFO, Lowering, lower_into

_AHEAD = 8  # words


class Lowercase(NamedTuple):
    """What brings unseen words into lower case, and room for one in each state of that."""

    pretokenized: bool
    info: U8Array
    lowering: Lowering
    stripping: Lowering  # and without diacritics
    known: Index  # the words that the model knows
    lowered: U8Array
    word: U8Array  # as the LM writes it
    hashes: U32Array  # [N_HASHES], of the same
    stripped: U8Array
    parts: U64Array  # the same, by eight bytes

    @classmethod
    def of(cls, transducer: Transducer, longest: int) -> Lowercase:
        """With room for a word of so many bytes."""
        room = longest * GROWTH + 8
        return cls(
            transducer.pretokenized,
            INFO,
            transducer.symbols.language.lowering,
            transducer.stripping,
            transducer.index,
            np.empty(room, np.uint8),
            np.empty(room, np.uint8),
            np.empty(N_HASHES, np.uint32),
            np.empty(room * GROWTH, np.uint8),
            np.empty(room * GROWTH // 8 + 1, np.uint64),
        )


class Text(NamedTuple):
    """The words of a buffer in their lines, as the features read them."""

    tokens: TokenArray  # TOKEN, with padding before and after each line, and between sentences
    token_of: I64Array  # [n]: the token of each word; of a line end, the padding behind its line
    labels: U32Array  # [n]: the first label of each word, or of an OOV word's stand-in, or 0
    domains: I64Array  # of each line; if they are languages, of each sentence
    ends: I64Array  # the word behind each of these


@inner
def _known_token(word: Word, token: Token) -> None:
    """Fills the token of a word that the LM knows, by its model.WORD."""
    token.word_hash, token.suffix2_hash = word.word_hash, word.suffix2_hash
    token.frequency_rank = word.frequency_rank
    token.lower_class, token.cased_class = word.lower_class, word.cased_class
    token.shape_evidence = word.shape_evidence


@outlined
@inner
def hash_lowercase(buf: U8Array, words: Words, i: i64, lowercase: Lowercase) -> i64:
    """Fills lowercase.word with the lowercase of word i as the LM would write it, and lowercase.hashes; its size."""
    word = lowercase.word
    size = canonical_lowercase(
        buf, words.starts[i], words.ends[i], words.token_types[i], lowercase.pretokenized, lowercase.info,
        lowercase.lowering, lowercase.lowered, word,
    )  # fmt: skip
    hash_word(word, 0, size, lowercase.info, lowercase.hashes)
    return size


@inner
def _oov_token(buf: U8Array, words: Words, i: i64, unseen: bool, lowercase: Lowercase, token: Token) -> i64:
    """Fills the token of the OOV word i, and what hash_lowercase does; the word's size."""
    size = hash_lowercase(buf, words, i, lowercase)
    is_word = unseen and (words.token_types[i] == WORD or words.token_types[i] == COMPOUND)
    is_cased = is_word and shape_of(lowercase.word, 0, size, lowercase.info) != Shape.CASELESS
    token.shape_evidence = UNSEEN if is_cased else NO_CASE
    token.word_hash, token.suffix2_hash = lowercase.hashes[WHOLE], lowercase.hashes[SUFFIX + 1]
    token.frequency_rank = 0
    token.lower_class = token.cased_class = RARE
    return size


@outlined
@inner
def _stand_in(lowercase: Lowercase, size: i64) -> u32:
    """The first label of the known word that lowercase.word[:size], which is OOV, is without its diacritics; 0 if there
    is none."""
    word, stripped = lowercase.word, lowercase.stripped
    has_diacritics = False
    for k in range(size):
        has_diacritics |= word[k] >= 0x80
    if not has_diacritics:
        return 0
    size = lower_into(word, 0, size, 0, size, stripped, 0, lowercase.info, lowercase.stripping)
    return find_label(stripped, size, lowercase.known, lowercase.parts)


@inner
def _add_log_odds(known: Word, of_languages: I8Array, sums: I64Array) -> None:
    """Adds a known word's log-odds to the sums: those of languages, if the context model tells several apart."""
    if of_languages.size != 0:
        for language in range(of_languages.size):
            sums[language] += of_languages[language]
    else:
        for domain in range(MAX_DOMAINS):  # at once; those that the context model has not are 0
            sums[domain] += known.domain_log_odds[domain]


@inner
def _end_domain(text: Text, number: i64, end: i64, log_odds: I64Array, n_domains: i64, language: i64) -> i64:
    """Sets a domain, the likeliest one or the given language, and where it ends; the number of the next one."""
    text.domains[number] = likeliest_domain(log_odds[:n_domains]) if language == ANY else language
    text.ends[number] = end
    return number + 1


@kernel
def _read(
    buf: U8Array,
    words: Words,
    begins: BoolArray,
    unseen: bool,
    context: Context,
    lowercase: Lowercase,
    log_odds: I64Array,
    language: i64,
    text: Text,
) -> None:
    """Fills `text`. A domain is the likeliest one given the known words of its line, or of its sentence, or the given
    language, if it is not ANY. log_odds: room for sums, 0 at first."""
    t = sentence_padding(text.tokens, 0)
    position, domain = 0, 0
    last = words.starts.size - 1
    several = context.language_log_odds.shape[1] != 0
    for i in range(words.starts.size):
        ahead = i64(words.first_labels[min(i + _AHEAD, last)])
        prefetch(context.words, ahead)
        if several:
            prefetch(context.language_log_odds[ahead], 0)
            prefetch(context.language_evidence[ahead], 0)
        if begins[i]:
            t = sentence_padding(text.tokens, t)
            position = 0
            if several:
                domain = _end_domain(text, domain, i, log_odds, context.n_domains, language)
        text.token_of[i] = t
        if words.token_types[i] == NEWLINE:
            t = sentence_padding(text.tokens, t)
            domain = _end_domain(text, domain, i, log_odds, context.n_domains, language)
            position = 0
            continue
        token, label = text.tokens[t], words.first_labels[i]
        if words.n_forms[i] != 0:
            known = context.words[label]
            _known_token(known, token)
            _add_log_odds(known, context.language_log_odds[label], log_odds)
        else:
            size = _oov_token(buf, words, i, unseen, lowercase, token)
            if has_case(token.shape_evidence):
                label = _stand_in(lowercase, size)
                if label != 0 and context.shapes[label] != Shape.CASELESS:
                    _known_token(context.words[label], token)
                else:
                    label = u32(0)
        text.labels[i] = label
        token.position, token.language_evidence = min(position, MAX_POSITION), 0
        position += 1
        t += 1
    sentence_padding(text.tokens, t)
    _end_domain(text, domain, words.starts.size, log_odds, context.n_domains, language)


@kernel
def _measure(words: Words, begins: BoolArray, sizes: I64Array) -> None:
    """Fills sizes[:3]: the number of line ends, and of words that begin sentences; the length of the longest word."""
    n_newlines, n_begins, longest = 0, 0, 0
    for i in range(words.starts.size):
        n_newlines += i64(words.token_types[i] == NEWLINE)
        n_begins += i64(begins[i])
        longest = max(longest, words.ends[i] - words.starts[i])
    sizes[0], sizes[1], sizes[2] = n_newlines, n_begins, longest


def read_words(
    buf: npt.NDArray[np.uint8],
    words: Words,
    begins: npt.NDArray[np.bool_],
    context: Context,
    transducer: Transducer,
    unseen: bool,
    language: int,
) -> tuple[Text, Lowercase]:
    """A buffer's words as the features read them, and what brings its unseen words into lower case.

    begins: bool[n], whether the word is taken for the first of a sentence inside its line. unseen: whether OOV words
    have case. language: the number of that of all lines, in a context model of several; ANY: that of each sentence is
    found by its words.
    """
    n, sizes = len(words.token_types), np.empty(3, np.int64)
    _measure(words, begins, sizes)
    n_newlines, n_begins, longest = sizes.tolist()
    n_domains = 1 + n_newlines + n_begins * (context.n_languages > 0)
    text = Text(
        np.empty(n + PADDING * (2 + n_newlines + n_begins), TOKEN),
        np.empty(n, np.int64),
        np.empty(n, np.uint32),
        np.empty(n_domains, np.int64),
        np.empty(n_domains, np.int64),
    )
    lowercase = Lowercase.of(transducer, longest)
    log_odds = np.zeros(max(MAX_DOMAINS, context.n_domains), np.int64)
    _read(buf, words, begins, unseen, context, lowercase, log_odds, language, text)
    return text, lowercase
