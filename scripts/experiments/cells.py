"""Measure how many cells of tables get the right case, without and with `--cells`.

    \b
    python scripts/experiments/cells.py people.txt cities.txt companies.txt words.txt

A list has a cell per line, in its right case: a name, or, as `--cells` must not capitalize everything, a common noun.
Its cells are recased from capitals and from lower case. The last row is one column with the cells of all lists, in an
order that is drawn at random. A cell is right if all of its characters are.
"""

from __future__ import annotations

import random
from pathlib import Path

import click
from helpers.corpora import QUICK, read_lines, texts_options
from helpers.markdown import table
from input_case import capitals

import capfst
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower


@click.command(help=__doc__)
@texts_options
@click.option("--seed", default=7, show_default=True, help="Seed of the random numbers.")
def main(texts: tuple[Path, ...], lm: str, seed: int, quick: bool) -> None:
    recaser = capfst.load(lm)
    columns = {}
    for path in texts:
        lines = read_lines(path, most=QUICK if quick else None)
        columns[path.name.partition(".")[0]] = [line for line in lines if line.strip()]
    mixed = [cell for column in columns.values() for cell in column]
    random.Random(seed).shuffle(mixed)
    columns["all, mixed"] = mixed
    rows = []
    for name, cells in columns.items():
        rows.append([name, f"{len(cells):,}"])
        for change in (capitals, lower):
            for shares in (False, True):
                recased = recaser([change(cell) for cell in cells], cells=shares)
                right = sum(map(str.__eq__, cells, recased))
                rows[-1].append(f"{100 * right / max(1, len(cells)):.1f}")
    inputs = [f"{case}{option}" for case in ("capitals", "lower case") for option in ("", ", `--cells`")]
    print(table(["list", "cells", *inputs], rows))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
