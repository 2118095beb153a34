"""The experiment's forward pass against all casings, one by one, and its table on a tiny corpus."""

import itertools
import math
import random
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import backoff_models, in_one_folder

import capfst
from capfst.lm.query import LanguageModel

SCRIPT = Path(__file__).parents[2] / "scripts" / "recase_experiment.py"


@pytest.fixture(scope="module")
def experiment():
    return runpy.run_path(str(SCRIPT))


def brute(lm, start, sentences, unknown):
    """-ln of the sum over all label sequences, sentence by sentence, one arc at a time."""
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
def test_forward_sums_over_all_casings(experiment, tmp_path, model, rng: random.Random):
    fst = model.save(tmp_path / "m.fst")
    lm = LanguageModel(fst)
    ranges = [*zip(fst.starts[:-1].tolist(), np.diff(fst.starts).tolist(), strict=True), (0, 0)]
    sentences = [[rng.choice(ranges) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 3))]
    words = [word for sentence in sentences for word in [*sentence, (0, 0)]]
    ends = np.array([end for sentence in sentences for end in [*[False] * len(sentence), True]], np.bool_)
    first, forms = (np.array([word[k] for word in words], np.uint32) for k in (0, 1))
    found = experiment["forward"](fst.states, fst.arcs, fst.start, first, forms, ends, lm.unknown)
    assert found == pytest.approx(brute(lm, fst.start, sentences, lm.unknown), rel=1e-6)


def test_table(experiment, tmp_path):
    in_domain, mismatched = tmp_path / "in", tmp_path / "mis"
    in_domain.write_text("So I met Bob in Paris.\nI like Paris, Bob.\n" * 20, "utf-8")
    mismatched.write_text("The city of Paris is in France.\nThen Bob and I met in May.\n" * 3, "utf-8")
    rows = experiment["run"]([in_domain], [mismatched], tmp_path, order=3, max_ngrams=None)
    assert [row[0] for row in rows] == [
        "mismatched text",
        *(f"in-domain, {k}" for k in ("lowercase", "recased", "true case")),
    ]
    table = [dict(zip(experiment["HEAD"], row, strict=True)) for row in rows]
    lowercase, recased, truth = table[1:]
    # The mismatched LM knows all names, so that recasing gives the true case back.
    assert (tmp_path / "recased.txt").read_text("utf-8") == (tmp_path / "true case.txt").read_text("utf-8")
    assert {**recased, "LM trained on": ""} == {**truth, "LM trained on": ""}
    assert (truth["accuracy"], truth["F1"], truth["% unknown forms"]) == ("100.00", "100.00", "0.00")
    assert (lowercase["true case"], lowercase["recased"]) == ("–", "–")
    assert float(table[0]["% unknown words"]) > 0
    # All forms of a lowercase LM are known, and there is one of each: nothing is summed.
    recaser = capfst.load(tmp_path / "lowercase.fst")
    text = (tmp_path / "lowercase.txt").read_bytes()
    assert experiment["words_perplexity"](recaser, text) == pytest.approx(experiment["text_perplexity"](recaser, text))


def test_held_out_lines_are_not_trained_on(experiment, tmp_path):
    for name, size in (("a", 30), ("b", 4)):
        (tmp_path / name).write_text("".join(f"{name} {k}\n" for k in range(size)), "utf-8")
    training, held_out = experiment["split"]([tmp_path / "a", tmp_path / "b"])
    assert held_out.decode().split("\n") == ["a 27", "a 28", "a 29", "b 3", ""]
    assert training.count(b"\n") == 30
    assert not set(training.splitlines()) & set(held_out.splitlines())
