"""Both engines find the least cost over all casings, which are enumerated here, and agree on ties."""

import itertools
import math
import random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import FORMS, TIED, backoff_models, build, possible_begins, random_model, set_begin_odds
from support.scoring import path_costs

import capfst
from capfst.casing.types import ArcCosts, CasingCosts, Words
from capfst.recaser import Recaser
from capfst.search.confidence import TEMPERATURE_ALONE
from capfst.search.paths import max_marginals
from capfst.text.sentences import openings
from capfst.text.tokenizer import NEWLINE

WORDS = [*sorted({form.lower() for form in FORMS}), "oov", "<unk>", "!", "p.m.", '"']
LINES = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


def weights_of(words: Words, rng: random.Random) -> ArcCosts | None:
    """Return None, or costs for all forms, with or without ties, some of them infinite."""
    kind = rng.randrange(3)
    if kind == 0:
        return None
    some = [*TIED, -0.5, math.inf] if kind == 1 else [rng.uniform(-3, 8) for _ in range(20)]
    return np.array(rng.choices(some, k=int(words.n_forms.sum())), np.float32)


def test_a_line_of_too_many_casings_is_an_error(tmp_path, monkeypatch):
    forms = ["".join(letters) for letters in itertools.product(*zip("ABCDEF", "abcdef", strict=True))]
    words = ["<unk>", *forms]
    build(words, {(i,): 1 for i in range(1, len(words) + 1)}, {(0,): 1}, {(): 1}).save(tmp_path / "cap.fst")
    recaser = capfst.load(tmp_path / "cap.fst", context=False, oov="pass")
    text = "abcdef " * 200
    recaser(text)
    monkeypatch.setattr("capfst.search.fast.LARGEST", 0)
    with pytest.raises(capfst.ModelError, match=r"too many .* casings.*`min_count`"):
        recaser(text)


Labels = tuple[int, ...]
Begins = tuple[bool, ...]


def enumerated(
    recaser: Recaser, ranges: list[range], costs: list[list[float]], possible: list[list[tuple[bool, float]]]
) -> list[tuple[float, Labels, Begins]]:
    """Enumerate all casings with all sentence boundaries and their costs, arc by arc. Cheapest first, ties by label and
    then by the later sentence boundary where they first differ."""
    found = []
    starts = recaser.pipeline.engine.starts
    for ways in itertools.product(*possible):
        begins = tuple(begin for begin, _ in ways)
        for labels in itertools.product(*ranges):
            cost, state = sum(of_gap for _, of_gap in ways), starts.line
            for label, begin, forms, beside in zip(labels, begins, ranges, costs, strict=True):
                if begin:
                    cost, state = cost + recaser.pipeline.loaded.lm.final(state), starts.sentence
                more, state = recaser.pipeline.loaded.lm.arc(state, label)
                cost += more + beside[label - forms[0]]
            found.append((cost + recaser.pipeline.loaded.lm.final(state), labels, begins))
    return sorted(found, key=lambda path: (path[0], tuple(zip(path[2], path[1], strict=True))))


def casings(
    recaser: Recaser, words: Words, weights: ArcCosts | None, line: slice = slice(None)
) -> list[tuple[float, list[int], list[bool]]]:
    """Return the cost, the labels and the sentence boundaries of all casings of a line; OOV words have the label 0."""
    ends = np.cumsum(words.n_forms)[line].tolist()
    known = words.n_forms[line].tolist()
    beside = np.zeros(int(words.n_forms.sum())) if weights is None else weights
    costs = [beside[end - k : end].tolist() if k else [0.0] for end, k in zip(ends, known, strict=True)]
    unknown = range(recaser.pipeline.loaded.lm.unknown, recaser.pipeline.loaded.lm.unknown + 1)
    ranges = [range(a, a + k) if k else unknown for a, k in zip(words.first_labels[line].tolist(), known, strict=True)]
    return [
        (cost, [label if k else 0 for label, k in zip(labels, known, strict=True)], list(begins))
        for cost, labels, begins in enumerated(recaser, ranges, costs, possible_begins(words, line))
    ]


