"""The bundled models on golden.tsv: by kind, most lines come out right, so that no rule is tuned to a line."""

from collections import Counter
from functools import cache
from pathlib import Path

import capfst

LINES = [
    line.split("\t")
    for line in Path(__file__).with_name("golden.tsv").read_text("utf-8").splitlines()
    if line[0] != "#"
]
LEAST, LEAST_OF_KIND = 0.8, 0.65


def recased(options: str, text: str) -> str:
    """Recase a line with these options of `capfst recase`, or with `--before`."""
    given = options.split()
    value = dict(zip(given, [*given[1:], ""], strict=True))
    recaser = loaded(value.get("--lm"), sentence_case="--sentence-case" in value, only=value.get("--only"))
    before, _, text = text.rpartition("|") if "--before" in value else ("", "", text)
    return recaser(text, before=before)


loaded = cache(capfst.load)


def test_most_lines_are_right() -> None:
    wrong = [(kind, found, right) for kind, options, text, right in LINES if (found := recased(options, text)) != right]
    n, n_wrong = Counter(line[0] for line in LINES), Counter(kind for kind, *_ in wrong)
    assert len(wrong) <= (1 - LEAST) * len(LINES), wrong
    assert all(n_wrong[kind] <= (1 - LEAST_OF_KIND) * n[kind] for kind in n), wrong
