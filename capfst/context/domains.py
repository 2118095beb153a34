"""Domains: a word that has a capital in one kind of text (`the Government`, in speeches of diplomats) has none in
another.

In: the labels of the sources of a corpus. Out: the sources grouped into a few domains by the words that they use; and
for each word the log-odds ln(p(word | domain) / p(word)), from which naive Bayes infers the domain of any line
(tokens.py). Features of one domain alone (features.py) learn how it differs from the others.

If the sources are in several named languages, each language has domains of its own. The language is inferred first, by
separate log-odds, in which names count less than other words: they are most frequent in the language with the most text
about the world, but may occur in any. Then the domain is inferred by the words that are most frequent in this language.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import BoolArray, F64Array, F64Matrix, I8Array, I8Matrix, I64Array, I64Matrix, U32Array, i64
from capfst.options import MAX_DOMAINS

MAX_LANGUAGES = 128
LEAST_WORDS = 1_000_000
"""Least number of frequent words in a domain's text, if there are several languages: one with less text has one domain,
whose features are those of the language."""
MIN_DIVERGENCE = 0.03
"""Least Jensen–Shannon divergence between two domains, in nats. Two halves of one text have about 0.001, texts of
different domains about 0.1."""
ANY = -1
"""Pseudo domain: infer that of each line."""
LOG_ODDS_SCALE = 32
"""Log-odds are stored as integers from −127 to 127: multiplied by this."""

_N_FREQUENT = 5000  # words by which sources are compared
_N_COMPARED = 32  # sources that are compared with each other; smaller ones join the most similar group
_MIN_COUNT, _MIN_COUNT_IN_LANGUAGES = 50, 5  # occurrences of a word with log-odds for domains, for languages
_SMOOTHING = 5000.0  # words added to those of each domain, distributed as in all domains together
_CAPITALIZED = 0.25  # factor of a capitalized word's log-odds if the domains are languages
_LEAST = -1 << 62  # below all log-odds and their sums

Counts = I64Matrix
LogOdds = TypeVar("LogOdds", I8Array, I64Array)


def _divergence(one: F64Array, others: F64Matrix) -> F64Array:
    """Return the Jensen–Shannon divergence (Lin 1991), in nats, of counts [words] and each row of [n, words]: JS(p, q)
    = (KL(p ‖ m) + KL(q ‖ m)) / 2 with m = (p + q) / 2."""
    p, q = one / max(1, one.sum()), others / np.maximum(1, others.sum(1, keepdims=True))
    mean = np.maximum((p + q) / 2, 1e-300)

    def kl(a: F64Matrix) -> F64Array:
        return (a * np.log(np.maximum(a, 1e-300) / mean)).sum(1)

    return (kl(np.broadcast_to(p, q.shape)) + kl(q)) / 2


def group_sources(counts: Counts, most: int = MAX_DOMAINS, least: int = 0) -> I64Array:
    """Return the domain of each source; domain 0 is the largest. counts: how often each source has each word, [sources,
    words].

    Groups of sources that are too similar are merged; then, while there are more than `most`, the two whose merger has
    the least loss (per nat of divergence, half the harmonic mean of the square roots of their numbers of words: so
    neither do many words decide alone, nor do a few words keep a domain for themselves); then each with fewer than
    `least` words and the most similar one, the smallest first.
    """
    sizes = counts.sum(1)
    order = np.argsort(-sizes, kind="stable")
    groups = [[int(source)] for source in order[:_N_COMPARED]]
    sums = counts[order[:_N_COMPARED]].astype(np.float64)
    while len(groups) > 1:
        cost = np.array([_divergence(row, sums) for row in sums])
        np.fill_diagonal(cost, np.inf)
        if cost.min() >= MIN_DIVERGENCE:
            if len(groups) <= most:
                break
            roots = np.sqrt(sums.sum(1))
            cost *= roots[:, None] * roots / np.maximum(1, roots[:, None] + roots)
        one, other = sorted(map(int, np.unravel_index(np.argmin(cost), cost.shape)))
        groups[one] += groups.pop(other)
        sums[one] += sums[other]
        sums = np.delete(sums, other, axis=0)
    while len(groups) > 1 and sums.sum(1).min() < least:
        smallest = int(sums.sum(1).argmin())
        group, row = groups.pop(smallest), sums[smallest]
        sums = np.delete(sums, smallest, axis=0)
        nearest = int(np.argmin(_divergence(row, sums)))
        groups[nearest] += group
        sums[nearest] += row
    for source in order[_N_COMPARED:]:
        groups[int(np.argmin(_divergence(counts[source].astype(np.float64), sums)))].append(int(source))
    groups.sort(key=lambda group: -int(sizes[group].sum()))
    domains = np.empty(len(counts), np.int64)
    for domain, group in enumerate(groups):
        domains[group] = domain
    return domains


def domain_log_odds(counts: Counts, min_count: int = _MIN_COUNT) -> I8Matrix:
    """Return int8[words, domains]: LOG_ODDS_SCALE · ln(p(word | domain) / p(word)), rounded; 0 for words with fewer
    than min_count occurrences. counts: how often each domain has each word, [domains, words]."""
    frequent = counts.sum(0) >= min_count
    counts = np.where(frequent, counts, 0)
    p = np.maximum(counts.sum(0), 1) / max(1, counts.sum())
    p_in_domain = (counts + _SMOOTHING * p) / (counts.sum(1, keepdims=True) + _SMOOTHING)
    log_odds = np.where(frequent, np.log(p_in_domain / p), 0)
    return np.clip(np.rint(LOG_ODDS_SCALE * log_odds), -127, 127).astype(np.int8).T.copy()


def find_domains(
    sources: list[U32Array], languages: I64Array, word_of: I64Array, totals: F64Array, capitalized: BoolArray,
    most: int = MAX_DOMAINS,
) -> tuple[I8Matrix, I8Matrix]:  # fmt: skip
    """Return the log-odds of each word in labeled sources, as from `domain_log_odds`: int8[words, domains of a
    language], in the word's own language; and int8[words, languages], or [words, 0] if there is only one.

    languages: of each source, from 0 on. word_of: the word of each label. totals: the occurrences of each word.
    capitalized: whether the word's most frequent form has capitals. most: the largest number of domains of a language.
    """
    n_words, several = len(totals), bool(languages.any())

    def count(labels: U32Array) -> Counts:
        return np.bincount(word_of[labels[labels > 0]], minlength=n_words)

    of_languages, own, by_language = np.zeros((n_words, 0), np.int8), np.zeros(n_words, np.int64), totals[None]
    if several:
        counts = np.zeros((int(languages.max()) + 1, n_words), np.int64)
        for language, labels in zip(languages, sources, strict=True):
            counts[language] += count(labels)
        of_languages = domain_log_odds(counts, _MIN_COUNT_IN_LANGUAGES)
        of_languages[capitalized] = np.rint(_CAPITALIZED * of_languages[capitalized])
        own, by_language = of_languages.argmax(1), counts.astype(np.float64)
    found = []
    for language, its_totals in enumerate(by_language):
        frequent = np.argsort(-its_totals, kind="stable")[:_N_FREQUENT]
        its_sources = [labels for labels, other in zip(sources, languages, strict=True) if other == language]
        of_frequent = np.array([count(labels)[frequent] for labels in its_sources]).reshape(-1, len(frequent))
        domains = group_sources(of_frequent, most, LEAST_WORDS if several else 0)
        by_domain = np.zeros((int(domains.max(initial=0)) + 1, n_words), np.int64)
        for domain, labels in zip(domains, its_sources, strict=True):  # counted again: all at once take too much memory
            by_domain[domain] += count(labels)
        found.append(domain_log_odds(by_domain))
    log_odds = np.empty((n_words, max(each.shape[1] for each in found)), np.int8)
    for language, of_domains in enumerate(found):
        words = np.flatnonzero(own == language)
        log_odds[words] = of_domains[words, :1]  # also of domains that the language lacks: the first one precedes them
        log_odds[words, : of_domains.shape[1]] = of_domains[words]
    return log_odds, of_languages


@inner
def likeliest(log_odds: LogOdds) -> i64:
    """Return the domain or language with the largest log-odds (of equal ones, the first; 0 if there is only one).

    log_odds: of a word, int8[n], or their sums over the words of a sentence, int64[n], which make this naive Bayes with
    equal priors: argmax_d Σ_w ln(p(w | d) / p(w)).
    """
    best, most = 0, _LEAST
    for k in range(log_odds.size):  # without a branch, as it cannot be predicted
        value = i64(log_odds[k])
        best, most = k if value > most else best, max(value, most)
    return best
