"""A network that corrects ln p of the words of which stage 2 is not certain, by all words around them.

In: the tokens of a line, stage 1's decisions on them, and ln p of the shapes of a word. Out: corrected scores. It is a
window network (Collobert et al. 2011, section 3.3.1):

    h = max(0, b + Σ_j (W_j x_j + A_j + B_j))        z_k = ln p_k + u_k · h + c_k

x_j is the embedding of the word at distance j, from −REACH to REACH, or the mean of the embeddings up to SPAN away.
A_j depends on the shape evidence of the word at distance j, B_j on the decision on it, and b on the domain of the line.
Words that are used alike have similar embeddings, so the network can judge words that it has not seen together.

Frequent words have embeddings of their own, the others those of their last two characters. `add_network` scores
TILE_ROWS words at once. Products of inputs (8 bits) and weights (16 bits) are summed exactly, and all other sums have a
fixed order, so that all processors find the same scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import N_SHAPES
from capfst.context.features import PADDING, STAGE2_LEAD, TokenArray
from capfst.context.lexicon import BEGIN, END, evidence_in_25
from capfst.kernels import add_wide, inner, multiply_shorts, part, prefetch, widen
from capfst.kernels.memory import SHORT_COLUMNS, TILE_ROWS
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, I16Array, I16Matrix, I32Array, I64Array, U8Array

from capfst.kernels.types import U16Array, U32Array, f32, i16, i32, i64, u32, u64  # isort: skip

REACH = PADDING
"""The largest distance, in tokens, at which the places of words are distinguished."""
SPAN = 20
N_INPUTS = 16
"""Numbers in an embedding."""
N_HIDDEN = 32
PLACES = 2 * REACH + 1
"""The places of x_j are 0 … PLACES − 1, from left to right, and PLACES, of the mean."""
N_EVIDENCE, N_DECISIONS = 25, 16
N_ENDINGS = 4096
"""Rows of embeddings: 0, of the padding; 1 … N_ENDINGS, of endings; then of words."""

MEAN_UNIT = 16
"""The mean is rounded to multiples of 1 / MEAN_UNIT of what an embedding's numbers are rounded to."""

_MOST = 1e6  # the largest absolute weight: no sum overflows
_LARGEST = 32767
_N_ALL = (PLACES + 1) * N_INPUTS
_MEAN = PLACES * N_INPUTS  # where the inputs of the mean begin
_AT_ONCE = 4  # numbers of the hidden layer
_AHEAD = 2 * TILE_ROWS  # words


class Layers(NamedTuple):
    """The weights of a network, without embeddings."""

    inputs: F32Matrix  # [(PLACES + 1) N_INPUTS, N_HIDDEN]: W_j, place by place
    evidence: F32Matrix  # [PLACES N_EVIDENCE, N_HIDDEN]: A_j
    decisions: F32Matrix  # [PLACES N_DECISIONS, N_HIDDEN]: B_j
    domains: F32Matrix  # [domains, N_HIDDEN]: b
    output: F32Matrix  # [N_SHAPES, N_HIDDEN + 1]: u_k and c_k


def layer_shapes(n_domains: int) -> dict[str, tuple[int, int]]:
    """Return the shapes of the arrays of Layers."""
    rows = (PLACES + 1) * N_INPUTS, PLACES * N_EVIDENCE, PLACES * N_DECISIONS, n_domains
    return dict(zip(Layers._fields, [*((n, N_HIDDEN) for n in rows), (N_SHAPES, N_HIDDEN + 1)], strict=True))


