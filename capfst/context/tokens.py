"""Words of a text → tokens: the facts about each word in its line that the features read.

In: a buffer's words, and the context model. Out: `TokenizedText`: the tokens of all lines, with padding in between, and
the likeliest domain of each line, or language of each sentence, given its known words.

If an OOV word without its diacritics is a known word, its *proxy*, it gets the record of that word: names keep their
case from language to language, but not their diacritics (*Finlandia*, *Finlândia*).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.transducer import LowerCase, Transducer, canonical_lowercase
from capfst.casing.types import Words
from capfst.casing.word_index import Index, find_label
from capfst.context import lexicon as lx
from capfst.context.classes import RARE
from capfst.context.context_model import Context
from capfst.context.domains import ANY, MAX_DOMAINS, likeliest
from capfst.context.features import MAX_POSITION, PADDING, TOKEN, Token, TokenArray, known_token, sentence_padding
from capfst.context.network import ending_embedding
from capfst.kernels import inner, kernel, outlined, prefetch
from capfst.kernels.types import BoolArray, I8Array, I64Array, I64Matrix, U8Array, U32Array, U64Array, i64, u32
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD
from capfst.text.unicode import Lowering, lower_into

_AHEAD = 16  # words


class Source(NamedTuple):
    """The words of a buffer; parameters of lowercasing, and buffers for one OOV word and its forms."""

    buf: U8Array
    words: Words
    lower: LowerCase
    stripping: Lowering  # also removes diacritics
    known: Index  # of the words that the model has
    hashes: U32Array  # [lx.N_HASHES], of `lower.word`
    stripped: U8Array  # `lower.word` without diacritics
    parts: U64Array  # `stripped` in groups of eight bytes

    @classmethod
    def of(cls, buf: U8Array, words: Words, transducer: Transducer) -> Source:
        """Return a buffer's words. transducer: that found them."""
        _, memory = transducer.memory(buf.size)
        lower, hashes = transducer.lower_case(memory), np.empty(lx.N_HASHES, np.uint32)
        return cls(buf, words, lower, transducer.stripping, transducer.index, hashes, memory.stripped, memory.parts)


class LogOddsSums(NamedTuple):
    """Buffers for the sums of the log-odds of the words of a sentence; 0 at its beginning."""

    languages: I64Array  # [languages]
    domains: I64Matrix  # [max(1, languages), MAX_DOMAINS]: of the words of each language


class TokenizedText(NamedTuple):
    """Tokens of a buffer's words, line by line, as the features read them."""

    source: Source
    tokens: TokenArray  # TOKEN, with padding before and after each line, and between sentences
    token_of: I64Array  # [n]: the token of each word; of a line end, the padding after its line
    labels: U32Array  # [n]: the first label of each word, or of an OOV word's proxy, or 0
    domains: I64Array  # of each line, or of each sentence if there are several languages
    ends: I64Array  # the index of the word after each of these lines or sentences


@outlined
def hash_lowercase(source: Source, i: i64) -> i64:
    """Fill source.lower.word with word i in lower case in the LM's spelling, and source.hashes; return its size."""
    words, lower = source.words, source.lower
    size = canonical_lowercase(source.buf, words.starts[i], words.ends[i], words.token_types[i], lower)
    lx.hash_word(lower.word, 0, size, lower.lowering.info, source.hashes)
    return size


@inner
def _oov_token(source: Source, i: i64, unseen: bool, rare: lx.RareWords, token: Token) -> i64:
    """Fill the token of OOV word i, and the buffers as hash_lowercase does; return the word's size."""
    size = hash_lowercase(source, i)
    is_word = unseen and (source.words.token_types[i] == WORD or source.words.token_types[i] == COMPOUND)
    is_cased = is_word and shape_of(source.lower.word, 0, size, source.lower.lowering.info) != Shape.CASELESS
    token.shape_evidence = lx.rare_evidence(rare, source.hashes[lx.WHOLE]) if is_cased else lx.NO_CASE
    token.word_hash, token.suffix2_hash = source.hashes[lx.WHOLE], source.hashes[lx.SUFFIX + 1]
    token.frequency_rank, token.embedding = 0, ending_embedding(token.suffix2_hash)
    token.lower_class = token.cased_class = RARE
    return size


@inner
def fill_token(source: Source, i: i64, context: Context, token: Token) -> None:
    """Fill the token of word i, without what depends on its line."""
    if source.words.n_forms[i] != 0:
        known_token(context.words[source.words.first_labels[i]], token)
    else:
        _oov_token(source, i, True, context.rare, token)


