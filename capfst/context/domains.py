"""Kinds of text: what is a capital in one (`the Government`, in speeches of diplomats) is none in another.

In: the labels of sources. Out: the sources grouped into a few kinds by the words they use; and for each word how much
it speaks for each kind, by which a line of any text is told to be of one (naive Bayes). Each kind has weights of its
own, learned from all kinds first and then from it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST = 6
ALIKE = 0.03
"""Jensen–Shannon divergence in nats; of two halves of one text it is about 0.001, of two kinds about 0.1."""
SCALE = 32
"""Of the evidence for a kind, ln p(word | kind) − ln p(word), as a whole number up to 127."""

_FREQUENT = 5000  # words that tell kinds apart
_COMPARED = 32  # sources that are compared with each other; smaller ones join what they are most like
_SEEN = 50  # times, for a word to speak for a kind
_SMOOTHING = 5000.0  # words, as many as in all kinds together

Counts = npt.NDArray[np.int64]


def _divergence(one: npt.NDArray[np.float64], others: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Jensen–Shannon, of one row of counts and each other one."""
    p, q = one / max(1, one.sum()), others / np.maximum(1, others.sum(1, keepdims=True))
    mean = np.maximum((p + q) / 2, 1e-300)

    def kl(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return (a * np.log(np.maximum(a, 1e-300) / mean)).sum(1)

    return (kl(np.broadcast_to(p, q.shape)) + kl(q)) / 2


def grouped(counts: Counts) -> npt.NDArray[np.int64]:
    """The kind of each source, the largest kind 0, given how often each source has each word, [sources, words]."""
    sizes = counts.sum(1)
    order = np.argsort(-sizes, kind="stable")
    members = [[int(source)] for source in order[:_COMPARED]]
    sums = counts[order[:_COMPARED]].astype(np.float64)
    while len(members) > 1:
        apart = np.array([_divergence(row, sums) for row in sums])
        np.fill_diagonal(apart, np.inf)
        one, other = sorted(map(int, np.unravel_index(np.argmin(apart), apart.shape)))
        if len(members) <= MOST and apart[one, other] >= ALIKE:
            break
        members[one] += members.pop(other)
        sums[one] += sums[other]
        sums = np.delete(sums, other, axis=0)
    for source in order[_COMPARED:]:
        members[int(np.argmin(_divergence(counts[source].astype(np.float64), sums)))].append(int(source))
    members.sort(key=lambda group: -int(sizes[group].sum()))
    kinds = np.empty(len(counts), np.int64)
    for kind, group in enumerate(members):
        kinds[group] = kind
    return kinds


def evidence(counts: Counts) -> npt.NDArray[np.int8]:
    """int8[words, kinds]: how much each word speaks for each kind, given how often each kind has it, [kinds, words]."""
    seen = counts.sum(0) >= _SEEN
    counts = np.where(seen, counts, 0)
    usual = np.maximum(counts.sum(0), 1) / max(1, counts.sum())
    shares = (counts + _SMOOTHING * usual) / (counts.sum(1, keepdims=True) + _SMOOTHING)
    odds = np.where(seen, np.log(shares / usual), 0)
    return np.clip(np.rint(SCALE * odds), -127, 127).astype(np.int8).T.copy()


def counted(
    sources: list[npt.NDArray[np.uint32]], word_of: npt.NDArray[np.int64], totals: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """The kind of each source, and what each word speaks for, of labelled sources. totals: of each word."""
    frequent = np.argsort(-totals, kind="stable")[:_FREQUENT]

    def count(labels: npt.NDArray[np.uint32]) -> Counts:
        return np.bincount(word_of[labels[labels > 0]], minlength=len(totals))

    kinds = grouped(np.array([count(labels)[frequent] for labels in sources]))
    counts = np.zeros((int(kinds.max()) + 1, len(totals)), np.int64)
    for kind, labels in zip(kinds, sources, strict=True):
        counts[kind] += count(labels)
    return kinds, evidence(counts)
