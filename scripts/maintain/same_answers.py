"""Check that the two engines find the same casings, at the same costs, on real text.

    \b
    python scripts/maintain/same_answers.py LM CORPUS… [--lines 20000] [--jobs 2]

Takes an equal number of evenly spaced lines from each file of the corpora, lowercases them, and recases them with both
engines. Prints the differences; the exit status is 1 if there are any.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import click
import numpy as np

from capfst.cli.exit_status import exit_status
from capfst.io.blocks import read_blocks
from capfst.io.files import find_files
from capfst.recaser import load
from capfst.text.unicode import lower

loaded = cache(load)
TOLERANCE = 1e-4  # relative difference of costs
QUICK = 500  # lines


def sample(files: list[Path], lines: int) -> list[str]:
    """Read about `lines` lines in total, evenly spaced within each file."""
    sampled: list[str] = []
    for k, file in enumerate(files):
        wanted = (lines - len(sampled)) // (len(files) - k)
        of_file = b"".join(read_blocks([file], errors="replace")).decode().splitlines()
        sampled += of_file[:: max(1, len(of_file) // wanted)][:wanted]
    return sampled


def differences(lm: Path, sentence_case: bool, lines: tuple[str, ...]) -> list[str]:
    """Return the lines on which the engines differ, with both casings and costs."""
    text = "\n".join(map(lower, lines))
    casings, costs = [], []
    for engine in ("fast", "openfst"):
        recaser = loaded(lm, engine=engine, sentence_case=sentence_case)
        casings.append(recaser(text).split("\n"))
        costs.append(recaser.pipeline.path_costs(text.encode()))
    far = np.abs(costs[0] - costs[1]) > TOLERANCE * np.abs(costs[1])
    return [
        f"fast    {costs[0][i]:.6f} {fast}\nopenfst {costs[1][i]:.6f} {slow}"
        for i, (fast, slow) in enumerate(zip(*casings, strict=True))
        if fast != slow or far[i]
    ]


@click.command(help=__doc__)
@click.argument("lm", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("corpus", nargs=-1, required=True)
@click.option("--lines", default=20_000, show_default=True, help="Total number of lines.")
@click.option("--jobs", default=2, show_default=True, help="Number of processes.")
@click.option("--quick", is_flag=True, help=f"Only {QUICK} lines.")
def main(lm: Path, corpus: tuple[str, ...], lines: int, jobs: int, quick: bool) -> None:
    taken = sample(find_files(corpus), QUICK if quick else lines)
    for sentence_case in (False, True):
        compare = partial(differences, lm, sentence_case)
        # Eight parts per process, because lines differ in length.
        parts = [tuple(taken[k :: 8 * jobs]) for k in range(8 * jobs)]
        with ProcessPoolExecutor(jobs) as pool:
            differing = [difference for part in pool.map(compare, parts) for difference in part]
        options = " with --sentence-case" if sentence_case else ""
        click.echo(f"{len(taken):,} lines, {sum(map(len, taken)):,} characters{options}: {len(differing)} differences")
        click.echo("\n".join(differing[:20]), nl=False)
        if differing:
            raise SystemExit(1)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
