"""Draw the equation P = bestpath(S ∘ T ∘ LM) for a short sentence, as the engine `openfst` computes it.

    \b
    python scripts/maintain/draw_equation.py [TEXT] [--corpus FILE] [--out FOLDER]

Trains a bigram LM on a few lines, and draws S, T, LM and S ∘ T ∘ LM, the last with its best path, as SVG. LM is the
part of the model that S ∘ T can reach (`reachable`). Needs Graphviz's `dot`, and `pip install -e '.[docs,openfst]'`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import graphviz
import numpy as np
import pynini

import capfst
from capfst.cli.exit_status import exit_status
from capfst.search.openfst import Engine, reachable, sentence, transducer

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEST = "#c2185b"

Arcs = set[tuple[int, int, int]]
"""Arcs as (state, output label, next state)."""


def best_arcs(p: pynini.Fst) -> Arcs:
    """Return the arcs of the best path of `p`, an FST with at most one arc per state and output label."""
    path = pynini.shortestpath(p).topsort()
    state, at, found = p.start(), path.start(), set()
    while path.num_arcs(at):
        (step,) = path.arcs(at)
        (arc,) = (arc for arc in p.arcs(state) if arc.olabel == step.olabel)
        found.add((state, arc.olabel, arc.nextstate))
        state, at = arc.nextstate, step.nextstate
    return found


def draw(fst: pynini.Fst, name: str, outputs: list[str], inputs: list[str], best: Arcs) -> graphviz.Digraph:
    """Draw an FST with the labels `input:output/cost`, or `word/cost` if it is an acceptor; costs of 0 are omitted.

    Arcs between the same states are one line with several labels.
    """
    font = {"fontname": "Helvetica, Arial, sans-serif", "fontsize": "14"}
    dot = graphviz.Digraph(name, graph_attr={"rankdir": "LR", "bgcolor": "white", "nodesep": "0.15"})
    dot.attr("node", shape="circle", width="0.35", fixedsize="true", **font)
    dot.attr("edge", arrowsize="0.7", **font)
    on_best = {state for arc in best for state in (arc[0], arc[2])}

    def cost(weight: object) -> str:
        value = float(weight)  # type: ignore[arg-type]
        return f"/{value:.2f}" if value else ""

    for state in fst.states():
        final = float(fst.final(state))
        style = {"color": BEST, "fontcolor": BEST, "penwidth": "2"} if state in on_best else {}
        if state == fst.start():
            style["penwidth"] = "3"
        if np.isfinite(final):
            style |= {"shape": "doublecircle"}
            if final:
                style |= {"xlabel": cost(final)}
        dot.node(str(state), **style)
        labels: dict[tuple[int, bool], list[str]] = {}
        for arc in fst.arcs(state):
            label = outputs[arc.olabel] + cost(arc.weight)
            if inputs is not outputs:
                label = f"{inputs[arc.ilabel]}:{label}"
            chosen = (state, arc.olabel, arc.nextstate) in best
            labels.setdefault((arc.nextstate, chosen), []).append(f" {label} ")
        for (following, chosen), lines in labels.items():
            style = {"color": BEST, "fontcolor": BEST, "penwidth": "2"} if chosen else {}
            dot.edge(str(state), str(following), "\n".join(lines), **style)
    return dot


@click.command(help=__doc__)
@click.argument("text", default="an it meeting")
@click.option(
    "--corpus",
    type=click.Path(exists=True, path_type=Path),
    default=DOCS / "examples" / "corpus.txt",
    help="Training text.",
)
@click.option("--out", type=click.Path(path_type=Path), default=DOCS / "images", help="Folder to write to.")
def main(text: str, corpus: Path, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "cap.fst")
        capfst.train(corpus, model, order=2, context=False)
        recaser = capfst.load(model, context=False, engine="openfst", sentence_case=True)
        surface = [recaser.model.symbols[label] for label in range(len(recaser.model.symbols))]
        lowercase = [form.lower() for form in surface]
        buffer = np.frombuffer(text.encode(), np.uint8)
        engine = recaser.pipeline.engine
        assert isinstance(engine, Engine)
        words = engine.ranges(recaser.pipeline.loaded.transducer.words(buffer), slice(None))
        s, t, lm = (
            sentence(words),
            transducer(words),
            reachable(recaser.pipeline.loaded.lm, engine.starts, words),
        )
    p = pynini.compose(pynini.compose(s, t), lm)
    for name, fst, inputs, outputs, best in (
        ("s", s, lowercase, lowercase, set()),
        ("t", t, lowercase, surface, set()),
        ("lm", lm, surface, surface, set()),
        ("p", p, lowercase, surface, best_arcs(p)),
    ):
        dot = draw(fst, name, outputs, inputs, best)
        (out / f"equation_{name}.svg").write_bytes(dot.pipe("svg"))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
