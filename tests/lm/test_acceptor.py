"""Levels → states and arcs: fst/write.py's conventions; equivalence to the same model built arc by arc with pynini."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pynini")

import pynini
from support.acceptors import Model, build, check_conventions, estimated
from support.plain_kneser_ney import BEGIN, END, WORDS, corpora, kneser_ney, labels_of

from capfst.lm.acceptor import compile_levels
from capfst.lm.query import token_costs


@settings(deadline=None)
@given(corpora, st.integers(1, 5))
def test_conventions_and_both_ways_of_compiling(corpus: list[list[str]], order: int) -> None:
    labels = labels_of(corpus)
    model = build(labels, len(WORDS), order)
    check_conventions(model, len(WORDS))
    states, arcs, start = compile_levels(estimated(labels, len(WORDS), order))
    assert start == model.start
    for one, other in ((states, model.states), (arcs, model.arcs)):
        for name in one.dtype.names:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-6, atol=1e-6)


def by_hand(corpus: list[list[str]], order: int) -> pynini.Fst:
    """Build the backoff model with a state per context, words and </s> as arcs, and backoff as ε."""
    prob, gamma = kneser_ney(corpus, order)
    fst = pynini.Fst()
    number = {context: fst.add_state() for context in sorted(gamma, key=lambda context: (len(context), context))}
    end = fst.add_state()
    fst.set_final(end)
    for gram, p in prob.items():
        target = gram
        while target not in number:
            target = target[1:]
        label = [END, *WORDS].index(gram[-1]) or len(WORDS) + 1
        to = end if gram[-1] == END else number[target]
        fst.add_arc(number[gram[:-1]], pynini.Arc(label, label, -math.log(p), to))
    for context, weight in gamma.items():
        if context:
            fst.add_arc(number[context], pynini.Arc(0, 0, -math.log(weight), number[context[1:]]))
    return fst.set_start(number[(BEGIN,)] if order > 1 else number[()])


def ours(model: Model) -> pynini.Fst:
    """Convert our arrays to an OpenFst machine, with </s> as an arc to a last state."""
    fst = pynini.Fst()
    fst.add_states(len(model.states) + 1)
    end = len(model.states)
    fst.set_final(end)
    for state, here in enumerate(model.states):
        if here["final"] != np.inf:
            fst.add_arc(state, pynini.Arc(len(WORDS) + 1, len(WORDS) + 1, float(here["final"]), end))
        for arc in model.arcs[here["pos"] : here["pos"] + here["narcs"]]:
            label = int(arc["ilabel"])
            fst.add_arc(state, pynini.Arc(label, label, float(arc["weight"]), int(arc["nextstate"])))
    return fst.set_start(model.start)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_equivalent_to_the_model_built_by_hand(order: int) -> None:
    corpus = [list("abcab"), list("bca"), [], list("aab"), list("cabcab")]
    one, other = ours(build(labels_of(corpus), len(WORDS), order)), by_hand(corpus, order)
    assert one.num_states() == other.num_states()
    # With ordinary labels for the ε arcs, both machines are deterministic.
    for fst in (one, other):
        fst.relabel_pairs(ipairs=[(0, 100)], opairs=[(0, 100)])
        fst.arcsort()
    assert pynini.equivalent(one, other, delta=1e-4)


def test_failure_arcs_are_taken_only_for_missing_words() -> None:
    corpus = [list("ab"), list("ab"), list("ba")]
    prob, gamma = kneser_ney(corpus, 2)
    model = build(labels_of(corpus), len(WORDS), 2)
    costs = token_costs(model.states, model.arcs, model.start, labels_of([["a", "a"]]))
    expected = [prob[BEGIN, "a"], gamma["a",] * prob["a",], prob["a", END]]
    np.testing.assert_allclose(costs, -np.log(expected), rtol=1e-5)
