"""Small backoff models for tests: states, arcs and symbols as lm/acceptor.py makes them, with any weights."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from capfst.casing.types import Words
from capfst.context.context_model import PART as CONTEXT
from capfst.fst.read import CapFst
from capfst.fst.signature import Signature
from capfst.fst.symbols import Symbols
from capfst.fst.trailer import Part
from capfst.fst.write import ARC, HAS_TRAILER, STATE, write_fst
from capfst.text.unicode import lower

if TYPE_CHECKING:
    import pynini

SIGNATURE = Signature("0.1.0", 3, "kn", "none", "capfst", "default", "00000000")
UNKNOWN = "<unk>"
FORMS = """
    it It IT us US Us i I new New NEW york York YORK mcdonald McDonald Mcdonald MCDONALD mcDonald iphone iPhone IPHONE
    's 'S . , 0 a A AT&T at&t e.g. E.G. straße Straße STRASSE éa ÉA Éa ﬁn ǆ ǅ Ǆ Οδος ΟΔΟΣ οδος и И 𐐨 𐐀 don DON Don
""".split()  # noqa: SIM905
_FLAGS = 29  # offset in a file, after the magic number, two names and the version
TIED = [0.0, 0.5, 1.0, 2.0]

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


class Model(NamedTuple):
    """The arguments of `write_fst`, and the contexts and numbers of n-grams that they were made from."""

    states: npt.NDArray
    arcs: npt.NDArray
    symbols: Symbols
    start: int
    contexts: list[tuple[int, ...]]  # labels before each state; 0 is <s>
    ngrams: tuple[int, ...]  # number of n-grams by the length of the backoff chain from their context

    def save(self, path: str | os.PathLike[str]) -> CapFst:
        write_fst(path, self.states, self.arcs, self.symbols, self.start, SIGNATURE)
        return CapFst.open(path)


def with_old_context(model: Model, path: Path) -> Path:
    """Write the model with a context model of another version of capfst."""
    parts = {CONTEXT: Part({"format": 0}, {})}
    write_fst(path, model.states, model.arcs, model.symbols, model.start, SIGNATURE, parts)
    return path


def without_context(source: Path, target: Path) -> Path:
    """Copy a model to another file without the contents of its trailer."""
    model = CapFst.open(source)
    write_fst(target, model.states, model.arcs, model.symbols, model.start, model.signature)
    return target


def bare(path: Path) -> bytearray:
    """Return the bytes of a model file without its trailer, and so without a checksum, as OpenFst writes it."""
    content = bytearray(path.read_bytes()[: trailer_start(CapFst.open(path))])
    content[_FLAGS + 3] &= ~(HAS_TRAILER >> 24)
    return content


def trailer_start(model: CapFst) -> int:
    """Return the offset in a model's file at which the arcs end."""
    return Path(model.path).read_bytes().index(model.arcs.tobytes()) + model.arcs.nbytes


def build(words: list[str], arcs: dict, backoffs: dict, finals: dict) -> Model:
    """Build a model from tables keyed by tuples of labels: n-gram → cost, context → backoff, context → final cost.

    The contexts are the keys of `backoffs`, and () for the root, where `arcs` must have each label. A context that
    `finals` lacks has no n-gram with `</s>`.
    """
    contexts = [(), *sorted(backoffs, key=lambda context: (len(context), context))]
    number = {context: state for state, context in enumerate(contexts)}
    longest = max(map(len, contexts))

    def longest_known(history: tuple[int, ...]) -> int:
        history = history[max(0, len(history) - longest) :]
        while history not in number:
            history = history[1:]
        return number[history]

    after: dict[tuple[int, ...], list[int]] = {context: [] for context in contexts}
    for *context, label in arcs:
        after[tuple(context)].append(label)
    states = np.zeros(len(contexts), STATE)
    depth = [0] * len(contexts)
    ngrams = [0] * (longest + 1)
    rows: list[tuple[int, int, float, int]] = []
    for state, context in enumerate(contexts):
        first = len(rows)
        if context:
            lower_state = longest_known(context[1:])
            depth[state] = depth[lower_state] + 1
            rows.append((0, 0, backoffs[context], lower_state))
        ngrams[depth[state]] += len(after[context]) + (context in finals)
        for label in sorted(after[context]):
            gram = (*context, label)
            rows.append((label, label, arcs[gram], longest_known(gram)))
        states[state] = (finals.get(context, np.inf), first, len(rows) - first, bool(context), bool(context))
    listed = tuple(np.trim_zeros(ngrams, "b"))
    return Model(states, np.array(rows, ARC), Symbols.from_words(words), number.get((0,), 0), contexts, listed)


