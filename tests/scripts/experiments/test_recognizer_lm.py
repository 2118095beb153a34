"""scripts/experiments/recognizer_lm.py: the forward pass against all casings, and the table of a tiny corpus."""

import itertools
import math
import random

import numpy as np
import pytest
import recognizer_lm
from hypothesis import given
from hypothesis import strategies as st
from support.models import backoff_models, in_one_folder

import capfst
from capfst.lm.query import LanguageModel


def brute(lm, start, sentences, unknown):
    """Return −ln of the sum over all label sequences, sentence by sentence, one arc at a time."""
    total = 0.0
    for sentence in sentences:
        probability = 0.0
        for labels in itertools.product(*[range(f, f + n) if n else [unknown] for f, n in sentence]):
            cost, state = 0.0, start
            for label in labels:
                arc, state = lm.arc(state, label)
                cost += arc
            probability += math.exp(-(cost + lm.final(state)))
        total += -math.log(probability) if probability else math.inf
    return total


@pytest.mark.slow
@in_one_folder
@given(backoff_models(max_order=4), st.randoms(use_true_random=False))
def test_forward_sums_over_all_casings(tmp_path, model, rng: random.Random):
    fst = model.save(tmp_path / "m.fst")
    lm = LanguageModel(fst)
    ranges = [*zip(fst.starts[:-1].tolist(), np.diff(fst.starts).tolist(), strict=True), (0, 0)]
    sentences = [[rng.choice(ranges) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 3))]
    words = [word for sentence in sentences for word in [*sentence, (0, 0)]]
    ends = np.array([end for sentence in sentences for end in [*[False] * len(sentence), True]], np.bool_)
    first, forms = (np.array([word[k] for word in words], np.uint32) for k in (0, 1))
    found = recognizer_lm.forward(fst.states, fst.arcs, fst.start, first, forms, ends, lm.unknown)
    assert found == pytest.approx(brute(lm, fst.start, sentences, lm.unknown), rel=1e-6)


def test_table(tmp_path):
    in_domain, mismatched = tmp_path / "in", tmp_path / "mis"
    in_domain.write_text("I met Bob in Paris.\nI like Paris, Bob.\n" * 20, "utf-8")
    mismatched.write_text("The city of Paris is in France.\nThen Bob and I met in May.\n" * 3, "utf-8")
    rows = recognizer_lm.run([in_domain], [mismatched], tmp_path, order=3, max_ngrams=None)
    assert [row[0] for row in rows] == [
        "mismatched text",
        *(f"in-domain, {k}" for k in ("lowercase", "recased", "true case")),
    ]
    table = [dict(zip(recognizer_lm.HEAD, row, strict=True)) for row in rows]
    lowercase, recased, truth = table[1:]
    # The mismatched LM has all names, so recasing restores the true case.
    assert (tmp_path / "recased.txt").read_text("utf-8") == (tmp_path / "true case.txt").read_text("utf-8")
    assert {**recased, "LM trained on": ""} == {**truth, "LM trained on": ""}
    assert (truth["accuracy"], truth["F1"], truth["% unknown forms"]) == ("100.00", "100.00", "0.00")
    assert (lowercase["true case"], lowercase["recased"]) == ("–", "–")
    assert float(table[0]["% unknown words"]) > 0
    # In a lowercase LM each word has exactly one form: the sums have one term.
    recaser = capfst.load(tmp_path / "lowercase.fst")
    text = (tmp_path / "lowercase.txt").read_bytes()
    words, cased = recognizer_lm.words_perplexity(recaser, text), recognizer_lm.text_perplexity(recaser, text)
    assert words == pytest.approx(cased)


def test_held_out_lines_are_not_trained_on(tmp_path):
    for name, size in (("a", 30), ("b", 4)):
        (tmp_path / name).write_text("".join(f"{name} {k}\n" for k in range(size)), "utf-8")
    training, held_out = recognizer_lm.split([tmp_path / "a", tmp_path / "b"])
    assert held_out.decode().split("\n") == ["a 27", "a 28", "a 29", "b 3", ""]
    assert training.count(b"\n") == 30
    assert not set(training.splitlines()) & set(held_out.splitlines())
