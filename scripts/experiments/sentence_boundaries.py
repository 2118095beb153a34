"""Measure how well sentence boundaries inside lines are detected, on texts with one sentence per line and with three.

    \b
    python scripts/experiments/sentence_boundaries.py wikitext2_valid.txt ewt_dev.txt [--lm cap.fst]

For each text, prints the F1 of its lines and of the joined lines, both recased as sentences (`--sentence-case`), and
precision and recall of the boundaries that are detected between joined lines. *marked* joins only detectable sentences:
a line is joined to one that ends in `.`, `?`, `!` or `…`, possibly with closing quotes and brackets. Boundaries inside
an original line, where a capital follows a mark, do not count.
"""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

import click
from helpers.corpora import QUICK, read_lines, texts_options
from helpers.markdown import table

import capfst
from capfst import Recaser
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower

TOGETHER = 3
END = r"[.?!…][\"'”’)\]\s]*"
MARKED, INSIDE = re.compile(END + "$"), re.compile(END + r"\s(?=[\"'“‘(\[\s]*[A-Z])")


def joined(lines: list[str], marked: bool) -> list[list[str]]:
    """Group consecutive lines, at most three per group; if `marked`, only after lines that end in a mark."""
    groups: list[list[str]] = []
    for line in lines:
        if groups and len(groups[-1]) < TOGETHER and (not marked or MARKED.search(groups[-1][-1])):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def precision_and_recall(recaser: Recaser, groups: list[list[str]]) -> tuple[float, float]:
    """Return precision and recall, in percent, of the boundaries between the lines of each group."""
    n_found = n_right = n_wanted = 0
    for group in groups:
        begins = [0, *accumulate(len(line) + 1 for line in group[:-1])]
        wanted = set(begins[1:])
        inside = {
            begin + match.end() for begin, line in zip(begins, group, strict=True) for match in INSIDE.finditer(line)
        }
        found = set(accumulate(map(len, recaser.sentences(lower(" ".join(group)))[:-1])))
        n_found += len(found - inside)
        n_right += len(found & wanted)
        n_wanted += len(wanted)
    return 100 * n_right / max(1, n_found), 100 * n_right / max(1, n_wanted)


@click.command(help=__doc__)
@texts_options
def main(texts: tuple[Path, ...], lm: str, quick: bool) -> None:
    recaser, of_one = capfst.load(lm, sentence_case=True), capfst.load(lm, sentence_case=True, breaks=False)
    rows = []
    for text in texts:
        lines = read_lines(text, most=QUICK if quick else None)
        for name, groups in (
            ("as they are", [[line] for line in lines]),
            ("three in one", joined(lines, False)),
            ("three in one, marked", joined(lines, True)),
        ):
            reference = [" ".join(group) for group in groups]
            lowered = [lower(line) for line in reference]
            f1 = [capfst.score(references=reference, hypotheses=r(lowered)).f1 for r in (recaser, of_one)]
            found = precision_and_recall(recaser, groups) if len(groups) < len(lines) else ()
            cells = [f"{value:.2f}" for value in (*f1, *found)] + [""] * (2 - len(found))
            rows.append([text.name.partition(".")[0], name, *cells])
    print(table(["text", "lines", "F1", "F1, `--no-breaks`", "precision", "recall"], rows, texts=2))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
