"""Why a line is cased as it is: the casings that competed, and the parts of their costs (explainer.py finds them)."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from capfst.exceptions import CapfstError, quantity
from capfst.explain.shown import html, svg, table

Parts = dict[str, float]
"""Costs by part, of those that the options use: `lm`, `gap`, `context`, `spelling`, `document`, `input`, `source`,
`units` and `words`."""


@dataclass(frozen=True)
class NGram:
    """The n-gram by which the LM reads a word."""

    words: tuple[str, ...]  # the last one is the word; <s> is the start, </s> the end of a sentence
    backoffs: int  # longer n-grams that the LM lacks
    cost: float  # −ln P, including the backoffs

    def __str__(self) -> str:
        backoffs = f", {quantity(self.backoffs, 'backoff')}" if self.backoffs else ""
        return " ".join(self.words) + backoffs


@dataclass(frozen=True)
class Reason:
    """What the context model prefers a casing for (a negative cost), or holds against it."""

    text: str
    cost: float


@dataclass(frozen=True)
class ExplainedForm:
    """A casing of a word that competed, in the best casing of the line that has it."""

    text: str
    margin: float  # the extra cost of that casing of the line; 0 for the best
    parts: Parts  # of the cost of the word
    differences: Parts  # of the margin
    ngram: NGram
    reasons: tuple[Reason, ...]
    """By the context, strongest first: against the best casing of the word; of the best one, against the next."""
    line: str  # the line in that casing


@dataclass(frozen=True)
class ExplainedWord:
    """A word of the line, and its casings."""

    start: int  # text[start:end] is the word in the best casing of the line
    end: int
    given: str  # as it was
    begins: bool  # whether a sentence begins with it, inside the line
    log_odds: float  # that its casing is right; +inf if it has no other
    forms: tuple[ExplainedForm, ...]  # best first


@dataclass(frozen=True)
class ExplainedCasing:
    """One of the n best casings of the line."""

    cost: float
    text: str
    parts: Parts  # of the cost


@dataclass(frozen=True)
class LatticeArc:
    """An arc of S ∘ T ∘ LM."""

    source: int  # a state
    target: int
    given: str  # the word
    text: str  # its casing
    ends: bool  # whether a sentence ends after it
    cost: float
    margin: float  # the extra cost of the best path through it; 0 for those of the best path
    is_best: bool  # whether it is of the best path


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a line is cased as it is. Costs are natural logarithms, −ln P. Notebooks show the picture, and `print` the
    table."""

    text: str  # the best casing of the line
    recased: str  # what recasing writes; nearly always the same
    cost: float
    start: float  # the cost of the start token
    end: float  # the cost of the end of the line
    words: tuple[ExplainedWord, ...]
    casings: tuple[ExplainedCasing, ...]  # the n best
    states: tuple[str, ...]  # of the lattice: the words by which the LM goes on
    arcs: tuple[LatticeArc, ...]
    """Those of the lattice on paths that cost little more than the best."""

    def __repr__(self) -> str:
        return f"<Explanation {self.text!r}: -ln P {self.cost:.2f}, {quantity(len(self.words), 'token')}>"

    def _repr_svg_(self) -> str | None:
        """Return the picture for notebooks, if Graphviz is installed."""
        with suppress(CapfstError):
            return self.svg()
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation for JSON, which cannot express infinite log-odds: they are None."""
        result: dict[str, Any] = asdict(self)
        for word in result["words"]:
            word["log_odds"] = None if word["log_odds"] == math.inf else word["log_odds"]
        return result

    def table(self) -> str:
        """Return the casings that competed as a table of text."""
        return table(self)

    __str__ = table

    def svg(self) -> str:
        """Return a picture of the lattice S ∘ T ∘ LM, with its best path, as SVG.

        Raises:
            CapfstError: Graphviz is not installed.
        """
        return svg(self)

    def html(self) -> str:
        """Return a page of HTML with the picture and the tables, which needs no other file.

        Raises:
            CapfstError: Graphviz is not installed.
        """
        return html(self)