def words_of(recaser: Recaser, text: str) -> Words:
    """Return the words of a text, with odds that sentences begin where they may."""
    words = recaser.pipeline.loaded.transducer.words(np.frombuffer(text.encode(), np.uint8))
    set_begin_odds(words)
    return words


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(
    model=backoff_models(),
    lines=st.lists(LINES, max_size=4),
    start=st.sampled_from(["and", "<unk>", "It"]),
    sentence_case=st.booleans(),
    chunk=st.integers(1, 9),
    rng=st.randoms(use_true_random=False),
)
def test_the_best_path_is_the_least_of_all_casings(folder, model, lines, start, sentence_case, chunk, rng):
    model = model.save(folder / "m.fst")
    fast = Recaser(model, start_token=start, sentence_case=sentence_case)
    slow = Recaser(model, start_token=start, sentence_case=sentence_case, engine="openfst")
    words = words_of(fast, "\n".join(lines))
    weights = weights_of(words, rng)
    fast.pipeline.engine.chunk = chunk
    fast_path, fast_costs = fast.pipeline.engine.search(words, weights)
    slow_path, slow_costs = slow.pipeline.engine.search(words, weights)
    begin = 0
    ends = [*np.flatnonzero(words.token_types == NEWLINE), len(words.token_types)]
    assert len(fast_costs) == len(slow_costs) == len(ends)
    for k, end in enumerate(ends):
        line = slice(begin, end)
        begin = end + 1
        cost, labels, begins = casings(fast, words, weights, line)[0]
        for path in (fast_path, slow_path):
            assert path.labels[line].tolist() == labels
            assert path.begins[line].tolist() == begins
        assert [fast_costs[k], slow_costs[k]] == pytest.approx([cost, cost], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_words_without_a_choice_can_be_skipped(folder, seed):
    """The best path is the same whether or not the search skips words far from those with a choice."""
    rng = random.Random(seed)
    model = random_model(rng, order=1 + seed % 5, forms=8, ngrams=60, ties=seed % 2 == 0)
    model.arcs["weight"][np.isinf(model.arcs["weight"])] = 4
    recaser = Recaser(model.save(folder / "o.fst"))
    words = sorted({model.symbols.lowercase(label).decode() for label in range(1, len(model.symbols))})
    for _ in range(10):
        line = " ".join(rng.choice([*words, "oov", "."]) for _ in range(rng.randint(0, 60)))
        words_of_line = words_of(recaser, f"{line}\n{line}")
        weights = np.full(int(words_of_line.n_forms.sum()), math.inf, np.float32)
        begin = 0
        for i, n_forms in enumerate(words_of_line.n_forms.tolist()):
            words_of_line.may_begin[i] &= rng.random() < 0.2
            for k in rng.sample(range(n_forms), 1 if n_forms and rng.random() < 0.8 else n_forms):
                weights[begin + k] = rng.uniform(-3, 8)
            begin += n_forms
        recaser.pipeline.engine.chunk = rng.randint(1, 20)
        every, costs = recaser.pipeline.engine.search(words_of_line, weights)
        path = recaser.pipeline.engine.best(words_of_line, weights)
        assert np.isfinite(costs).all()
        is_word = words_of_line.token_types != NEWLINE
        assert path.labels[is_word].tolist() == every.labels[is_word].tolist()
        assert path.begins[is_word].tolist() == every.begins[is_word].tolist()


@settings(deadline=None, max_examples=100)
@given(model=backoff_models(), line=LINES, n=st.integers(1, 9), rng=st.randoms(use_true_random=False))
def test_nbest_is_the_head_of_all_casings(folder, model, line, n, rng):
    recaser = Recaser(model.save(folder / "n.fst"))
    words = words_of(recaser, line)
    weights = weights_of(words, rng)
    everything = casings(recaser, words, weights)
    finite = [casing for casing in everything if casing[0] < math.inf][:n] or everything[:1]
    found = recaser.pipeline.engine.nbest(words, n, weights)
    assert [cost for cost, _ in found] == pytest.approx([cost for cost, _, _ in finite], rel=1e-9, abs=1e-9)
    assert [path.labels.tolist() for _, path in found] == [labels for _, labels, _ in finite]
    assert [path.begins.tolist() for _, path in found] == [begins for _, _, begins in finite]
    slow = Recaser(recaser.model, engine="openfst").pipeline.engine.nbest(words, n, weights)
    assert [cost for cost, _ in slow] == pytest.approx([cost for cost, _, _ in finite], rel=1e-4, abs=1e-4)


@settings(deadline=None, max_examples=100)
@given(model=backoff_models(), line=LINES, rng=st.randoms(use_true_random=False))
def test_marginals_are_the_least_costs_through_each_form(folder, model, line, rng):
    recaser = Recaser(model.save(folder / "p.fst"))
    words = words_of(recaser, line)
    weights = weights_of(words, rng)
    stays_first = openings(np.frombuffer(line.encode(), np.uint8), words.tokens, False)
    first = [
        [is_first(begins, stays_first, i) for i in range(len(begins))]
        for _, _, begins in casings(recaser, words, weights)
    ]
    everything = casings(recaser, words, weights)
    expected = [
        [
            min(
                (
                    cost
                    for k, (cost, labels, _) in enumerate(everything)
                    if labels[i] == label and first[k][i] == wanted
                ),
                default=math.inf,
            )
            for i, (begin, forms) in enumerate(zip(words.first_labels.tolist(), words.n_forms.tolist(), strict=True))
            for label in range(begin, begin + max(1, forms))
        ]
        for wanted in (False, True)
    ]
    found = max_marginals(recaser.pipeline.paths(words, CasingCosts(weights), stays_first), words)
    is_form = np.arange(found.shape[2]) < np.maximum(words.n_forms, 1)[:, None]
    assert np.isinf(found[:, ~is_form]).all()
    for costs, costs_expected in zip(found, expected, strict=True):
        assert costs[is_form].tolist() == pytest.approx(costs_expected, rel=1e-9, abs=1e-9)


def is_first(begins: list[bool], stays_first: npt.NDArray[np.bool_], i: int) -> bool:
    """Return whether word i is the first of a sentence, possibly after a quote."""
    return i == 0 or begins[i] or (bool(stays_first[i - 1]) and is_first(begins, stays_first, i - 1))


@settings(deadline=None, max_examples=50)
@given(model=backoff_models(), line=LINES, n=st.integers(1, 6), sentence_case=st.booleans())
def test_nbest_gives_different_casings(folder, model, line, n, sentence_case):
    recaser = Recaser(model.save(folder / "c.fst"), sentence_case=sentence_case)
    written = recaser.nbest(line, n)
    assert written[0] == (pytest.approx(path_costs(recaser, line.encode())[0]), recaser(line))
    buf = np.frombuffer(line.encode(), np.uint8)
    everything = recaser.pipeline.engine.nbest(recaser.pipeline.words(buf), 10**6)
    different = dict.fromkeys(
        bytes(recaser.pipeline.surface(buf, recaser.pipeline.words(buf), path, CasingCosts())).decode()
        for _, path in everything
    )
    assert [casing for _, casing in written] == list(different)[:n]


@settings(deadline=None, max_examples=60)
@given(
    model=backoff_models(), line=LINES, case=st.sampled_from([str.lower, str.upper, str.title]), sentence=st.booleans()
)
def test_the_confidence_of_a_change_is_the_distance_to_the_best_other_casing(folder, model, line, case, sentence):
    recaser = Recaser(model.save(folder / "o.fst"), sentence_case=sentence)
    line = case(line)
    text, changes = recaser.confidence(line)
    assert text == recaser(line)
    # All casings as written, word by word.
    buf = np.frombuffer(line.encode(), np.uint8)
    words = recaser.pipeline.words(buf)
    spelled = []
    for cost, path in recaser.pipeline.engine.nbest(words, 10**6):
        data = bytes(recaser.pipeline.surface(buf, words, path, CasingCosts()))
        tokens = words_of(recaser, data.decode())
        spelled.append((cost, [data[s:e].decode() for s, e in zip(tokens.starts, tokens.ends, strict=True)]))
    before = [line.encode()[s:e].decode() for s, e in zip(words.starts, words.ends, strict=True)]
    changed = [i for i, word in enumerate(spelled[0][1]) if word != before[i]]
    assert [text[change.start : change.end] for change in changes] == [change.word for change in changes]
    assert [change.word for change in changes] == [spelled[0][1][i] for i in changed]
    if spelled[0][0] < math.inf:
        odds = [
            min((cost for cost, spelling in spelled if spelling[i] != spelled[0][1][i]), default=math.inf)
            - spelled[0][0]
            for i in changed
        ]
        found = [TEMPERATURE_ALONE * change.log_odds for change in changes]
        assert found == pytest.approx(odds, rel=1e-9, abs=1e-9)
