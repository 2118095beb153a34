"""Measure what the case of the input is worth: F1 of texts with noise in their case, by `--input-case`.

    \b
    python scripts/experiments/input_case.py wikitext2_valid.txt ewt_dev.txt

A text has one sentence per line. In each row the case of its words is changed in another way, at random where a
percentage is given. F1 is with `--sentence-case`, except in the text as it is: there the accuracy without it is added.
The last column is the number of lines of the output of `evidence` that change if it is recased again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import click
from helpers.corpora import QUICK, read_lines, texts_options
from helpers.markdown import table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower

USES = ("ignore", "keep", "evidence")

Change = Callable[[str], str]


def capitals(text: str) -> str:
    """Return the text in capitals; letters whose capitals have another lowercase (ß) stay."""
    return "".join(c.upper() if lower(c.upper()) == lower(c) else c for c in text)


def capitalized(word: str) -> str:
    """Return the word with its first letter in upper case."""
    first = next((i for i, c in enumerate(word) if c.isalpha()), 0)
    return word[:first] + capitals(word[first : first + 1]) + word[first + 1 :]


def missing(rate: float, chance: random.Random) -> Change:
    """Return a change that puts this fraction of the words with capitals in lower case."""
    return lambda word: lower(word) if word != lower(word) and chance.random() < rate else word


def excess(rate: float, chance: random.Random) -> Change:
    """Return a change that capitalizes this fraction of the words in lower case."""
    return lambda word: capitalized(word) if word == lower(word) and chance.random() < rate else word


def both(rate: float, more: float, chance: random.Random) -> Change:
    loses, gains = missing(rate, chance), excess(more, chance)
    return lambda word: loses(word) if word != lower(word) else gains(word)


def changes(seed: int) -> dict[str, Change]:
    """Return the kinds of noise, by their names in the table."""
    chance = random.Random(seed)
    return {
        "as it is": lambda word: word,
        "10 % of capitals missing": missing(0.1, chance),
        "30 % of capitals missing": missing(0.3, chance),
        "60 % of capitals missing": missing(0.6, chance),
        "5 % of lower-case words capitalized": excess(0.05, chance),
        "30 % missing, 2 % capitalized": both(0.3, 0.02, chance),
        "Title Case": capitalized,
        "Title Case, also of acronyms": lambda word: capitalized(lower(word)),
        "capitals": capitals,
        "lower case": lower,
    }


@click.command(help=__doc__)
@texts_options
@click.option("--seed", default=7, show_default=True, help="Seed of the random numbers.")
def main(texts: tuple[Path, ...], lm: str, seed: int, quick: bool) -> None:
    recaser = capfst.load(lm)
    rows = []
    for text in texts:
        lines = read_lines(text, most=QUICK if quick else None)
        for name, change in changes(seed).items():
            noisy = [" ".join(map(change, line.split(" "))) for line in lines]
            cells = [f"{capfst.score(references=lines, hypotheses=noisy).f1 or 0:.2f}"]
            for use in USES:
                recased = recaser("\n".join(noisy), input_case=use, sentence_case=True).split("\n")
                cells.append(f"{capfst.score(references=lines, hypotheses=recased).f1:.2f}")
            again = recaser("\n".join(recased), input_case="evidence", sentence_case=True).split("\n")
            changed = sum(map(str.__ne__, recased, again))
            if name == "as it is":
                plain = recaser("\n".join(noisy), input_case="evidence").split("\n")
                cells[-1] += f" ({capfst.score(references=lines, hypotheses=plain).accuracy:.2f} % of words)"
            rows.append([text.name.partition(".")[0], name, *cells, str(changed)])
    print(table(["text", "case of the input", "input", *(f"`{use}`" for use in USES), "changed again"], rows))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
