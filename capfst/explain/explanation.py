"""Why a line is cased as it is: the casings that competed, and the parts of their costs (explainer.py finds them).

Shown as a table of text, as a picture of the lattice S ∘ T ∘ LM, drawn by Graphviz, and as a page of HTML with both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from html import escape
from typing import Any
from unicodedata import category

from capfst.exceptions import CapfstError, missing_extra, quantity
from capfst.io.html_page import html_page

_CLOSE = 10.0  # other casings that cost at most so much more are shown
_MOST_FORMS, _MOST_REASONS = 4, 4
_LEAST_REASON = 0.5
_LEAST_PART = 0.005

_HEADINGS = {"lm": "LM", "input": "input case", "words": "word list"}
BEST, OTHER = "#c2185b", "#78909c"
_MOST_DRAWN = 3000  # arcs: Graphviz takes minutes for more
_FONT = {"fontname": "Helvetica, Arial, sans-serif", "fontsize": "13"}
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; padding: 0 1em; max-width: 75em }
.picture { overflow-x: auto; background: #fff; border-radius: .5em; padding: .5em }
.tables { overflow-x: auto }
table { border-collapse: collapse; margin: .5em 0 2em }
th, td { padding: .2em .7em; border-bottom: 1px solid #8885; text-align: right; vertical-align: top }
th { font-weight: 600 }
.text { text-align: left; overflow-wrap: anywhere }
"""

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
        """Return the casings that competed as a table of text: how much more the line costs in each, by part; the
        n-gram that the LM reads it by; and for the next best casing the strongest reasons of the context model."""
        parts, best, others = _used_parts(self), self.casings[0], self.casings[1:]
        total = (f"{_heading(part)} {cost:.2f}" for part, cost in best.parts.items() if abs(cost) >= _LEAST_PART)
        lines = [self.text, *_notes(self), f"-ln P {best.cost:.2f} = {' + '.join(total)}"]
        lines += [f"{casing.cost:.2f}  {casing.text}" for casing in others]
        rows = [(["word", "casing", "costs more", *map(_heading, parts), "n-gram"], "")]
        n_certain = 0
        for word in self.words:
            of_word = list(_rows(word, _shown_forms(word), parts))
            n_certain += not of_word
            rows += [(cells, reasons if k == 1 else "") for k, (cells, reasons) in enumerate(of_word)]
        if len(rows) > 1:
            lines.append("")
            widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in rows), strict=True)]
            for cells, reasons in rows:
                pads = [str.ljust, str.ljust, *[str.rjust] * (len(cells) - 3), str.ljust]
                padded = (pad(cell, width) for pad, cell, width in zip(pads, cells, widths, strict=True))
                lines.append("  ".join(padded).rstrip())
                lines += [f"{' ' * (widths[0] + 4)}context: {reasons}"] if reasons else []
        if n_certain:
            lines += ["", f"{quantity(n_certain, 'token')} without a casing that costs up to {_CLOSE:.0f} more."]
        return printable("\n".join(lines))

    __str__ = table

    def svg(self) -> str:
        """Return a picture of the lattice S ∘ T ∘ LM, with its best path, as SVG: arcs have `word:casing/cost`, states
        the words by which the LM goes on.

        Raises:
            CapfstError: Graphviz is not installed, or the lattice is too large to be drawn.
        """
        try:
            import graphviz  # noqa: PLC0415  (an extra)
        except ModuleNotFoundError as error:
            raise missing_extra("pictures need Graphviz", "explain", ", and install Graphviz's program dot") from error
        if len(self.arcs) > _MOST_DRAWN:
            raise CapfstError(f"the picture would have {len(self.arcs):,} arcs. Draw a shorter line, or use the table.")
        try:
            drawn: str = _graph(graphviz, self).pipe("svg", encoding="utf-8")
        except graphviz.ExecutableNotFound as error:
            raise CapfstError("pictures need Graphviz's program dot. Install it: apt install graphviz.") from error
        return re.sub(r"<!DOCTYPE[^>]*>\n", "", drawn)  # which names another file

    def html(self) -> str:
        """Return a page of HTML with the picture, the n best casings and the words, which needs no other file.

        Raises:
            CapfstError: as `svg`.
        """
        drawn = self.svg()
        notes = [f"<p>{_escaped(line)}</p>" for line in _notes(self)]
        picture = f'<div class="picture">\n{drawn[drawn.index("<svg") :]}</div>'
        tables = f"<h2>Best casings</h2>\n{_casings(self)}\n<h2>Words</h2>\n{_words(self)}"
        content = "\n".join([*notes, picture, f'<div class="tables">\n{tables}\n</div>'])
        return html_page(_escaped(self.text), _STYLE, content)


def _heading(part: str) -> str:
    return _HEADINGS.get(part, part)


