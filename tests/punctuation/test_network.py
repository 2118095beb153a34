"""Test the network against a plain implementation: scores, and the gradients that it learns from."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_punctuation import plain_loss, plain_scores, random_network

from capfst.punctuation.learn import N_WEIGHTS, Stretch, Text, layers_of
from capfst.punctuation.network import AHEAD, N_ENDINGS, Network
from capfst.punctuation.score import _BLOCK, score, scorer_of
from capfst.punctuation.text import IGNORED

ROWS = 50


@pytest.fixture(scope="module")
def network() -> Network:
    return random_network(1, ROWS)


def random_text(seed: int, size: int) -> Text:
    random = np.random.default_rng(seed)
    return Text(
        random.integers(0, ROWS, size).astype(np.int32),
        random.integers(0, N_ENDINGS, size).astype(np.int32),
        random.integers(0, 4, size).astype(np.uint8),
    )


def scored(network: Network, lines: list[Text]) -> list[npt.NDArray[np.float32]]:
    """Return the scores of each line, all scored at once. The ending of row r is r."""
    vectors, at, ends = [np.zeros(AHEAD, np.int32)], [], [0]
    size = AHEAD
    for line in lines:
        vectors += [np.where(line.rows > 0, N_ENDINGS + line.rows, 1 + line.endings), np.zeros(AHEAD, np.int32)]
        at.append(np.arange(size, size + len(line.rows)))
        size += len(line.rows) + AHEAD
        ends.append(ends[-1] + len(line.rows))
    scorer = scorer_of(network.rounded(np.arange(ROWS, dtype=np.int32)))
    where = np.concatenate([np.zeros(0, np.int64), *at])
    scores = score(np.concatenate(vectors).astype(np.int32), where, np.array(ends), scorer)
    return np.split(scores, ends[1:-1])


def assert_alike(found: npt.NDArray[np.float32], expected: npt.NDArray[np.float64]) -> None:
    """Check scores in integers; some gaps are in doubt that would not be, or the other way round."""
    is_near = np.abs(found - expected).max(1) < 0.15 * expected.std()
    assert is_near.mean() > 0.8
    assert np.corrcoef(found[is_near].ravel(), expected[is_near].ravel())[0, 1] > 0.997


def with_endings(text: Text) -> Text:
    return text._replace(endings=np.where(text.rows > 0, text.rows, text.endings))


def test_scores_are_those_of_the_plain_network(network: Network) -> None:
    text = with_endings(random_text(2, 300))
    expected = plain_scores(network, text)
    found = scored(network, [text])[0]
    assert_alike(found, expected)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 70), min_size=1, max_size=8), st.integers(0, 99))
def test_a_line_has_the_same_scores_alone(network: Network, sizes: list[int], seed: int) -> None:
    lines = [random_text(seed + k, size) for k, size in enumerate(sizes)]
    for together, line in zip(scored(network, lines), lines, strict=True):
        assert (together == scored(network, [line])[0]).all()


def test_a_line_of_several_blocks(network: Network) -> None:
    text = with_endings(random_text(3, 2 * _BLOCK + 100))
    expected, found = plain_scores(network, text), scored(network, [text])[0]
    assert_alike(found, expected)  # also at the ends of blocks
    short = random_text(4, 10)
    assert (scored(network, [short, text, short])[1] == found).all()


def test_gradients(network: Network) -> None:
    text = random_text(5, 64)
    text.rows[30:34], text.marks[30:34] = -1, IGNORED
    flat = np.concatenate([array.ravel() for layer in network.layers for array in layer]).astype(np.float32)
    assert flat.size == N_WEIGHTS
    network = network._replace(layers=layers_of(flat))
    stretch = Stretch(64)
    rows, _, gradients = stretch.learn(text, network, 1.0)
    gradient = stretch.gradient.copy()

    def numeric(array: npt.NDArray[np.float32], index: object) -> float:
        before, step = array[index], np.float32(0.01)
        losses = []
        for sign in (1, -1):
            array[index] = before + sign * step
            losses.append(plain_loss(network, text))
        array[index] = before
        return (losses[0] - losses[1]) / (2 * step)

    random = np.random.default_rng(6)
    for layer in layers_of(np.arange(N_WEIGHTS, dtype=np.float32)):
        for places in layer:
            some = random.choice(places.ravel().astype(np.int64), 8)
            index = some[np.abs(gradient[some]).argmax()]
            assert gradient[index] == pytest.approx(numeric(flat, index), rel=0.1, abs=0.01)
    for t in (0, 29, 34, 63):
        assert gradients[rows == text.rows[t], 7].sum() == pytest.approx(
            numeric(network.words, (text.rows[t], 7)), rel=0.1, abs=0.01
        )
    again = stretch.learn(text, network, 0.5)[2]
    assert np.allclose(again, gradients / 2, atol=1e-6)
