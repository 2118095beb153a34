"""Both engines find the best words of a lattice: those of the least cost over all its paths, enumerated here, whose
words cost what they cost as a line."""

from __future__ import annotations

import math
import operator
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import FORMS, backoff_models, build

import capfst
from capfst.io.word_lattices import WordLattice, word_lattices
from capfst.options import Rescoring
from capfst.recaser import Recaser
from capfst.search.token_lattice import token_lattice

WORDS = ["<eps>", "oov", "new-york", "don't", *sorted({form.lower() for form in FORMS})]
EIGHTHS = st.integers(-8, 24).map(lambda n: n / 8)
GOLDEN = Path(__file__).parents[1] / "models" / "golden.tsv"
Arc = tuple[int, int, str, float]


@st.composite
def lattices(draw: st.DrawFn) -> tuple[list[Arc], dict[int, float]]:
    """Draw the arcs and final states of an acyclic lattice with a path; states are in no order, but the start is
    first."""
    names = draw(st.permutations(range(draw(st.integers(1, 5)))))
    n = len(names)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    ways = [(a, a + 1) for a in range(n - 1)] + (draw(st.lists(st.sampled_from(pairs), max_size=5)) if pairs else [])
    arcs = [(names[a], names[b], draw(st.sampled_from(WORDS)), draw(EIGHTHS)) for a, b in ways]
    final = {names[state]: draw(EIGHTHS) for state in draw(st.sets(st.integers(0, n - 1), max_size=2))}
    return arcs, {names[-1]: draw(EIGHTHS), **final}


def text_of(arcs: list[Arc], final: dict[int, float]) -> str:
    lines = [" ".join(map(str, row)) for row in [*arcs, *final.items()]]
    return "\n".join(lines) + "\n"


def paths(arcs: list[Arc], final: dict[int, float], state: int) -> Iterator[tuple[float, list[str]]]:
    """Yield the cost and the words of each path from a state."""
    if state in final:
        yield final[state], []
    for source, target, word, cost in arcs:
        if source == state:
            for more, words in paths(arcs, final, target):
                yield cost + more, [word, *words]


def line_cost(recaser: Recaser, words: list[str]) -> float:
    """Return −ln P of the best casing of a line by the LM alone, without sentences inside; each OOV word has an equal
    part of the probability of `<unk>`."""
    line = recaser.pipeline.loaded.transducer.words(np.frombuffer(" ".join(words).encode(), np.uint8))
    line.may_begin[:] = False
    n_oov = int(np.count_nonzero(line.n_forms == 0))
    return float(recaser.pipeline.engine.search(line)[1][0]) + n_oov * math.log(len(recaser.model.symbols))


