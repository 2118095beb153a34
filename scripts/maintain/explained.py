"""Explain twenty lines with the bundled model of English: why a word in each is right or wrong.

    \b
    python scripts/maintain/explained.py

Writes the tables `right` and `wrong` of docs/explain.md. Run it again when the model has changed: tests/test_docs.py
compares the tables.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # for helpers
from helpers.markdown import fill, table

import capfst

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
LINES = """
    let us meet at the *Who* concert
    are you in it for the *IT* job
    the AP reported that the *WHO* warned of Covid
    she speaks French and eats *French* fries
    Mr *Green* painted the door green
    the march to Selma began in *March*
    the bill that *Bill* signed
    a bank in the *City* of London
    the *bank* of the river flooded
    *US* troops told us to leave
    the *Who* played in the US
    the US Open was won by *us*
    the *apple* in my bag is from Apple
    my aunt *Joy* found joy in her garden
    he moved to *Reading* because he likes reading
    we drove our Ford across the *ford*
    *polish* your shoes before the Polish ambassador comes
    a *frank* talk with Frank
    *May* asked if she may leave in May
    they named him general *manager* of General Motors
"""
"""With the correct case; the word between asterisks is explained."""


def write(page: Path) -> None:
    """Replace the tables of a page."""
    recaser = capfst.load("en")
    rows: dict[str, list[list[str]]] = {"right": [], "wrong": []}
    for line in LINES.split("\n")[1:-1]:
        kind, row = explained(recaser, line.strip())
        rows[kind].append(row)
    for kind, those in rows.items():
        head = ["line", "and not", "strongest reasons of the context", "LM", "context"]
        fill(page, kind, table(head, those, texts=3))


def explained(recaser: capfst.Recaser, line: str) -> tuple[str, list[str]]:
    """Return whether the marked word is `right` or `wrong`, and a row: what speaks for its casing against the correct
    one, or, if it is right, against the next best."""
    before, correct, after = line.split("*")
    explanation = recaser.explain((before + correct + after).lower())
    (word,) = (word for word in explanation.words if word.start == len(before))
    best = word.forms[0].text
    other = next(form for form in word.forms[1:] if best == correct or form.text == correct)
    reasons = sorted(other.reasons, key=lambda reason: -abs(reason.cost))[:2]
    text = explanation.text
    return "right" if best == correct else "wrong", [
        f"{text[: word.start]}**{best}**{text[word.end :]}",
        other.text,
        ", ".join(re.sub('"(.*?)"', r"*\1*", reason.text) + f" {reason.cost:+.1f}" for reason in reasons),
        *(f"{round(other.differences[part], 1) + 0.0:+.1f}" for part in ("lm", "context")),
    ]


@click.command(help=__doc__)
def main() -> None:
    write(PAGE)


if __name__ == "__main__":
    main()
