"""What pruning costs: perplexity, accuracy and F1 of models of several sizes, as a table and a plot.

    python scripts/pruning.py CORPUS TEXT… [--sizes 20000000,5000000,1000000] [--plot FILE.svg]

Trains on CORPUS unpruned and with each size (`--max-ngrams`), and measures on each TEXT: perplexity including OOVs of
the cased text, and how well its lowercase is recased, lines taken for sentences.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

import capfst
from capfst.evaluate.perplexity import perplexity
from capfst.evaluate.score import score
from capfst.io.blocks import read_blocks


def measure(model: Path, texts: tuple[Path, ...]) -> list[tuple[float, float, float]]:
    """Perplexity, accuracy and F1 of the model on each text."""
    recaser = capfst.load(model, sentence_case=True)
    fst = recaser.model
    found = []
    for text in texts:
        cased = b"".join(read_blocks([text])).decode()
        result = perplexity(
            fst.states,
            fst.arcs,
            fst.start,
            [recaser.pipeline.loaded.labels(cased.encode())],
            recaser.pipeline.loaded.lm.unknown,
        )
        scores = score(references=cased.splitlines(), hypotheses=recaser(cased.lower()).splitlines())
        found.append((result.including_oov, scores.accuracy or 0.0, scores.f1 or 0.0))
    return found


def name(text: Path) -> str:
    return text.name.split(".")[0]


def draw(path: Path, texts: tuple[Path, ...], rows: list[tuple[int, list[tuple[float, float, float]]]]) -> None:
    from matplotlib import pyplot  # noqa: PLC0415

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.5))
    for panel, column, title in zip(panels, (0, 2), ("perplexity", "F1"), strict=True):
        for k, text in enumerate(texts):
            panel.plot([n for n, _ in rows], [found[k][column] for _, found in rows], "o-", label=name(text))
        panel.set(xscale="log", xlabel="n-grams", ylabel=title)
        panel.grid(alpha=0.3)
    panels[0].legend()
    figure.tight_layout()
    figure.savefig(path)


@click.command(help=__doc__)
@click.argument("corpus")
@click.argument("texts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--sizes", default="20000000,5000000,1000000", show_default=True)
@click.option("--order", default=3, show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Needs matplotlib.")
def main(corpus: str, texts: tuple[Path, ...], sizes: str, order: int, plot: Path | None) -> None:
    print(
        "| n-grams | MB | bytes per n-gram | "
        + " | ".join(f"{name(t)}: perplexity | accuracy | F1" for t in texts)
        + " |"
    )
    print("|--:|--:|--:|" + "--:|--:|--:|" * len(texts))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "cap.fst")
        for size in (None, *map(int, sizes.split(","))):
            trained = capfst.train(corpus, model, order=order, max_ngrams=size, context=False)
            count = sum(trained.ngrams)
            found = measure(model, texts)
            rows.append((count, found))
            cells = " | ".join(f"{ppl:.1f} | {accuracy:.2f} | {f1:.2f}" for ppl, accuracy, f1 in found)
            megabytes = model.stat().st_size / 1e6
            print(f"| {count:,} | {megabytes:.0f} | {1e6 * megabytes / count:.1f} | {cells} |", flush=True)
    if plot:
        draw(plot, texts, rows)


if __name__ == "__main__":
    main()
