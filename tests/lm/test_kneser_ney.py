"""Estimation: lmplz's figures, a reference implementation in Python, and probabilities that sum to 1 per context."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acceptors import build, estimated, sum_to_one
from support.plain_kneser_ney import WORDS, corpora, grams_of, kneser_ney, labels_of

from capfst.evaluate.perplexity import perplexity
from capfst.lm.kneser_ney import FALLBACK, discounts

TEXT = """
The cat sat on the mat .
The dog sat on the cat .
A cat and a dog sat .
The mat sat on the dog .
a mat ! a cat ! a dog !

The cat saw the dog and the dog saw the cat .
""".removeprefix("\n")
VOCABULARY = sorted({*TEXT.split(), "<unk>"})

# lmplz -o 3 --discount_fallback: log10 of the probability, and of the backoff weight.
LMPLZ = {
    "<unk>": (-1.5019448, 0),
    "</s>": (-1.1357967, 0),
    "cat": (-0.99599725, -0.13683794),
    "sat": (-1.1357967, -0.6931404),
    ".": (-0.99599725, -1.69314),
    "saw": (-1.2272438, -0.2501384),
    "<s> </s>": (-1.2052766, 0),
    ". </s>": (-0.008236956, 0),
    "<s> The": (-0.2406644, -0.1442439),
    "the cat": (-0.74836946, -0.24778451),
    "sat on": (-0.13139881, 0),
    "! a": (-0.47224283, -0.060697827),
    "dog saw": (-1.070692, -0.060697827),
    "cat . </s>": (-0.0046364535, 0),
    "<s> The cat": (-0.47514182, 0),
    "sat on the": (-0.48992628, 0),
    "the cat .": (-0.29502425, 0),
    "the dog saw": (-0.9304339, 0),
}
# lmplz -o 3 --discount_fallback --prune 0 0 1: all remaining trigrams.
LMPLZ_CUT = {
    "cat . </s>": -0.0046364535,
    "<s> The cat": -0.46150836,
    "sat on the": -0.48992628,
    "the cat .": -0.29502425,
}
# KenLM's query -v summary, on this text, with the first model.
HELD_OUT = "The cat saw the mat .\nThe bird sat on a dog !\n\n"
QUERY = (5.142441966830664, 4.362267024785348, 1, 16)


def encode(text: str) -> np.ndarray:
    numbers = {word: i for i, word in enumerate(VOCABULARY, 1)}
    unknown = numbers["<unk>"]
    return np.array(
        [n for line in text.splitlines() for n in (*(numbers.get(w, unknown) for w in line.split()), 0)], np.uint32
    )


def test_figures_of_lmplz() -> None:
    prob, weight = grams_of(estimated(encode(TEXT), len(VOCABULARY), 3), VOCABULARY)
    assert len(prob) == 15 + 36 + 44  # lmplz counts <s> as well
    for text, (log_prob, log_weight) in LMPLZ.items():
        gram = tuple(text.split())
        assert math.log10(prob[gram]) == pytest.approx(log_prob, abs=1e-6)
        assert math.log10(weight.get(gram, 1)) == pytest.approx(log_weight, abs=1e-6)


def test_figures_of_lmplz_with_cutoffs() -> None:
    prob, _ = grams_of(estimated(encode(TEXT), len(VOCABULARY), 3, cutoffs=(0, 0, 1)), VOCABULARY)
    trigrams = {" ".join(gram): math.log10(p) for gram, p in prob.items() if len(gram) == 3}
    assert trigrams == pytest.approx(LMPLZ_CUT, abs=1e-6)


def test_perplexity_of_query() -> None:
    model = build(encode(TEXT), len(VOCABULARY), 3)
    unknown = VOCABULARY.index("<unk>") + 1
    assert perplexity(model.states, model.arcs, model.start, [encode(HELD_OUT)], unknown) == pytest.approx(QUERY)


@settings(deadline=None)
@given(corpora, st.integers(1, 5))
def test_against_the_reference_implementation(corpus: list[list[str]], order: int) -> None:
    prob, weight = grams_of(estimated(labels_of(corpus), len(WORDS), order))
    expected, gamma = kneser_ney(corpus, order)
    assert prob == pytest.approx(expected, rel=1e-5)
    assert weight == pytest.approx(
        {context: g for context, g in gamma.items() if context and context in weight}, rel=1e-5
    )
    assert all(g == pytest.approx(1) for context, g in gamma.items() if context and context not in weight)


@settings(deadline=None)
@given(corpora, st.integers(1, 5))
def test_sums_to_one(corpus: list[list[str]], order: int) -> None:
    sum_to_one(build(labels_of(corpus), len(WORDS), order), len(WORDS))


@settings(deadline=None)
@given(corpora, st.integers(2, 5), st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_sums_to_one_with_cutoffs(corpus: list[list[str]], order: int, cutoffs: list[int]) -> None:
    limits = (0, *sorted(cutoffs))[:order]
    sum_to_one(build(labels_of(corpus), len(WORDS), order, cutoffs=limits), len(WORDS))


@pytest.mark.parametrize(
    ("frequencies", "expected"),
    [
        ([0, 10, 4, 3, 2], [10 / 18, 2 - 3 * 10 / 18 * 3 / 4, 3 - 4 * 10 / 18 * 2 / 3]),
        ([0, 10, 4, 3, 0], [10 / 18, 2 - 3 * 10 / 18 * 3 / 4, 3]),
        ([0, 10, 0, 3, 2], FALLBACK),
        ([0, 0, 4, 3, 2], FALLBACK),
        ([0, 10, 4, 0, 2], FALLBACK),
        ([0, 10, 1, 9, 2], FALLBACK),  # the second would be below 0
    ],
)
def test_discounts(frequencies: list[int], expected: list[float]) -> None:
    assert discounts(np.array(frequencies)) == pytest.approx([0, *expected], rel=1e-6)
