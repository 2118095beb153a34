"""A network that corrects ln p of the words of which stage 2 is not certain, by all words around them.

In: the tokens of a line, stage 1's decisions on them, and ln p of the shapes of a word. Out: corrected scores. It is a
window network (Collobert et al. 2011, section 3.3.1):

    h = max(0, b + Σ_j (W_j x_j + A_j + B_j))        z_k = ln p_k + u_k · h + c_k

x_j is the embedding of the word at distance j, from −REACH to REACH, or the mean of those of the words up to SPAN away.
A_j depends on the shape evidence of the word at distance j, B_j on the decision on it, and b on the domain of the line.
Words that are used alike have similar embeddings, so the network can judge words that it has not seen together.

Frequent words have embeddings of their own, the others those of their last two characters.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.context.features import PADDING, STAGE2_LEAD, Scores, TokenArray
from capfst.context.lexicon import BEGIN, END, evidence_in_25
from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, U8Array, U16Array, U32Strided, f32, i64, u32, u64

REACH = PADDING
"""The largest distance, in tokens, of words whose places are told apart."""
SPAN = 20
N_INPUTS = 16
"""Numbers in an embedding."""
N_HIDDEN = 32
PLACES = 2 * REACH + 1
"""The places of x_j are 0 … PLACES − 1, from left to right, and PLACES, of the mean."""
N_EVIDENCE, N_DECISIONS = 25, 16
N_ENDINGS = 4096
"""Rows of embeddings: 0, of the padding; 1 … N_ENDINGS, of endings; then of words."""

_MOST = 1e6  # the largest absolute weight: no sum overflows
_AT_ONCE = 4  # inputs

Embeddings = TypeVar("Embeddings", I8Matrix, F32Matrix)


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
    """The network of a context model: views of its part of the file."""

    embeddings: I8Matrix  # [2^b, N_INPUTS]; [0, N_INPUTS] if there is no network
    layers: Layers

    def is_valid(self) -> bool:
        """Return whether the number of embeddings is a power of 2, and no sum of weights overflows."""
        return len(self.embeddings).bit_count() == 1 and all((abs(layer) < _MOST).all() for layer in self.layers)


NO_NETWORK = Network(
    np.empty((0, N_INPUTS), np.int8), Layers(*(np.empty((0, N_HIDDEN), np.float32) for _ in Layers._fields))
)


@inner
def ending_embedding(suffix2_hash: u32) -> i64:
    """Return the row of the embedding of an ending, given the hash of the last two characters."""
    return 1 + i64(u64(suffix2_hash) * u64(N_ENDINGS) >> u64(32))


@kernel
def _fill_endings(suffix2_hashes: U32Strided, rows: U16Array) -> None:
    for word in range(rows.size):
        rows[word] = ending_embedding(suffix2_hashes[word])


def ending_embeddings(suffix2_hashes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16]:
    """Return what `ending_embedding` does for each word, uint16[words]."""
    rows = np.empty(len(suffix2_hashes), np.uint16)
    _fill_endings(suffix2_hashes, rows)
    return rows


@inner
def gets_network(tokens: TokenArray, t: i64, lead: float) -> bool:
    """Return whether the network corrects the scores of tokens[t], given the lead of the likeliest shape. It says
    nothing of first words, whose capitals training text owes to their position."""
    return (lead < STAGE2_LEAD) & (tokens[t].position > 0)


@inner
def span(tokens: TokenArray, t: i64) -> tuple[i64, i64]:
    """Return the range of the tokens of the same sentence up to SPAN from tokens[t]."""
    begin, end = t, t + 1
    while t - begin < SPAN and tokens[begin - 1].shape_evidence != BEGIN:
        begin -= 1
    while end - t <= SPAN and tokens[end].shape_evidence != END:
        end += 1
    return begin, end


@inner
def read_inputs(tokens: TokenArray, t: i64, embeddings: Embeddings, inputs: F32Array) -> None:
    """Fill inputs, float32[(PLACES + 1) N_INPUTS], with x_j for tokens[t]."""
    mask = len(embeddings) - 1
    for place in range(PLACES):
        row = i64(tokens[t + place - REACH].embedding) & mask
        for d in range(N_INPUTS):
            inputs[place * N_INPUTS + d] = embeddings[row, d]
    mean = PLACES * N_INPUTS
    for d in range(N_INPUTS):
        inputs[mean + d] = 0
    begin, end = span(tokens, t)
    for other in range(begin, end):
        if other != t:
            row = i64(tokens[other].embedding) & mask
            for d in range(N_INPUTS):
                inputs[mean + d] += embeddings[row, d]
    n = max(1, end - begin - 1)
    for d in range(N_INPUTS):
        inputs[mean + d] /= f32(n)


@inner
def fill_hidden(
    tokens: TokenArray, decisions: U8Array, t: i64, domain: i64, inputs: F32Array, layers: Layers, hidden: F32Array
) -> None:
    """Fill hidden, float32[N_HIDDEN], with h for tokens[t] in a line of this domain, given its inputs."""
    for k in range(N_HIDDEN):
        hidden[k] = layers.domains[domain, k]
    for place in range(PLACES):
        other = t + place - REACH
        evidence = place * N_EVIDENCE + min(evidence_in_25(tokens[other].shape_evidence), N_EVIDENCE - 1)
        decided = place * N_DECISIONS + i64(decisions[other])
        for k in range(N_HIDDEN):
            hidden[k] += layers.evidence[evidence, k] + layers.decisions[decided, k]
    for i in range(0, inputs.size, _AT_ONCE):
        x0, x1, x2, x3 = inputs[i], inputs[i + 1], inputs[i + 2], inputs[i + 3]
        for k in range(N_HIDDEN):
            hidden[k] += (x0 * layers.inputs[i, k] + x1 * layers.inputs[i + 1, k]) + (
                x2 * layers.inputs[i + 2, k] + x3 * layers.inputs[i + 3, k]
            )
    for k in range(N_HIDDEN):
        hidden[k] = max(hidden[k], f32(0))


@inner
def add_output(layers: Layers, hidden: F32Array, z: Scores) -> None:
    """Add u_k · h + c_k to the scores z, [N_SHAPES]."""
    for k in range(N_SHAPES):
        z[k] += layers.output[k, N_HIDDEN]
    for i in range(N_HIDDEN):
        for k in range(N_SHAPES):
            z[k] += layers.output[k, i] * hidden[i]
