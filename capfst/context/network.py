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

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.context.features import PADDING, STAGE2_LEAD, TokenArray
from capfst.context.lexicon import evidence_in_25
from capfst.kernels import inner
from capfst.kernels.memory import SHORT_COLUMNS
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, I16Array, U8Array, i64, u32, u64

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

MEAN_UNIT = 16
"""The mean is rounded to multiples of 1 / MEAN_UNIT of what an embedding's numbers are rounded to."""

_MOST = 1e6  # the largest absolute weight: no sum overflows
_LARGEST = 32767


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
    def of(cls, embeddings: npt.NDArray[np.int8], layers: Layers) -> Network:
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


NO_NETWORK = Network(
    np.empty((0, N_INPUTS), np.int8),
    Layers(*(np.empty((0, N_HIDDEN), np.float32) for _ in Layers._fields)),
    np.empty(0, np.int16),
    np.empty(0, np.float32),
    np.empty((0, N_SHAPES), np.float32),
)


@inner
def ending_embedding(suffix2_hash: u32) -> i64:
    """Return the row of the embedding of an ending, given the hash of the last two characters."""
    return 1 + i64(u64(suffix2_hash) * u64(N_ENDINGS) >> u64(32))


def ending_embeddings(suffix2_hashes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16]:
    """Return what `ending_embedding` does for each word, uint16[words]."""
    return (1 + (suffix2_hashes.astype(np.uint64) * np.uint64(N_ENDINGS) >> np.uint64(32))).astype(np.uint16)


@inner
def gets_network(tokens: TokenArray, t: i64, lead: float) -> bool:
    """Return whether the network corrects the scores of tokens[t], given the lead of the likeliest shape. It says
    nothing of first words, whose capitals training text owes to their position."""
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
