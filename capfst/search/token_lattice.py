"""S as a lattice of tokens: of a line, or of a word lattice (io/word_lattices.py), whose words compete.

In: words with the labels of their surface forms. Out: `TokenLattice`, of which paths.py finds all paths through S ∘ T ∘
LM, and openfst.py builds FSTs.

A path through a word lattice costs its costs in the lattice + weight · (−ln P − word_bonus · words)
(options.Rescoring). There `<unk>` stands for many words: an OOV word has 1 / V of its probability, V being the number
of the LM's surface forms. A noise costs what `<unk>` costs, and has no bonus. No sentence begins inside a word lattice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.types import ArcCosts, Words
from capfst.kernels.types import Array, BoolArray, F64Array, I64Array
from capfst.lm.query import LanguageModel
from capfst.options import Rescoring
from capfst.text.tokenizer import NEWLINE

if TYPE_CHECKING:
    from capfst.io.word_lattices import WordLattice

TOKEN = np.dtype(
    [
        ("source", "i8"),
        ("target", "i8"),
        ("word", "i8"),  # of the line; or the arc of the word lattice, −1 for tokens that are not the first of a word
        ("label", "i8"),  # the first of the token's forms; 0: ε
        ("n_forms", "i8"),  # an OOV token has one, `<unk>`; ε has one
        ("arc", "i8"),  # the number of its first form among those of all tokens
        ("cost", "f8"),  # −ln, of the token, if no sentence ends after it; +inf if one does
        ("end_cost", "f8"),  # the same if a sentence ends after it, inside the line; +inf if none does
    ]
)
TokenArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(TOKEN)]


class TokenLattice(NamedTuple):
    """An acyclic lattice of tokens, whose states are numbered in topological order."""

    tokens: TokenArray  # TOKEN, by their sources
    first: I64Array  # [states + 1]: the first token from each state
    start: int
    final: F64Array  # [states]: −ln; +inf if a state is not final
    weight: float  # of −ln P
    arc_costs: F64Array  # −ln, of each form of each token
    stays_first: BoolArray  # [tokens]: whether the next word is the first of a sentence if this one is; or [0]


def _lattice(
    tokens: npt.NDArray, final: npt.NDArray[np.float64], start: int, weight: float, stays_first: npt.ArrayLike = ()
) -> TokenLattice:
    """Return a lattice whose forms cost nothing."""
    tokens["arc"] = np.cumsum(tokens["n_forms"]) - tokens["n_forms"]
    first, costs = np.searchsorted(tokens["source"], np.arange(len(final) + 1)), np.zeros(int(tokens["n_forms"].sum()))
    return TokenLattice(tokens, first, start, final, weight, costs, np.array(stays_first, np.bool_))


def line_lattice(
    words: Words, arc_costs: ArcCosts | None, unknown: int, stays_first: npt.ArrayLike = ()
) -> TokenLattice:
    """Return the words of a line, one after the other.

    arc_costs: as for the search. unknown: the label of `<unk>`. stays_first: bool[words], whether the next word is the
    first of a sentence if this one is; empty: that does not matter.
    """
    n = len(words.n_forms)
    tokens, final = np.empty(n, TOKEN), np.full(n + 1, np.inf)
    final[n] = 0
    tokens["source"] = tokens["word"] = np.arange(n)
    tokens["target"] = tokens["source"] + 1
    tokens["label"] = np.where(words.n_forms > 0, words.first_labels, unknown)
    tokens["n_forms"] = np.maximum(words.n_forms, 1)
    may_end, odds = np.append(words.may_begin, False)[1:], np.append(words.begin_odds, 0)[1:]
    tokens["cost"] = np.where(may_end, np.maximum(odds, 0), 0)
    tokens["end_cost"] = np.where(may_end, np.maximum(-odds, 0), np.inf)
    lattice = _lattice(tokens, final, 0, 1, stays_first)
    if arc_costs is not None:
        lattice.arc_costs[np.repeat(words.n_forms > 0, tokens["n_forms"])] = arc_costs
    return lattice


def token_lattice(lattice: WordLattice, words: Words, lm: LanguageModel, rescoring: Rescoring) -> TokenLattice:
    """Return the tokens of a word lattice. words: those of `lattice.spoken`."""
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
    tokens["word"], tokens["cost"] = np.where(k == 0, arc, -1), np.where(k == 0, of_arcs[arc], 0) + costs[token]
    tokens["end_cost"] = np.inf
    tokens = tokens[np.argsort(tokens["source"], kind="stable")]
    final = np.full(len(states) + added[-1], np.inf)
    final[numbers] = lattice.final
    return _lattice(tokens, final, int(numbers[lattice.start]), weight)
