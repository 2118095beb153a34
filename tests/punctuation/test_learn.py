"""Test what a network learns: marks that far words decide, on both sides; and biases for the highest F1."""

import numpy as np
import pytest

from capfst.context.sample import smaller
from capfst.punctuation import learn
from capfst.punctuation.learn import Text
from capfst.punctuation.network import AHEAD, N_ENDINGS
from capfst.punctuation.score import score, scorer_of
from capfst.punctuation.train import RUN, best_bias, f1

N_WORDS, TEST = 30_000, 5_000


def test_a_network_learns_from_far_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commas follow word 1 if the last of the rare words 3 and 4 was a 4, question marks word 2 if the next one is."""
    monkeypatch.setattr(learn, "WARM_UP", 10)
    monkeypatch.setattr(learn, "RATE", 1e-2)
    generator = np.random.default_rng(1)
    words = generator.choice(np.arange(1, 5), N_WORDS, p=[0.48, 0.48, 0.02, 0.02]).astype(np.int32)
    here, decides = np.arange(N_WORDS), words > 2
    last = np.maximum.accumulate(np.where(decides, here, 0))
    following = np.minimum.accumulate(np.where(decides, here, N_WORDS - 1)[::-1])[::-1]
    marks = np.select([(words == 1) & (words[last] == 4), (words == 2) & (words[following] == 4)], [1, 3], 0)
    marks = marks.astype(np.uint8)
    text = Text(words, np.zeros_like(words), marks)
    learned = Text(*(array[:-TEST] for array in text))
    stages = learn.Stage.of(learned, 1, 0.5), learn.Stage.of(learned, 2, 0.1, 400)
    assert [stage.n_steps for stage in stages] == [13, 400]
    steps: list[int] = []
    network = learn.learn(stages, np.zeros(5, np.int32), 2, steps.append)
    assert len(steps) == 413
    vectors = np.pad(N_ENDINGS + words[-TEST:], AHEAD).astype(np.int32)
    scorer = scorer_of(network.rounded(np.zeros(5, np.int32)))
    scores = score(vectors, np.arange(AHEAD, AHEAD + TEST), np.array([0, TEST]), scorer)
    assert (scores.argmax(1) == marks[-TEST:]).mean() > 0.95  # by chance: half of them


def test_large_sources_are_learned_again_in_part() -> None:
    sentence = np.array([1, 2, 3, 0], np.uint32)
    sources = [np.tile(sentence, n) for n in (100 * RUN, 10, 400 * RUN)]
    chosen = smaller(sources, 60_040, RUN, tempers=True)
    assert chosen[1].size == 40  # all of it
    assert [chosen[k].size for k in (0, 2)] == pytest.approx([20_000, 40_000], rel=0.02)
    assert all((part.reshape(-1, 4) == sentence).all() for part in chosen)
    assert [part.size for part in smaller(sources, 10**6, RUN, tempers=True)] == [source.size for source in sources]
    assert smaller([sentence[:0]], 100, RUN, tempers=True)[0].size == 0


def test_biases() -> None:
    true = np.array([0, 1, 2, 3, 0, 1], np.uint8)
    assert f1(true, np.array([0, 1, 2, 0, 1, 0])) == pytest.approx(4 / 7)
    scores = np.log(np.full((6, 4), 0.1, np.float32))
    scores[:, 0] = np.log(0.5)
    scores[[1, 5], 1] = np.log(0.4)
    assert (scores + best_bias(scores, true)).argmax(1).tolist() == [0, 1, 0, 0, 0, 1]
    assert not best_bias(scores[:0], true[:0]).any()
    assert f1(true, np.array([0, 1, 2, 0, 1, 0]), np.array([1, 1, 1, 1, 9, 9])) == pytest.approx(4 / 23)


def test_sources_count_equally() -> None:
    """Commas that a bias finds are right in a small source, and wrong in a large one, which also has certain ones."""
    true = np.array([1] * 2 + [0] * 20 + [1] * 10, np.uint8)
    scores = np.log(np.tile(np.array([0.5, 0.4, 0.05, 0.05], np.float32), (32, 1)))
    scores[22:, 1] += 9
    weights = np.array([1 / 2] * 2 + [1 / 30] * 30)
    assert (scores + best_bias(scores, true)).argmax(1).tolist() == [0] * 22 + [1] * 10
    assert (scores + best_bias(scores, true, weights)).argmax(1).tolist() == [1] * 32
