"""Learn the network (network.py) word by word, by AdaGrad (Duchi, Hazan & Singer 2011) on the gradients of −ln p.

In: words of which stage 2 is not certain, with its ln p of their shapes, as in new text (learn.py). Out: the weights.
The weights of the inputs, which every word has in common, change once in BATCH words, all others after each word. The
learning rate falls along the text, so that the last words decide no more than the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import N_SHAPES
from capfst.context import network as net
from capfst.context.features import TokenArray, softmax
from capfst.context.lexicon import BEGIN, END, evidence_in_25
from capfst.kernels import inner
from capfst.kernels.types import F32Array, F32Matrix, F64Array, I64Array, U8Array, f32, i64, u8

RATE = 0.1
"""The learning rate η at the beginning."""
LEAST_RATE = 0.05
"""The learning rate at the end, as a fraction of RATE."""
BATCH = 16

_AT_ONCE = 4  # inputs
_INITIAL_SUM = 1.0  # AdaGrad's sums begin with this
_EMBEDDING, _OUTPUT = 0.1, 0.05  # standard deviations of the initial weights
_SEED = 1


class Learned(NamedTuple):
    """A network that is learned, AdaGrad's sums of squared gradients, and buffers."""

    embeddings: F32Matrix  # as in Network; [0, N_INPUTS]: no network is learned
    layers: net.Layers
    embedding_sums: F32Matrix
    layer_sums: net.Layers
    transposed: F32Matrix  # [(PLACES + 1) N_HIDDEN, N_INPUTS]: the weights of the inputs of each place, transposed
    gradient: F32Matrix  # of the weights of the inputs, over the words of a batch
    counter: I64Array  # [1]: words in the batch
    inputs: F32Array  # buffers for one word: the inputs, h, and their gradients
    hidden: F32Array
    hidden_gradient: F32Array
    input_gradient: F32Array

    @classmethod
    def of(cls, n_rows: int, n_domains: int) -> Learned:
        """Return a network of random weights with n_rows embeddings."""
        random = np.random.default_rng(_SEED)
        shapes = net.layer_shapes(n_domains)
        embeddings = (random.standard_normal((n_rows, net.N_INPUTS)) * _EMBEDDING).astype(np.float32)
        layers = net.Layers(**{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
        n_inputs = len(layers.inputs)
        layers.inputs[:] = random.standard_normal(layers.inputs.shape) / np.sqrt(n_inputs)
        layers.output[:, : net.N_HIDDEN] = random.standard_normal((N_SHAPES, net.N_HIDDEN)) * _OUTPUT
        sums = net.Layers(**{name: np.full(shape, _INITIAL_SUM, np.float32) for name, shape in shapes.items()})
        transposed = layers.inputs.reshape(-1, net.N_INPUTS, net.N_HIDDEN).transpose(0, 2, 1).reshape(-1, net.N_INPUTS)
        weights = embeddings, layers, np.full_like(embeddings, _INITIAL_SUM), sums, np.ascontiguousarray(transposed)
        sizes = n_inputs, net.N_HIDDEN, net.N_HIDDEN, net.N_INPUTS
        buffers = (np.empty(size, np.float32) for size in sizes)
        return cls(*weights, np.zeros_like(layers.inputs), np.zeros(1, np.int64), *buffers)

    def quantized(self) -> net.Network:
        """Return the network with embeddings of 8 bits, whose scale the weights of the inputs take over."""
        scale = np.float32(abs(self.embeddings).max(initial=0) / 127 or 1)
        embeddings = np.rint(self.embeddings / scale).astype(np.int8)
        return net.Network.of(embeddings, self.layers._replace(inputs=self.layers.inputs * scale))


NOT_LEARNED = Learned.of(0, 1)


@inner
def _span(tokens: TokenArray, t: i64) -> tuple[i64, i64]:
    """Return the range of the tokens of the same sentence up to SPAN from tokens[t]."""
    begin, end = t, t + 1
    while t - begin < net.SPAN and tokens[begin - 1].shape_evidence != BEGIN:
        begin -= 1
    while end - t <= net.SPAN and tokens[end].shape_evidence != END:
        end += 1
    return begin, end


@inner
def _read_inputs(tokens: TokenArray, t: i64, embeddings: F32Matrix, inputs: F32Array) -> None:
    """Fill inputs, float32[(PLACES + 1) N_INPUTS], with x_j for tokens[t]."""
    mask = len(embeddings) - 1
    for place in range(net.PLACES):
        row = i64(tokens[t + place - net.REACH].embedding) & mask
        for d in range(net.N_INPUTS):
            inputs[place * net.N_INPUTS + d] = embeddings[row, d]
    mean = net.PLACES * net.N_INPUTS
    for d in range(net.N_INPUTS):
        inputs[mean + d] = 0
    begin, end = _span(tokens, t)
    for other in range(begin, end):
        if other != t:
            row = i64(tokens[other].embedding) & mask
            for d in range(net.N_INPUTS):
                inputs[mean + d] += embeddings[row, d]
    n = max(1, end - begin - 1)
    for d in range(net.N_INPUTS):
        inputs[mean + d] /= f32(n)


@inner
def _fill_hidden(
    tokens: TokenArray, decisions: U8Array, t: i64, domain: i64, inputs: F32Array, layers: net.Layers, hidden: F32Array
) -> None:
    """Fill hidden, float32[N_HIDDEN], with h for tokens[t] in a line of this domain, given its inputs."""
    net.begin_hidden(tokens, decisions, t, domain, layers, hidden)
    for i in range(0, inputs.size, _AT_ONCE):
        x0, x1, x2, x3 = inputs[i], inputs[i + 1], inputs[i + 2], inputs[i + 3]
        for k in range(net.N_HIDDEN):
            hidden[k] += (x0 * layers.inputs[i, k] + x1 * layers.inputs[i + 1, k]) + (
                x2 * layers.inputs[i + 2, k] + x3 * layers.inputs[i + 3, k]
            )
    for k in range(net.N_HIDDEN):
        hidden[k] = max(hidden[k], f32(0))


@inner
def _step(weights: F32Matrix, sums: F32Matrix, row: i64, k: i64, gradient: f32, rate: f32) -> None:
    """Update a weight: G ← G + g²;  w ← w − η g / √G."""
    sums[row, k] += gradient * gradient
    weights[row, k] -= rate * gradient / np.sqrt(sums[row, k])


@inner
def _step_row(weights: F32Matrix, sums: F32Matrix, row: i64, gradient: F32Array, rate: f32) -> None:
    for k in range(gradient.size):
        _step(weights, sums, row, k, gradient[k], rate)


@inner
def _apply_batch(learned: Learned, rate: f32) -> None:
    """Update the weights of the inputs by the gradient of the batch, and set that to 0."""
    weights, sums, gradient = learned.layers.inputs, learned.layer_sums.inputs, learned.gradient
    for i in range(len(weights)):
        place, d = i // net.N_INPUTS * net.N_HIDDEN, i % net.N_INPUTS
        for k in range(net.N_HIDDEN):
            _step(weights, sums, i, k, gradient[i, k], rate)
            learned.transposed[place + k, d] = weights[i, k]
            gradient[i, k] = 0


@inner
def learn_word(
    tokens: TokenArray, decisions: U8Array, t: i64, domain: i64, z: F64Array, truth: u8, rate: f32, learned: Learned
) -> None:
    """Update all weights by the gradient of −ln p_truth, given the scores of the shapes of tokens[t] without the
    network, z[N_SHAPES], which become p by it.

    ∂/∂z_k = p_k − [k = truth];  ∂/∂h = Σ_k ∂/∂z_k u_k where h > 0, else 0;  ∂/∂x_j = W_jᵀ ∂/∂h.
    """
    layers, sums, hidden, inputs = learned.layers, learned.layer_sums, learned.hidden, learned.inputs
    back, to_input = learned.hidden_gradient, learned.input_gradient
    _read_inputs(tokens, t, learned.embeddings, inputs)
    _fill_hidden(tokens, decisions, t, domain, inputs, layers, hidden)
    for k in range(N_SHAPES):
        z[k] += layers.output[k, net.N_HIDDEN]
    for i in range(net.N_HIDDEN):
        for k in range(N_SHAPES):
            z[k] += layers.output[k, i] * hidden[i]
    softmax(z)
    back[:] = 0
    for k in range(N_SHAPES):
        gradient = f32(z[k] - (k == truth))
        for i in range(net.N_HIDDEN):
            back[i] += gradient * layers.output[k, i]
        for i in range(net.N_HIDDEN):
            _step(layers.output, sums.output, k, i, gradient * hidden[i], rate)
        _step(layers.output, sums.output, k, net.N_HIDDEN, gradient, rate)
    for i in range(net.N_HIDDEN):
        back[i] = back[i] if hidden[i] > 0 else f32(0)
    _step_row(layers.domains, sums.domains, domain, back, rate)
    for i in range(inputs.size):
        x = inputs[i]
        for k in range(net.N_HIDDEN):
            learned.gradient[i, k] += x * back[k]
    mask = len(learned.embeddings) - 1
    for place in range(net.PLACES + 1):
        for d in range(net.N_INPUTS):
            to_input[d] = 0
        for k in range(net.N_HIDDEN):
            if back[k] != 0:
                for d in range(net.N_INPUTS):
                    to_input[d] += back[k] * learned.transposed[place * net.N_HIDDEN + k, d]
        if place < net.PLACES:
            other = tokens[t + place - net.REACH]
            evidence = place * net.N_EVIDENCE + evidence_in_25(other.shape_evidence)
            _step_row(layers.evidence, sums.evidence, evidence, back, rate)
            decided = place * net.N_DECISIONS + i64(decisions[t + place - net.REACH])
            _step_row(layers.decisions, sums.decisions, decided, back, rate)
            _step_row(learned.embeddings, learned.embedding_sums, i64(other.embedding) & mask, to_input, rate)
    begin, end = _span(tokens, t)
    for d in range(net.N_INPUTS):
        to_input[d] /= f32(max(1, end - begin - 1))
    for other in range(begin, end):
        if other != t:
            _step_row(learned.embeddings, learned.embedding_sums, i64(tokens[other].embedding) & mask, to_input, rate)
    learned.counter[0] += 1
    if learned.counter[0] == BATCH:
        _apply_batch(learned, rate)
        learned.counter[0] = 0