def random_model(rng: random.Random, order: int, forms: int = 12, ngrams: int = 20, ties: bool = False) -> Model:
    """Return a model of order 1 … `order`, of `forms` surface forms including `<unk>`, from `ngrams` longer n-grams.

    With `ties`, costs have only a few values, so that paths tie. Some costs are infinite, some backoff costs negative.
    The costs do not correspond to probabilities; they are multiples of 2⁻²⁰, so that sums are the same in any order.
    """
    chosen = [*rng.sample(FORMS, min(forms, len(FORMS)) - 1), UNKNOWN]  # in the order of their counts
    words = sorted(chosen, key=lambda word: (lower(word).encode(), chosen.index(word)))

    def cost(low: int) -> float:
        if rng.randint(0, 19) == 0:
            return np.inf
        return rng.choice(TIED) + low if ties else rng.randint(low << 20, 8 << 20) / (1 << 20)

    grams: set[tuple[int, ...]] = set()
    if order > 1:
        for _ in range(rng.randint(0, ngrams)):
            gram = tuple(rng.randint(1, len(words)) for _ in range(rng.randint(2, order)))
            if rng.randint(0, 3) == 0:
                gram = (0, *gram[1:])  # after <s>
            # As in any ARPA file, each n-gram comes with all n-grams inside it.
            for i in range(len(gram)):
                grams |= {gram[i:j] for j in range(i + 2, len(gram) + 1)}
    contexts = {gram[:-1] for gram in grams}
    if order > 1:
        contexts.add((0,))  # the start state
        # States that have only the backoff arc, which pruning can produce.
        contexts |= {gram for gram in grams if len(gram) < order and rng.randint(0, 9) == 0}
    arcs = {(label,): cost(0) for label in range(1, len(words) + 1)} | {gram: cost(0) for gram in sorted(grams)}
    backoffs = {context: cost(-1) for context in sorted(contexts)}
    finals = {context: cost(0) for context in sorted(contexts) if rng.randint(0, 2) == 0}
    finals = {context: final for context, final in finals.items() if final < np.inf}
    return build(words, arcs, backoffs, finals | {(): rng.randint(1, 5 << 20) / (1 << 20)})


def backoff_models(max_order: int = 5) -> st.SearchStrategy[Model]:
    """Return a hypothesis strategy for random models of order 1 … max_order, which shrink."""
    return st.builds(
        random_model,
        st.randoms(use_true_random=False),
        order=st.integers(1, max_order),
        forms=st.integers(1, 16),
        ngrams=st.integers(0, 20),
        ties=st.booleans(),
    )


def tiny() -> Model:
    """Return a bigram model with P(It | <s>), P(works | It), and </s> after works."""
    unk, it, big_it, works = 1, 2, 3, 4
    return build(
        ["<unk>", "it", "It", "works"],
        {(unk,): 4, (it,): 2, (big_it,): 3, (works,): np.inf, (0, big_it): 0.5, (big_it, works): 1.5},
        {(0,): 0.25, (big_it,): -0.125, (works,): 0},
        {(): 5, (works,): 0.75},
    )


def vector(model: Model) -> pynini.Fst:
    """Build the same acceptor in OpenFst, arc by arc."""
    import pynini  # noqa: PLC0415  (most tests of models do not need it)

    fst = pynini.Fst()
    fst.add_states(len(model.states))
    fst.set_start(model.start)
    for s, state in enumerate(model.states):
        if state["final"] < np.inf:
            fst.set_final(s, float(state["final"]))
        for arc in model.arcs[state["pos"] : state["pos"] + state["narcs"]]:
            fst.add_arc(s, pynini.Arc(*(value.item() for value in arc)))
    table = pynini.SymbolTable(str(SIGNATURE))
    for label, symbol in enumerate(model.symbols):
        table.add_symbol(symbol, label)
    fst.set_input_symbols(table)
    return fst


def openfst(command: str, *arguments: str | Path) -> bytes:
    """Return the output of one of OpenFst's own programs (Debian: libfst-tools)."""
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def arcs_of(model: CapFst, state: int) -> npt.NDArray:
    """Return ARC[narcs]: the arcs of a state, its backoff arc (if it has one) first."""
    first = int(model.states["pos"][state])
    return model.arcs[first : first + int(model.states["narcs"][state])]


def backoff_of(model: CapFst, state: int) -> tuple[float, int]:
    """Return (cost, backoff state) of a state other than 0."""
    arc = arcs_of(model, state)[0]
    return float(arc["weight"]), int(arc["nextstate"])


def possible_begins(words: Words, line: slice = slice(None)) -> list[list[tuple[bool, float]]]:
    """Return for each word of a line the possibilities that a sentence begins with it, and that none does, with the
    costs of these."""
    pairs = zip(words.may_begin[line].tolist(), words.begin_odds[line].tolist(), strict=True)
    gaps = [[(False, max(odds, 0)), (True, max(-odds, 0))] if may else [(False, 0.0)] for may, odds in pairs]
    return [[way for way in gap if way[1] < np.inf] for gap in gaps]


def set_begin_odds(words: Words, seed: int = 0) -> None:
    """Give words odds of beginning a sentence: one in three does, others have any odds."""
    odds = np.random.default_rng(seed).normal(0, 3, len(words.begin_odds))
    words.begin_odds[:] = np.where(np.arange(len(odds)) % 3, odds, np.inf)
