"""The network of punctuation/ in numpy, in double precision, and a corpus whose marks have rules."""

import random
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from capfst.kernels.memory import LANES
from capfst.punctuation.learn import EARLY_WEIGHT, Text
from capfst.punctuation.network import DOUBT, EMBEDDING, N_CLASSES, N_ENDINGS, SIZES, Dense, Layers, Network

Floats = npt.NDArray[np.float64]
TILE = LANES


def random_network(seed: int, n_rows: int) -> Network:
    generator = np.random.default_rng(seed)

    def numbers(*shape: int) -> npt.NDArray[np.float32]:
        return generator.standard_normal(shape).astype(np.float32)

    layers = Layers(*(Dense(numbers(*size) / np.float32(np.sqrt(size[0])), numbers(size[1]) / 4) for size in SIZES))
    layers.early.weights[:] *= 9  # some gaps are in doubt
    tables = (numbers(n, EMBEDDING) / np.float32(1.7) for n in (n_rows, N_CLASSES, N_ENDINGS))
    return Network(*tables, generator.integers(0, N_CLASSES, n_rows).astype(np.int32), layers)


def plain_scores(network: Network, text: Text) -> Floats:
    """Return the scores of the marks after each word; a padding separates texts."""
    early, scores, doubtful = both_scores(network, text)
    early[doubtful] = scores
    return early


def both_scores(network: Network, text: Text) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Return the early scores, those of the gaps in doubt, and which gaps these are."""
    size, width = len(text.rows), 8 * EMBEDDING
    embedded = np.zeros((size + 7, EMBEDDING))
    for t in range(size):
        if text.rows[t] >= 0:
            row = text.rows[t]
            embedded[t + 3] = network.words[row] + network.classes[network.class_of[row]].astype(float)
            embedded[t + 3] += network.endings[text.endings[t]]
    layers = network.layers
    windows = np.stack([embedded[t : t + 8].reshape(width) for t in range(size)])
    h0 = np.maximum(_dense(windows, layers.window), 0)
    texts = np.where(text.rows < 0, -1, np.cumsum(text.rows < 0))
    h1 = _read(h0, _dense(windows[:, 2 * EMBEDDING : -2 * EMBEDDING], layers.gates1), texts)
    early = _dense(h1, layers.early)[:, :4]
    doubtful = np.flatnonzero((early[:, 1:].max(1) > early[:, 0] - DOUBT) & (text.rows >= 0))
    h2 = np.maximum(_dense(h1[doubtful], layers.result1), 0)
    states = _read(h2, _dense(h2, layers.gates2), texts[doubtful])
    h3 = np.maximum(_dense(states, layers.result2), 0)
    return early, _dense(h3, layers.output)[:, :4], doubtful


def _dense(x: Floats, layer: Dense) -> Floats:
    return x @ layer.weights.astype(float) + layer.bias


def _q(x: Floats) -> Floats:
    x = x.clip(-2, 2)
    return x * (1 - abs(x) / 4)


def _read(h: Floats, gates: Floats, texts: npt.NDArray[np.intp]) -> Floats:
    """Return h and the states of a reading. texts: the number of each row's text."""
    size, units = len(h), gates.shape[1] // 4
    inputs = gates.reshape(size, 2, units // TILE, 2, TILE)
    f = (1 + _q(inputs[:, :, :, 0].reshape(size, 2, units))) / 2
    c = _q(inputs[:, :, :, 1].reshape(size, 2, units))
    states = np.zeros((size, 2, units))
    for direction, order in enumerate((range(size), range(size - 1, -1, -1))):
        state, last = np.zeros(units), -2
        for t in order:
            state = f[t, direction] * state * (last == texts[t]) + (1 - f[t, direction]) * c[t, direction]
            states[t, direction], last = state, texts[t]
    return np.concatenate([h, states.reshape(size, -1)], 1)


def plain_loss(network: Network, text: Text) -> float:
    """Return the sum of −ln P of the marks in doubt, with a fraction of that of the early scores."""
    early, scores, doubtful = both_scores(network, text)
    return sum(
        weight * float(np.log(np.exp(row).sum()) - row[mark])
        for each, marks, weight in ((early, text.marks, EARLY_WEIGHT), (scores, text.marks[doubtful], 1.0))
        for row, mark in zip(each, marks, strict=True)
        if mark < 4
    )


def sentences(seed: int) -> Iterator[str]:
    """Yield sentences in which each mark follows from the words: questions begin with an auxiliary verb, and clauses
    with a conjunction end in a comma."""
    choose = random.Random(seed).choice
    names = ["Anna", "Ben", "Clara", "Paris", "Rome", "NASA"]
    nouns = ["the house", "a dog", "my sister", "the old car", "our city", "a small garden", "the teacher", *names]
    verbs = ["sleeps", "waits", "works in the park", "likes music", "came home late", "sees the river"]

    def clause() -> str:
        return f"{choose(nouns)} {choose(verbs)}"

    while True:
        kind = choose(["statement", "question", "condition"])
        if kind == "statement":
            text = f"{clause()}."
        elif kind == "question":
            text = f"{choose(['does', 'did', 'will'])} {clause()}?"
        else:
            text = f"{choose(['if', 'when', 'because'])} {clause()}, {clause()}."
        yield text[0].upper() + text[1:]