class Network(NamedTuple):
    """The network of a context model: views of its part of the file, and the weights of the inputs in 16 bits."""

    embeddings: I8Matrix  # [2^b, N_INPUTS]; [0, N_INPUTS] if there is no network
    layers: Layers
    packed: I16Array  # W_j for `multiply_shorts`; those of the mean are divided by MEAN_UNIT
    units: F32Array  # [N_HIDDEN]: the value of 1 in sums of products with `packed`
    output: F32Matrix  # [N_HIDDEN, N_SHAPES]: u_k

    @classmethod
    def of(cls, embeddings: I8Matrix, layers: Layers) -> Network:
        """Return the network with these weights.

        Raises:
            ValueError: the number of embeddings is neither 0 nor a power of 2, or a sum of weights may overflow.
        """
        if len(embeddings).bit_count() > 1 or not all((abs(layer) < _MOST).all() for layer in layers):
            raise ValueError("invalid weights of the network")
        weights = layers.inputs.copy()
        weights[PLACES * N_INPUTS :] /= MEAN_UNIT
        units = abs(weights).max(0) / np.float32(_LARGEST)
        units[units == 0] = 1
        whole = np.rint(weights / units).astype(np.int16)
        tiles = whole.reshape(-1, 2, N_HIDDEN // SHORT_COLUMNS, SHORT_COLUMNS).transpose(2, 0, 3, 1)
        output = np.ascontiguousarray(layers.output[:, :N_HIDDEN].T)
        return cls(embeddings, layers, np.ascontiguousarray(tiles).ravel(), units, output)


_EMPTY, _NONE = np.empty((0, N_HIDDEN), np.float32), np.empty((0, N_SHAPES), np.float32)
NO_NETWORK = Network(
    np.empty((0, N_INPUTS), np.int8), Layers(*5 * [_EMPTY]), np.empty(0, np.int16), np.empty(0, np.float32), _NONE
)


@inner
def ending_embedding(suffix2_hash: u32) -> i64:
    """Return the row of the embedding of an ending, given the hash of the last two characters."""
    return 1 + i64(u64(suffix2_hash) * u64(N_ENDINGS) >> u64(32))


def ending_embeddings(suffix2_hashes: U32Array) -> U16Array:
    """Return what `ending_embedding` does for each word, uint16[words]."""
    return (1 + (suffix2_hashes.astype(np.uint64) * np.uint64(N_ENDINGS) >> np.uint64(32))).astype(np.uint16)


@inner
def gets_network(tokens: TokenArray, t: i64, lead: float) -> bool:
    """Return whether the network corrects the scores of tokens[t], given the lead of the likeliest shape. It does not
    correct first words, whose capitals in training text come from their position."""
    return (lead < STAGE2_LEAD) & (tokens[t].position > 0)


@inner
def begin_hidden(tokens: TokenArray, decisions: U8Array, t: i64, domain: i64, layers: Layers, hidden: F32Array) -> None:
    """Fill hidden, float32[N_HIDDEN], with b + Σ_j (A_j + B_j) for tokens[t] in a line of this domain."""
    for k in range(hidden.size):  # its size is not known to the compiler, which would write out the loop
        hidden[k] = layers.domains[domain, k]
    for place in range(PLACES):
        other = t + place - REACH
        evidence = place * N_EVIDENCE + min(evidence_in_25(tokens[other].shape_evidence), N_EVIDENCE - 1)
        decided = place * N_DECISIONS + i64(decisions[other])
        for k in range(hidden.size):
            hidden[k] += layers.evidence[evidence, k] + layers.decisions[decided, k]


class Queue(NamedTuple):
    """Words that the network is to score, in the order of the text, and working memory."""

    words: I64Array
    domains: I64Array  # of the lines of these words
    inputs: I16Matrix  # [TILE_ROWS, _N_ALL]: of the words of a tile
    sums: I32Array  # [N_HIDDEN / SHORT_COLUMNS · TILE_ROWS · SHORT_COLUMNS]: of products
    hidden: F32Array  # [N_HIDDEN]
    near: I64Array  # [3]: the first of the tokens whose embeddings are in `total`, the one after the last, and the one
    # that these are around
    total: I16Array  # [N_INPUTS]

    @classmethod
    def of(cls, most: int) -> Queue:
        """Return an empty queue for at most so many words."""
        words, domains = np.empty((2, most), np.int64)
        inputs, sums = np.zeros((TILE_ROWS, _N_ALL), np.int16), np.empty(N_HIDDEN * TILE_ROWS, np.int32)
        hidden, near, total = np.empty(N_HIDDEN, np.float32), np.zeros(3, np.int64), np.empty(N_INPUTS, np.int16)
        return cls(words, domains, inputs, sums, hidden, near, total)


@inner
def _row(tokens: TokenArray, t: i64, network: Network) -> i64:
    return N_INPUTS * (i64(tokens[t].embedding) & (len(network.embeddings) - 1))


@inner
def _move(tokens: TokenArray, t: i64, network: Network, queue: Queue) -> i64:
    """Move `near` and `total` on to the tokens of the same sentence up to SPAN from tokens[t], itself included; return
    their number."""
    begin, end = queue.near[0], queue.near[1]
    if t >= end or t < queue.near[2]:  # within a line, words that the LM lacks are queued first
        begin = t
        while t - begin < SPAN and tokens[begin - 1].shape_evidence != BEGIN:
            begin -= 1
        end = begin
        for d in range(N_INPUTS):
            queue.total[d] = 0
    while t - begin > SPAN:
        add_wide(network.embeddings, _row(tokens, begin, network), -1, queue.total)
        begin += 1
    while end - t <= SPAN and tokens[end].shape_evidence != END:
        add_wide(network.embeddings, _row(tokens, end, network), 1, queue.total)
        end += 1
    queue.near[0], queue.near[1], queue.near[2] = begin, end, t
    return end - begin


@inner
def _read_inputs(tokens: TokenArray, t: i64, network: Network, queue: Queue, row: i64) -> None:
    """Fill a row of the inputs with x_j for tokens[t]."""
    for place in range(PLACES):
        begin = _row(tokens, t + place - REACH, network)
        widen(network.embeddings, begin, queue.inputs, row * _N_ALL + place * N_INPUTS)
    n_others, own = max(1, _move(tokens, t, network, queue) - 1), REACH * N_INPUTS
    for d in range(N_INPUTS):
        others = MEAN_UNIT * (i32(queue.total[d]) - i32(queue.inputs[row, own + d]))
        queue.inputs[row, _MEAN + d] = i16(np.rint(f32(others) / f32(n_others)))


@inner
def _add_scores(
    tokens: TokenArray, decisions: U8Array, t: i64, domain: i64, network: Network, queue: Queue, row: i64, z: F32Array
) -> None:
    """Add u_k · h + c_k to the scores z, [N_SHAPES], of tokens[t], whose products are in a row of the sums."""
    layers, hidden, output = network.layers, queue.hidden, network.output
    begin_hidden(tokens, decisions, t, domain, layers, hidden)
    first = row * SHORT_COLUMNS
    for column in range(0, N_HIDDEN, SHORT_COLUMNS):
        for k in range(SHORT_COLUMNS):
            products = f32(queue.sums[column * TILE_ROWS + first + k]) * network.units[column + k]
            hidden[column + k] = max(hidden[column + k] + products, f32(0))
    for k in range(N_SHAPES):
        z[k] += layers.output[k, N_HIDDEN]
    for i in range(0, N_HIDDEN, _AT_ONCE):
        h0, h1, h2, h3 = hidden[i], hidden[i + 1], hidden[i + 2], hidden[i + 3]
        for k in range(N_SHAPES):
            z[k] += (h0 * output[i, k] + h1 * output[i + 1, k]) + (h2 * output[i + 2, k] + h3 * output[i + 3, k])


@inner
def add_network(
    tokens: TokenArray, token_of: I64Array, decisions: U8Array, n: i64, network: Network, queue: Queue, log_p: F32Matrix
) -> None:
    """Add the network's scores of the first n words of the queue to log_p."""
    tile_size = TILE_ROWS * SHORT_COLUMNS
    queue.near[:] = 0
    fetched = 0
    for begin in range(0, n, TILE_ROWS):
        n_rows = min(TILE_ROWS, n - begin)
        soon = token_of[queue.words[min(n - 1, begin + _AHEAD)]]
        for t in range(max(fetched, soon - SPAN), min(tokens.size, soon + SPAN + 1)):
            prefetch(network.embeddings, _row(tokens, t, network))
        fetched = max(fetched, soon + SPAN + 1)
        for row in range(n_rows):
            _read_inputs(tokens, token_of[queue.words[begin + row]], network, queue, row)
        for tile in range(N_HIDDEN // SHORT_COLUMNS):
            sums = part(queue.sums, tile * tile_size, tile_size)
            multiply_shorts(queue.inputs, 0, _N_ALL, network.packed, tile * SHORT_COLUMNS * _N_ALL, _N_ALL // 2, sums)
        for row in range(n_rows):
            i = queue.words[begin + row]
            _add_scores(tokens, decisions, token_of[i], queue.domains[begin + row], network, queue, row, log_p[i])
