"""Score words by the network (network.py), TILE_ROWS of them at once.

In: a text's tokens, the decisions on them, and a queue of words in their order. Out: the network's scores are added to
those of their shapes. Products of inputs and weights, which have 8 and 16 bits, are summed exactly, and nothing is
summed in another order, so that all processors find the same scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import N_SHAPES
from capfst.context.features import TokenArray
from capfst.context.lexicon import BEGIN, END
from capfst.context.network import MEAN_UNIT, N_HIDDEN, N_INPUTS, PLACES, REACH, SPAN, Network, begin_hidden
from capfst.kernels import add_wide, inner, multiply_shorts, part, prefetch, widen
from capfst.kernels.memory import SHORT_COLUMNS, TILE_ROWS
from capfst.kernels.types import F32Array, F32Matrix, I16Array, I16Matrix, I32Array, I64Array, U8Array

from capfst.kernels.types import f32, i16, i32, i64  # isort: skip

_N_ALL = (PLACES + 1) * N_INPUTS
_MEAN = PLACES * N_INPUTS  # where the inputs of the mean begin
_AT_ONCE = 4  # numbers of the hidden layer
_AHEAD = 2 * TILE_ROWS  # words


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
        return cls(
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.zeros((TILE_ROWS, _N_ALL), np.int16),
            np.empty(N_HIDDEN * TILE_ROWS, np.int32),
            np.empty(N_HIDDEN, np.float32),
            np.zeros(3, np.int64),
            np.empty(N_INPUTS, np.int16),
        )


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
    tokens: TokenArray, token_of: I64Array, decisions: U8Array, n: i64, first: i64, network: Network, queue: Queue,
    log_p: F32Matrix,
) -> None:  # fmt: skip
    """Add the network's scores of the first n words of the queue to log_p, whose row 0 is that of word `first`."""
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
            _add_scores(
                tokens, decisions, token_of[i], queue.domains[begin + row], network, queue, row, log_p[i - first]
            )
