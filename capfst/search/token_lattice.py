"""The same search where S is a word lattice: bestpath(S ∘ T ∘ LM) over all its sentences.

In: a word lattice (io/word_lattices.py), and its words with the labels of their surface forms. Out: the arcs of the
lattice on the best path. A node is a state of the lattice and a state of the LM, so paths with different words before a
state share it as soon as the LM no longer distinguishes them. Nodes are expanded in the order of the lattice's states;
the LM takes a backoff arc only where a state lacks the word (lm/query.py).

A path costs its costs in the lattice + weight · (−ln P − word_bonus · words) (options.Rescoring). Here words compete,
and `<unk>` stands for many: an OOV word has 1 / V of its probability, V being the number of the LM's surface forms. A
noise costs what `<unk>` costs, and has no bonus. No sentence begins inside a lattice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.types import Words
from capfst.exceptions import CorpusError
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import kernel
from capfst.kernels.types import Array, F64Array, I32Array, I64Array, f64, i64, u64
from capfst.lm.query import LanguageModel, final_cost, step
from capfst.options import Rescoring
from capfst.system.hashing import hash_pair
from capfst.text.tokenizer import NEWLINE

if TYPE_CHECKING:
    from capfst.io.word_lattices import WordLattice

_OUT_OF_CAPACITY, _NO_PATH = -2, -1
_LARGEST = 1 << 26
"""Nodes of a lattice, which then take 3 GB."""

TOKEN = np.dtype(
    [
        ("source", "i8"),
        ("target", "i8"),
        ("arc", "i8"),  # of the word lattice, for the first token of its word; −1 for the others
        ("label", "i8"),  # the first of the token's forms; 0: ε
        ("n_forms", "i8"),  # an OOV token has one, `<unk>`; ε has one
        ("cost", "f8"),
    ]
)
"""An arc for a token of a word."""
TokenArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(TOKEN)]
NODE = np.dtype(
    [
        ("best", "f8"),  # cost of the best path to it
        ("lm", "i8"),  # state of the LM
        ("state", "i4"),  # state of the lattice
        ("next", "i4"),  # the next node of that state; −1 after the last
        ("link", "i4"),  # the previous node on the best path; −1 at the start
        ("token", "i4"),  # the last TOKEN on the best path
    ],
    align=True,
)
NodeArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(NODE)]


class TokenLattice(NamedTuple):
    """A word lattice with an arc for each token of a word. States are numbered in topological order."""

    tokens: TokenArray  # TOKEN, by their sources
    first: I64Array  # [states + 1]: the first token from each state
    start: int
    final: F64Array  # [states]: −ln; +inf if a state is not final
    weight: float  # of −ln P


def token_lattice(lattice: WordLattice, words: Words, lm: LanguageModel, rescoring: Rescoring) -> TokenLattice:
    """Return the tokens of a lattice. words: those of `lattice.spoken`."""
    arcs, states, weight = lattice.arcs, np.arange(len(lattice.final)), rescoring.weight
    is_end = words.token_types == NEWLINE
    n_tokens = np.bincount(np.cumsum(is_end)[~is_end], minlength=len(lattice.words))  # of each word
    first_tokens = np.cumsum(n_tokens) - n_tokens
    n_forms = words.n_forms[~is_end]
    is_written = np.array([word != b"" for word in lattice.words], np.bool_)
    # After the tokens of words: ε, and a noise.
    first_tokens[n_tokens == 0] = len(n_forms) + is_written[n_tokens == 0]
    labels = np.concatenate([np.where(n_forms > 0, words.first_labels[~is_end], lm.unknown), [0, lm.unknown]])
    costs = np.concatenate([np.where(n_forms > 0, 0, weight * np.log(len(lm.model.symbols))), [0, 0]])
    n_forms = np.concatenate([np.maximum(n_forms, 1), [1, 1]])
    sizes = np.maximum(n_tokens[arcs["word"]], 1)
    added = np.append(0, np.cumsum(sizes - 1))  # states inside the arcs before each arc
    numbers = states + added[np.searchsorted(arcs["source"], states)]
    arc = np.repeat(np.arange(len(arcs)), sizes)
    k = np.arange(len(arc)) - (added[:-1] + np.arange(len(arcs)))[arc]  # of the token in its word
    inside = arcs["source"][arc] + added[arc] + k  # the state before it, if it is not the first
    token = first_tokens[arcs["word"][arc]] + k
    tokens = np.empty(len(arc), TOKEN)
    tokens["source"] = np.where(k == 0, numbers[arcs["source"][arc]], inside)
    tokens["target"] = np.where(k == sizes[arc] - 1, numbers[arcs["target"][arc]], inside + 1)
    tokens["label"], tokens["n_forms"] = labels[token], n_forms[token]
    of_arcs = arcs["cost"] - weight * rescoring.word_bonus * (n_tokens > 0)[arcs["word"]]
    tokens["arc"], tokens["cost"] = np.where(k == 0, arc, -1), np.where(k == 0, of_arcs[arc], 0) + costs[token]
    tokens = tokens[np.argsort(tokens["source"], kind="stable")]
    final = np.full(len(states) + added[-1], np.inf)
    final[numbers] = lattice.final
    first = np.searchsorted(tokens["source"], np.arange(len(final) + 1))
    return TokenLattice(tokens, first, int(numbers[lattice.start]), final, weight)


@kernel
def _search(
    lattice: TokenLattice,
    states: StateArray,
    arcs: ArcArray,
    start: i64,
    heads: I32Array,
    slots: I32Array,
    nodes: NodeArray,
) -> tuple[i64, f64]:
    """Fill in the nodes. Return the last one on the best path, or _NO_PATH, and its cost; or _OUT_OF_CAPACITY.

    start: state of the LM. heads: [states], the first node of each state of the lattice; −1. slots: a hash table of the
    nodes, a power of two; −1.
    """
    mask, n = slots.size - 1, 1
    node = nodes[0]
    node.best, node.lm, node.state, node.next, node.link, node.token = 0.0, start, lattice.start, -1, -1, -1
    heads[lattice.start] = 0
    last, least = _NO_PATH, np.inf
    for state in range(lattice.final.size):
        number = i64(heads[state])
        while number >= 0:
            best, lm = nodes[number].best, i64(nodes[number].lm)
            if lattice.final[state] < np.inf:
                cost = best + lattice.final[state] + lattice.weight * final_cost(states, arcs, lm)
                if cost < least:
                    last, least = number, cost
            for k in range(lattice.first[state], lattice.first[state + 1]):
                token = lattice.tokens[k]
                target = token.target
                for label in range(token.label, token.label + token.n_forms):
                    cost, after = f64(0), lm
                    if label > 0:
                        cost, after = step(states, arcs, lm, label)
                    cost = best + (token.cost + lattice.weight * cost)
                    slot = i64(hash_pair(u64(target), u64(after)) & u64(mask))
                    while slots[slot] >= 0 and (nodes[slots[slot]].state != target or nodes[slots[slot]].lm != after):
                        slot = (slot + 1) & mask
                    if slots[slot] < 0:
                        if n == nodes.size:
                            return _OUT_OF_CAPACITY, 0.0
                        node = nodes[n]
                        node.best, node.lm, node.state, node.next = np.inf, after, target, heads[target]
                        heads[target] = slots[slot] = n
                        n += 1
                    node = nodes[slots[slot]]
                    if cost < node.best:
                        node.best, node.link, node.token = cost, number, k
            number = i64(nodes[number].next)
    return last, least


def best_arcs(lattice: TokenLattice, states: StateArray, arcs: ArcArray, start: int) -> tuple[float, list[int]]:
    """Return the cost of the best path, and the arcs of the word lattice on it; +inf if there is none.

    states, arcs, start: of the LM.
    """
    capacity, last = 1 << 12, _OUT_OF_CAPACITY
    while last == _OUT_OF_CAPACITY:
        if capacity > _LARGEST:
            raise CorpusError("a lattice has too many paths to search them all. Prune it.")
        nodes, slots = np.empty(capacity, NODE), np.full(2 * capacity, -1, np.int32)
        heads = np.full(len(lattice.final), -1, np.int32)
        last, cost = _search(lattice, states, arcs, start, heads, slots, nodes)
        capacity *= 4
    found: list[int] = []
    while last > 0:
        arc = lattice.tokens["arc"][nodes["token"][last]]
        found += [int(arc)] if arc >= 0 else []
        last = int(nodes["link"][last])
    return cost, found[::-1]
