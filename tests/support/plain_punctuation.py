"""The network of punctuation/ in numpy, in double precision, and a corpus whose marks have rules."""

import random
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from capfst.punctuation.gradients import Text
from capfst.punctuation.network import EMBEDDING, N_CLASSES, N_ENDINGS, READINGS, Dense, Layers, Network, sizes

Floats = npt.NDArray[np.float64]
TILE = 16


def random_network(seed: int, n_rows: int) -> Network:
    generator = np.random.default_rng(seed)

    def numbers(*shape: int) -> npt.NDArray[np.float32]:
        return generator.standard_normal(shape).astype(np.float32)

    *layers, early = (
        Dense(numbers(*size) / np.float32(np.sqrt(size[0])), numbers(size[1]) / 4)
        for size in (*sizes(), (READINGS[0][1], TILE))
    )
    tables = (numbers(n, EMBEDDING) / np.float32(1.7) for n in (n_rows, N_CLASSES, N_ENDINGS))
    return Network(*tables, generator.integers(0, N_CLASSES, n_rows).astype(np.int32), Layers(*layers), early)


def plain_scores(network: Network, text: Text) -> Floats:
    """Return the scores of the marks after each word; a padding separates texts."""
    return both_scores(network, text)[1]


def both_scores(network: Network, text: Text) -> list[Floats]:
    """Return the scores of the early output, and those of the output."""
    size, width = len(text.rows), 8 * EMBEDDING
    embedded = np.zeros((size + 7, EMBEDDING))
    for t in range(size):
        if text.rows[t] >= 0:
            row = text.rows[t]
            embedded[t + 3] = network.words[row] + network.classes[network.class_of[row]].astype(float)
            embedded[t + 3] += network.endings[text.endings[t]]
    layers = network.layers
    windows = np.stack([embedded[t : t + 8].reshape(width) for t in range(size)])
    g = windows[:, 2 * EMBEDDING : -2 * EMBEDDING]
    h = np.maximum(windows @ layers.window.weights.astype(float) + layers.window.bias, 0)
    results: list[Floats] = []
    readings = (layers.gates1, layers.result1), (layers.gates2, layers.result2)
    for (gates, result), (units, _) in zip(readings, READINGS, strict=True):
        inputs = (g @ gates.weights.astype(float) + gates.bias).reshape(size, 2, units // TILE, 2, TILE)
        f = 1 / (1 + np.exp(-inputs[:, :, :, 0].reshape(size, 2, units)))
        c = np.tanh(inputs[:, :, :, 1].reshape(size, 2, units))
        states = np.zeros((size, 2, units))
        for direction, order in enumerate((range(size), range(size - 1, -1, -1))):
            state = np.zeros(units)
            for t in order:
                state = f[t, direction] * state + (1 - f[t, direction]) * c[t, direction]
                state *= text.rows[t] >= 0
                states[t, direction] = state
        both = np.concatenate([h, states.reshape(size, -1)], 1)
        g = h = np.maximum(both @ result.weights.astype(float) + result.bias, 0)
        results.append(h)
    outputs = zip(results, (network.early, layers.output), strict=True)
    return [(h @ output.weights.astype(float) + output.bias)[:, :4] for h, output in outputs]


def plain_loss(network: Network, text: Text) -> float:
    """Return the sum of −ln P of the marks, with a fifth of that of the early output."""
    early, scores = both_scores(network, text)
    return sum(
        weight * float(np.log(np.exp(row).sum()) - row[mark])
        for each, weight in ((early, 0.2), (scores, 1.0))
        for row, mark in zip(each, text.marks, strict=True)
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
