"""Draw the lattice S ∘ T ∘ LM of an explanation with Graphviz: its states between the words, and the best path."""

from __future__ import annotations

import re
from typing import Any

from capfst.exceptions import CapfstError, missing_extra
from capfst.explain.explanation import Explanation
from capfst.explain.table import printable

BEST, OTHER = "#c2185b", "#78909c"
_MOST_DRAWN = 3000  # arcs: Graphviz takes minutes for more
_FONT = {"fontname": "Helvetica, Arial, sans-serif", "fontsize": "13"}


def svg(explanation: Explanation) -> str:
    """Return the lattice as SVG: arcs have `word:casing/cost`, states the words by which the LM goes on.

    Raises:
        CapfstError: Graphviz is not installed, or the lattice is too large to be drawn.
    """
    try:
        import graphviz  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        raise missing_extra("pictures need Graphviz", "explain", ", and install Graphviz's program dot") from error
    if len(explanation.arcs) > _MOST_DRAWN:
        raise CapfstError(
            f"the picture would have {len(explanation.arcs):,} arcs. Draw a shorter line, or use the table."
        )
    try:
        drawn: str = _graph(graphviz, explanation).pipe("svg", encoding="utf-8")
    except graphviz.ExecutableNotFound as error:
        raise CapfstError("pictures need Graphviz's program dot. Install it: apt install graphviz.") from error
    return re.sub(r"<!DOCTYPE[^>]*>\n", "", drawn)  # which names another file


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
