"""Measure the cost of pruning: perplexity, accuracy and F1 of models of several sizes, as a table and a plot.

    \b
    python scripts/experiments/pruning.py CORPUS TEXT… [--sizes 20000000,5000000,1000000] [--plot FILE.svg]

Trains on CORPUS without pruning and with each size (`--max-ngrams`). Measures, on each TEXT, the perplexity (including
OOVs) of the cased text, and accuracy and F1 of its recased lowercase, with each line as a sentence.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from helpers.corpora import heads, quick_option
from helpers.markdown import table
from helpers.packages import require

import capfst
from capfst.cli.exit_status import exit_status
from capfst.evaluate.perplexity import perplexity
from capfst.evaluate.score import score
from capfst.io.blocks import read_blocks
from capfst.io.files import find_files

QUICK = 1_000
"""Number of lines taken from each file and text with --quick."""


def measure(model: Path, texts: tuple[Path, ...]) -> list[tuple[float, float, float]]:
    """Return perplexity, accuracy and F1 of the model on each text."""
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
@click.option("--sizes", default="20000000,5000000,1000000", show_default=True, help="Numbers of n-grams.")
@click.option("--order", default=3, show_default=True, help="Length of the longest n-grams.")
@click.option("--plot", type=click.Path(path_type=Path), help="Image file for a plot (needs matplotlib).")
@quick_option
def main(corpus: str, texts: tuple[Path, ...], sizes: str, order: int, plot: Path | None, quick: bool) -> None:
    if plot:
        require("matplotlib")
    head = ["n-grams", "MB", "bytes per n-gram"]
    head += [cell for text in texts for cell in (f"{name(text)}: perplexity", "accuracy", "F1")]
    measured, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "cap.fst")
        files = find_files([corpus])
        if quick:
            files, texts = heads(files, QUICK, Path(folder)), tuple(heads(texts, QUICK, Path(folder)))
        for size in (None, *map(int, sizes.split(","))):
            trained = capfst.train(files, model, order=order, max_ngrams=size, context=False)
            count = sum(trained.ngrams)
            size_in_bytes = model.stat().st_size
            measured.append((count, measure(model, texts)))
            row = [f"{count:,}", f"{size_in_bytes / 1e6:.0f}", f"{size_in_bytes / count:.1f}"]
            for ppl, accuracy, f1 in measured[-1][1]:
                row += [f"{ppl:.1f}", f"{accuracy:.2f}", f"{f1:.2f}"]
            rows.append(row)
            click.echo(" ".join(row), err=True)
    print(table(head, rows, texts=0))
    if plot:
        draw(plot, texts, measured)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