@outlined
def _proxy(source: Source, size: i64) -> u32:
    """Return the first label of the known word that the OOV word lower.word[:size] is without its diacritics; 0 if
    there is none."""
    word, stripped = source.lower.word, source.stripped
    has_diacritics = False
    for k in range(size):
        has_diacritics |= word[k] >= 0x80
    if not has_diacritics:
        return 0
    size = lower_into(word, 0, size, 0, size, stripped, 0, source.stripping)
    return find_label(stripped, size, source.known, source.parts)


@inner
def _add_log_odds(known: lx.WordRecord, of_languages: I8Array, sums: LogOddsSums) -> None:
    for language in range(of_languages.size):
        sums.languages[language] += of_languages[language]
    of_language = sums.domains[likeliest(of_languages)]
    for domain in range(MAX_DOMAINS):  # all at once; domains that the context model lacks have log-odds 0
        of_language[domain] += known.domain_log_odds[domain]


@inner
def _end_domain(text: TokenizedText, number: i64, end: i64, sums: LogOddsSums, n_domains: i64, given: i64) -> i64:
    """Set a domain, the likeliest one of the likeliest or the given language, and its end; return the number of the
    next one. n_domains: of a language."""
    language = likeliest(sums.languages)
    if given != ANY:
        language = given
    text.domains[number] = language * n_domains + likeliest(sums.domains[language, :n_domains])
    for other in range(sums.languages.size):
        sums.languages[other] = 0
    for other in range(len(sums.domains)):
        for domain in range(MAX_DOMAINS):
            sums.domains[other, domain] = 0
    text.ends[number] = end
    return number + 1


@kernel
def _read(
    begins: BoolArray, unseen: bool, context: Context, sums: LogOddsSums, language: i64, text: TokenizedText
) -> None:
    """Fill `text`. The domain of a line (of a sentence, if there are several languages) is the likeliest one given its
    known words, and the given language, if it is not ANY."""
    source, words = text.source, text.source.words
    t = sentence_padding(text.tokens, 0)
    position, domain = 0, 0
    last = words.starts.size - 1
    several = context.language_log_odds.shape[1] != 0
    n_domains = context.n_domains // max(1, context.language_log_odds.shape[1])
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
                domain = _end_domain(text, domain, i, sums, n_domains, language)
        text.token_of[i], text.labels[i] = t, 0
        if words.token_types[i] == NEWLINE:
            t = sentence_padding(text.tokens, t)
            domain = _end_domain(text, domain, i, sums, n_domains, language)
            position = 0
            continue
        token, label = text.tokens[t], words.first_labels[i]
        if words.n_forms[i] != 0:
            known = context.words[label]
            known_token(known, token)
            _add_log_odds(known, context.language_log_odds[label], sums)
        else:
            size = _oov_token(source, i, unseen, context.rare, token)
            if token.shape_evidence == lx.UNSEEN:
                label = _proxy(source, size)
                if label != 0 and context.shapes[label] != Shape.CASELESS:
                    known_token(context.words[label], token)
                else:
                    label = u32(0)
            elif lx.has_case(token.shape_evidence):
                label = u32(0)
        text.labels[i] = label
        token.position, token.language_evidence = min(position, MAX_POSITION), 0
        position += 1
        t += 1
    sentence_padding(text.tokens, t)
    _end_domain(text, domain, words.starts.size, sums, n_domains, language)


def read_words(
    buf: U8Array, words: Words, context: Context, transducer: Transducer, unseen: bool, language: int
) -> TokenizedText:
    """Return a buffer's words as tokens.

    unseen: whether OOV words have case. language: the number of the language of all lines, in a context model of
    several; ANY: infer that of each sentence from its words.
    """
    begins, n, n_languages = words.begins, len(words.starts), context.n_languages
    n_begins = np.count_nonzero(begins)
    n_newlines = np.count_nonzero(words.token_types == NEWLINE)
    n_domains = 1 + n_newlines + n_begins * (n_languages > 0)
    tokens = np.empty(n + PADDING * (2 + n_newlines + n_begins), TOKEN)
    domains, ends = np.empty((2, n_domains), np.int64)
    source = Source.of(buf, words, transducer)
    text = TokenizedText(source, tokens, np.empty(n, np.int64), np.empty(n, np.uint32), domains, ends)
    sums = LogOddsSums(np.zeros(n_languages, np.int64), np.zeros((max(1, n_languages), MAX_DOMAINS), np.int64))
    _read(begins, unseen, context, sums, language, text)
    return text