def _shown_forms(word: ExplainedWord) -> tuple[ExplainedForm, ...]:
    """Return the casings of a word that are worth showing; none if its casing was never in doubt."""
    forms = [form for form in word.forms if form.margin <= _CLOSE][:_MOST_FORMS]
    if len(forms) < 2 and word.forms[0].text != word.given:
        return word.forms[:2]
    return tuple(forms) if len(forms) > 1 else ()


def _used_parts(explanation: Explanation) -> list[str]:
    """Return the parts that any casing shown has."""
    shown = [casing.parts for casing in explanation.casings]
    shown += [form.differences for word in explanation.words for form in _shown_forms(word)]
    return [part for part in explanation.casings[0].parts if any(abs(parts[part]) >= _LEAST_PART for parts in shown)]


def _notes(explanation: Explanation) -> list[str]:
    """Return what recasing writes, if that is not the best casing."""
    return [] if explanation.recased == explanation.text else [f"recasing writes: {explanation.recased}"]


def _rows(word: ExplainedWord, forms: Iterable[ExplainedForm], parts: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield a row for each of the casings of a word: the word, the casing, how much more the line costs in it, in all
    and by part, and the n-gram; and the strongest reasons of the context model."""
    for k, form in enumerate(forms):
        numbers = [f"{cost:+.2f}" if k else "" for cost in (form.margin, *(form.differences[part] for part in parts))]
        strongest = [reason for reason in form.reasons[:_MOST_REASONS] if abs(reason.cost) >= _LEAST_REASON]
        reasons = ", ".join(f"{reason.text} {reason.cost:+.1f}" for reason in strongest) if k else ""
        yield ["" if k else word.given, form.text, *numbers, str(form.ngram)], reasons


def printable(text: str) -> str:
    """Return a text in which U+FFFD replaces what could not be shown, or would change a terminal: control characters,
    invisible ones, and lone surrogates."""
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else "\ufffd" for c in text)


def _graph(graphviz: Any, explanation: Explanation) -> Any:
    def text(label: str) -> str:
        escaped: str = graphviz.escape(printable(label))
        return escaped

    graph = graphviz.Digraph("S ∘ T ∘ LM", graph_attr={"rankdir": "LR", "bgcolor": "white", "nodesep": "0.2"})
    graph.attr("node", shape="box", style="rounded", color=OTHER, fontcolor=OTHER, height="0.3", **_FONT)
    graph.attr("edge", arrowsize="0.7", color=OTHER, fontcolor=OTHER, **_FONT)
    on_best = {state for arc in explanation.arcs if arc.is_best for state in (arc.source, arc.target)}
    for number, name in enumerate(explanation.states):
        style = {"color": BEST, "fontcolor": BEST, "penwidth": "2"} if number in on_best else {}
        graph.node(str(number), text(name or "any context"), **style)
    for arc in explanation.arcs:
        style = {"color": BEST, "fontcolor": BEST, "penwidth": "2"} if arc.is_best else {}
        end = " </s>" if arc.ends else ""
        label = text(f" {arc.given}:{arc.text}{end}/{arc.cost:.2f} ")
        tooltip = text(f"{arc.text}: the best path costs {arc.margin:.2f} more")
        graph.edge(str(arc.source), str(arc.target), label, tooltip=tooltip, labeltooltip=tooltip, **style)
    return graph


def _casings(explanation: Explanation) -> str:
    parts = _used_parts(explanation)
    rows = [["casing", "cost", *map(_heading, parts)]]
    for casing in explanation.casings:
        rows.append([casing.text, *(f"{cost:.2f}" for cost in (casing.cost, *(casing.parts[part] for part in parts)))])
    return _html_table(rows, {0})


def _words(explanation: Explanation) -> str:
    parts = _used_parts(explanation)
    rows = [["word", "casing", "log-odds", "costs more", *map(_heading, parts), "n-gram"]]
    rows[0].append("the context model holds against it")
    for word in explanation.words:
        log_odds = "∞" if word.log_odds == math.inf else f"{word.log_odds:.2f}"
        for k, (cells, reasons) in enumerate(_rows(word, _shown_forms(word) or word.forms[:1], parts)):
            rows.append([*cells[:2], "" if k else log_odds, *cells[2:], reasons])
    return _html_table(rows, {0, 1, len(rows[0]) - 2, len(rows[0]) - 1})


def _html_table(rows: list[list[str]], texts: set[int]) -> str:
    """Return a table whose first row is its head. texts: the columns that are no numbers."""
    lines = ["<table>"]
    for k, row in enumerate(rows):
        tag = "td" if k else "th"
        kinds = (' class="text"' if column in texts else "" for column in range(len(row)))
        cells = (f"<{tag}{kind}>{_escaped(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"])


def _escaped(text: str) -> str:
    return escape(printable(text))
