"""What each phase of recasing takes, in nanoseconds of processor time a word, as a table.

    python scripts/phases.py TEXT MODEL… [--repeat 10]

TEXT is lowercased and recased on one core, with each model and its context model, and with the LM alone; of several
runs the fastest one counts. The phases are those of docs/how-it-works.md: words and their forms (S and T), what their
casings cost in context (weights on S ∘ T), the search for the best path (∘ LM, bestpath), and the text again (P).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
import numpy as np
from command import run

from capfst.io.blocks import read_blocks
from capfst.recaser import Recaser, load

Result = TypeVar("Result")
PHASES = "S and T: words, forms", "weights on S ∘ T: context", "∘, bestpath: search", "P: the text again"


def fastest(function: Callable[[], Result], repeat: int) -> tuple[float, Result]:
    """Seconds of processor time of the fastest of several calls, and what a call gives."""
    least = np.inf
    for _ in range(repeat):
        begin = time.thread_time()
        result = function()
        least = min(least, time.thread_time() - begin)
    return least, result


def phases(recaser: Recaser, text: bytes, repeat: int) -> list[float]:
    """Nanoseconds a word of each phase."""
    buf = np.frombuffer(text, np.uint8)
    reading, words = fastest(lambda: recaser.pipeline.words(buf), repeat)
    weighing, costs = fastest(lambda: recaser.pipeline.costs(buf, words), repeat)
    searching, path = fastest(lambda: recaser.pipeline.engine.best(words, costs.arc_costs), repeat)
    writing, _ = fastest(lambda: recaser.pipeline.surface(buf, words, path, costs), repeat)
    return [1e9 * seconds / len(words.starts) for seconds in (reading, weighing, searching, writing)]


@click.command(help=__doc__)
@click.argument("text", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("models", nargs=-1, required=True)
@click.option("--repeat", default=10, show_default=True, help="Number of runs of each phase.")
@click.option("--quick", is_flag=True, help="Two runs of each phase, on the first 1,000 lines.")
def main(text: Path, models: tuple[str, ...], repeat: int, quick: bool) -> None:
    lowered = b"".join(read_blocks([text])).decode().lower().encode()
    if quick:
        repeat, lowered = 2, b"".join(lowered.splitlines(keepends=True)[:1000])
    columns = {}
    for model in models:
        for context in (True, False):
            recaser = load(model, sentence_case=True, context=context)
            columns[f"{Path(model).stem}, {'and context' if context else 'LM alone'}"] = phases(
                recaser, lowered, repeat
            )
    print(f"| ns a word | {' | '.join(columns)} |")
    print("|---|" + "--:|" * len(columns))
    for name, *figures in zip((*PHASES, "all"), *([*column, sum(column)] for column in columns.values()), strict=True):
        print(f"| {name} | {' | '.join(f'{figure:.0f}' for figure in figures)} |")


if __name__ == "__main__":
    run(main)
