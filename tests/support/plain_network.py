"""Reference implementation of context/network.py and context/learn_network.py in numpy, in double precision."""

from itertools import islice, takewhile

import numpy as np
import numpy.typing as npt
from support.plain_context import Token, evidence_in_25, softmax

from capfst.context import learn_network
from capfst.context.learn_network import Learned
from capfst.context.lexicon import BEGIN, END
from capfst.context.network import Layers, Network

Floats = npt.NDArray[np.float64]
PLACES = range(9)  # of words: four before, the word itself, four after


def ending_embedding(suffix2_hash: int) -> int:
    return 1 + suffix2_hash * 4096 // 2**32


class Places:
    """The rows of the weights that a word reads."""

    def __init__(self, tokens: list[Token], decisions: list[int], t: int, n_rows: int) -> None:
        around = range(t - 4, t + 5)
        self.words = [tokens[i].embedding % n_rows for i in around]
        left = takewhile(lambda i: tokens[i].shape_evidence != BEGIN, range(t - 1, -1, -1))
        right = takewhile(lambda i: tokens[i].shape_evidence != END, range(t + 1, len(tokens)))
        others = sorted([*islice(left, 20), *islice(right, 20)])
        self.others = [tokens[i].embedding % n_rows for i in others]
        self.evidence = [place * 25 + evidence_in_25(tokens[i].shape_evidence) for place, i in enumerate(around)]
        self.decisions = [place * 16 + decisions[i] for place, i in enumerate(around)]


class PlainNetwork:
    """A network in double precision."""

    def __init__(self, network: Network | Learned) -> None:
        self.embeddings = network.embeddings.astype(float)
        self.layers = Layers(*(layer.astype(float) for layer in network.layers))

    def hidden(self, places: Places, domain: int) -> tuple[Floats, Floats]:
        """Return the inputs and h."""
        x = [self.embeddings[row] for row in places.words]
        x.append(self.embeddings[places.others].mean(0) if places.others else np.zeros(16))
        layers, inputs = self.layers, np.concatenate(x)
        h = layers.domains[domain] + inputs @ layers.inputs
        h += layers.evidence[places.evidence].sum(0) + layers.decisions[places.decisions].sum(0)
        return inputs, np.maximum(h, 0)

    def scores(self, tokens: list[Token], decisions: list[int], t: int, domain: int) -> list[float]:
        """Return what the network adds to the scores of a word's shapes."""
        h = self.hidden(Places(tokens, decisions, t, len(self.embeddings)), domain)[1]
        scores: list[float] = (self.layers.output @ np.append(h, 1)).tolist()
        return scores


class PlainLearner(PlainNetwork):
    """A network that is learned."""

    def __init__(self, learned: Learned) -> None:
        super().__init__(learned)
        self.embedding_sums = learned.embedding_sums.astype(float)
        self.layer_sums = Layers(*(layer.astype(float) for layer in learned.layer_sums))
        self.gradient, self.n_words = np.zeros_like(self.layers.inputs), 0

    def learn(
        self, tokens: list[Token], decided: list[int], t: int, domain: int, log_p: list[float], truth: int, rate: float
    ) -> None:
        places = Places(tokens, decided, t, len(self.embeddings))
        inputs, h = self.hidden(places, domain)
        to_scores = np.array(softmax((log_p + self.layers.output @ np.append(h, 1)).tolist()))
        to_scores[truth] -= 1
        to_hidden = (to_scores @ self.layers.output[:, :32]) * (h > 0)
        to_inputs = (self.layers.inputs @ to_hidden).reshape(-1, 16)
        for name in ("output", "domains", "evidence", "decisions"):
            weights, sums = getattr(self.layers, name), getattr(self.layer_sums, name)
            if name == "output":
                step(weights, sums, slice(None), np.outer(to_scores, np.append(h, 1)), rate)
            else:
                for row in [domain] if name == "domains" else getattr(places, name):
                    step(weights, sums, row, to_hidden, rate)
        self.gradient += np.outer(inputs, to_hidden)
        for row, gradient in zip(places.words, to_inputs[:-1], strict=True):
            step(self.embeddings, self.embedding_sums, row, gradient, rate)
        for row in places.others:
            step(self.embeddings, self.embedding_sums, row, to_inputs[-1] / len(places.others), rate)
        self.n_words += 1
        if self.n_words % learn_network.BATCH == 0:
            step(self.layers.inputs, self.layer_sums.inputs, slice(None), self.gradient, rate)
            self.gradient[:] = 0


def step(weights: Floats, sums: Floats, rows: int | slice, gradient: Floats, rate: float) -> None:
    """AdaGrad."""
    sums[rows] += gradient**2
    weights[rows] -= rate * gradient / np.sqrt(sums[rows])
