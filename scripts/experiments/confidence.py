"""Compare the log-odds of `--confidence` with how often changed words are right.

    \b
    python scripts/experiments/confidence.py wikitext2_valid.txt ewt_dev.txt [--lm multi] [--no-context]

A text has one sentence per line; lines are lowercased and recased with `--sentence-case`. Each cell has the percentage
of words that are right, among those whose probability (from their log-odds) is in this range, and their number.
*best*: the divisor of the log-odds with the highest likelihood.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from helpers.corpora import QUICK, read_lines, texts_options
from helpers.markdown import table

import capfst
from capfst import Recaser
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower

LIMITS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
DIVISORS = np.exp(np.linspace(-1.5, 1.5, 121))


def changed(recaser: Recaser, lines: list[str]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the log-odds of all changed words that have another casing, and whether the words are right."""
    log_odds, right = [], []
    for line in lines:
        lowered = lower(line, recaser.model.symbols.language.lowering)
        if len(lowered) != len(line):
            continue
        for change in recaser.confidence(lowered).changes:
            if change.log_odds < math.inf:
                log_odds.append(change.log_odds)
                right.append(change.word == line[change.start : change.end])
    return np.array(log_odds), np.array(right, np.bool_)


def best_divisor(log_odds: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> float:
    costs = [np.logaddexp(0, np.where(right, -log_odds, log_odds) / divisor).sum() for divisor in DIVISORS]
    return float(DIVISORS[np.argmin(costs)])


@click.command(help=__doc__)
@texts_options
@click.option("--no-context", is_flag=True, help="With the LM alone.")
def main(texts: tuple[Path, ...], lm: str, no_context: bool, quick: bool) -> None:
    recaser = capfst.load(lm, sentence_case=True, **({"context": False} if no_context else {}))
    ranges = list(pairwise(LIMITS))
    rows = []
    for text in texts:
        log_odds, right = changed(recaser, read_lines(text, most=QUICK if quick else None))
        said = 1 / (1 + np.exp(-log_odds))
        cells = []
        for least, below in ranges:
            inside = right[(said >= least) & ((said < below) | (below == 1))]
            cells.append(f"{100 * inside.mean():.1f} ({inside.size:,})" if inside.size else "–")
        rows.append([text.name.partition(".")[0], *cells, f"{best_divisor(log_odds, right):.2f}"])
    heads = [f"{100 * least:.0f} to {100 * below:.0f} %" for least, below in ranges]
    print(table(["text", *heads, "best"], rows))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
