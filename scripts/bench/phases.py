"""Measure each phase of recasing, in nanoseconds of processor time per word.

    \b
    python scripts/bench/phases.py TEXT MODEL… [--repeat 10] [--json phases.json]

TEXT is lowercased and recased on one core with each model, with and without its context model; the fastest of several
runs counts. The phases are those of docs/how-it-works.md: words and their forms (S and T), the costs of casings in
context (weights on S ∘ T), the search for the best path (∘ LM, bestpath), and writing the text (P).

Prints a table. With --json, also writes the results to a file from which scripts/bench/tables.py makes the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
from tables import phases_table, save

from capfst.cli.exit_status import exit_status
from capfst.io.blocks import read_blocks
from capfst.recaser import Recaser, load

Result = TypeVar("Result")
PHASES = "S and T: words, forms", "weights on S ∘ T: context", "∘, bestpath: search", "P: the text again"


def fastest(function: Callable[[], Result], repeat: int) -> tuple[float, Result]:
    """Return the processor time in seconds of the fastest of several calls, and the result of a call."""
    least = np.inf
    for _ in range(repeat):
        begin = time.thread_time()
        result = function()
        least = min(least, time.thread_time() - begin)
    return least, result


def phases(recaser: Recaser, text: bytes, repeat: int) -> list[float]:
    """Return the nanoseconds per word of each phase."""
    buf = np.frombuffer(text, np.uint8)
    reading, words = fastest(lambda: recaser.pipeline.words(buf), repeat)
    weighing, costs = fastest(lambda: recaser.pipeline.costs(buf, words), repeat)
    searching, path = fastest(lambda: recaser.pipeline.engine.best(words, costs.arc_costs), repeat)
    writing, _ = fastest(lambda: recaser.pipeline.surface(buf, words, path, costs), repeat)
    return [1e9 * seconds / len(words.starts) for seconds in (reading, weighing, searching, writing)]


@click.command(help=__doc__)
@click.argument("text", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("models", nargs=-1, required=True)
@click.option("--repeat", default=10, show_default=True, help="Number of runs per phase.")
@click.option("--quick", is_flag=True, help="Two runs per phase, on the first 1,000 lines.")
@click.option("--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="File to write the results to.")
def main(text: Path, models: tuple[str, ...], repeat: int, quick: bool, output: Path | None) -> None:
    lowered = b"".join(read_blocks([text])).decode().lower().encode()
    if quick:
        repeat, lowered = 2, b"".join(lowered.splitlines(keepends=True)[:1000])
    columns: list[dict[str, Any]] = []
    for model in models:
        for context in (True, False):
            recaser = load(model, sentence_case=True, context=context)
            name = f"{Path(model).stem}, {'and context' if context else 'LM alone'}"
            columns.append({"name": name, "ns": phases(recaser, lowered, repeat)})
    results = {"table": "phases", "phases": PHASES, "columns": columns}
    if output:
        save(results, output)
    print(phases_table(results))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