def best(recaser: Recaser, lattice: WordLattice, rescoring: Rescoring) -> tuple[float, list[str]]:
    words = recaser.pipeline.loaded.transducer.words(np.frombuffer(lattice.spoken, np.uint8))
    tokens = token_lattice(lattice, words, recaser.pipeline.loaded.lm, rescoring)
    cost, arcs = recaser.pipeline.engine.best_arcs(tokens)
    return cost, [lattice.words[lattice.arcs["word"][arc]].decode() for arc in arcs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@settings(deadline=None, max_examples=150)
@given(
    model=backoff_models(),
    drawn=lattices(),
    weight=st.sampled_from([0.5, 1.0, 2.0]),
    bonus=st.sampled_from([0.0, 3.0]),
    sentence_case=st.booleans(),
)
def test_the_best_path_is_the_least_of_all_paths(folder, model, drawn, weight, bonus, sentence_case):
    fast = Recaser(model.save(folder / "m.fst"), sentence_case=sentence_case)
    slow = Recaser(fast.model, sentence_case=sentence_case, engine="openfst")
    arcs, final = drawn
    start = arcs[0][0] if arcs else next(iter(final))
    (lattice,) = word_lattices([b"name\n", text_of(arcs, final).encode()], "drawn")
    costs: dict[tuple[str, ...], float] = {}
    for cost, words in paths(arcs, final, start):
        spoken = tuple(word for word in words if word != "<eps>")
        cost += weight * (line_cost(fast, list(spoken)) - bonus * len(spoken))
        costs[spoken] = min(costs.get(spoken, math.inf), cost)
    least = min(costs.values())
    for recaser in fast, slow:
        cost, words = best(recaser, lattice, Rescoring(weight, bonus))
        assert cost == pytest.approx(least)
        assert least == math.inf or costs[tuple(filter(None, words))] == pytest.approx(least)


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_a_lattice_of_one_path_is_recased_as_a_line(engine):
    recaser = capfst.load(engine=engine, breaks=False)
    line = "we met angela merkel's advisers in new york, and don't say at&t [noise] so oovoov"
    lattice = "".join(f"{k} {k + 1} {word}\n" for k, word in enumerate(line.split()))
    (best,) = recaser.recase_lattices(f"{lattice}{len(line.split())}\n")
    assert best.text == recaser(line)
    words = line.replace(" [noise]", "").replace(" oovoov", "").split()
    (cost, _), *_ = recaser.nbest(" ".join(words), 1, context=False)
    for weight, bonus in ((1, 0), (0.5, 8), (2, -1)):
        (best,) = recaser.recase_lattices(f"u [ {' 1 ] [ '.join(words)} 1 ]", weight, bonus, context=False)
        assert (best.name, best.cost) == ("u", pytest.approx(weight * (cost - bonus * len(words))))


def test_a_noise_is_an_unknown_word_without_a_bonus():
    recaser = capfst.load()
    (noise,) = recaser.recase_lattices("0 1 new\n1 2 [noise]\n2", 2, 5)
    (unknown,) = recaser.recase_lattices("0 1 new\n1 2 xyzxyz\n2", 2, 5)
    assert noise.cost == pytest.approx(unknown.cost - 2 * (math.log(len(recaser.model.symbols)) - 5))
    assert noise.text == "new [noise]"


def test_a_lattice_of_many_nodes(monkeypatch):
    recaser = capfst.load()
    words = ["new", "york", "of", "paris", "the", "met", "i", "it"]
    many = "\n".join(f"{k} {k + 1} {word}" for k in range(100) for word in words)
    (best,) = recaser.recase_lattices(f"{many}\n100")
    assert len(best.text.split()) == 100
    monkeypatch.setattr("capfst.search.paths._LARGEST", 0)
    with pytest.raises(capfst.CorpusError, match="too many paths"):
        list(recaser.recase_lattices(f"{many}\n100"))


def test_words_that_the_model_forbids(tmp_path):
    model = build(["<unk>", "a"], {(1,): math.inf, (2,): 1}, {(0,): 1}, {(): 1}).save(tmp_path / "m.fst")
    recaser = Recaser(model, start_token="a")
    assert [best.text for best in recaser.recase_lattices("0 1 oov\n0 1 a 99\n1")] == ["a"]
    for engine in "fast", "openfst":
        with pytest.raises(capfst.CorpusError, match="'' has no path whose words the model allows"):
            list(recaser.recase_lattices("0 1 oov\n1", engine=engine))


@pytest.mark.parametrize(("weight", "bonus"), [(-1, 0), (math.nan, 0), (math.inf, 0), (1, math.inf), (1, math.nan)])
def test_weights_that_are_none(weight, bonus):
    with pytest.raises(capfst.OptionError, match="Use a weight of 0 or more, and finite numbers"):
        list(capfst.load().recase_lattices("0 1 a\n1", weight, bonus))


def test_a_word_is_worth_its_bonus():
    recaser = capfst.load()
    network = "u [ new 0.9 <eps> 0.1 ] [ york 0.9 <eps> 0.1 ]"
    assert [next(recaser.recase_lattices(network, 1, bonus)).text for bonus in (-5, 0, 20)] == ["", "", "New York"]


def test_the_right_words_are_found():
    """Among four words for each one of varied sentences, the right one is found twice as often as by chance."""
    recaser, rng = capfst.load(), random.Random(1)
    rows = [line.split("\t") for line in GOLDEN.read_text().splitlines() if line[:1] != "#"]
    sentences = [
        words for _, options, line, _ in rows if "lm" not in options and (words := re.findall(r"[a-z]+", line))
    ]
    vocabulary = sorted({word for words in sentences for word in words})
    networks, n_right = "", 0
    for words in sentences:
        bins = (rng.sample([word, *rng.sample(vocabulary, 3)], 4) for word in words)
        networks += " ".join(["name", *(f"[ {' 0.25 '.join(words)} 0.25 ]" for words in bins)]) + "\n"
    for words, best in zip(sentences, recaser.recase_lattices(networks, 1), strict=True):
        n_right += sum(map(operator.eq, words, best.text.lower().split()))
    assert n_right > 0.5 * sum(map(len, sentences))
