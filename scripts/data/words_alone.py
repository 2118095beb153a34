"""Rewrite half of an edited text as words alone, as recognizers write speech, as training text for their output.

    \b
    python scripts/data/words_alone.py news.txt.zst web.txt.zst -o mixed
    capfst train mixed -o cap.fst

FILES are cased text, one sentence per line; only lines that `capfst train` keeps are used. The folder gets two files
per input: one half of the sentences unchanged, and the other half as words alone, in lines of several sentences and
about a hundred words, without punctuation. Numbers are written in words, abbreviations with periods as letters,
hyphenated words as parts, and fillers are inserted ("In 1999, the U.S. …" → "in nineteen ninety nine uh the U S"). The
first word of a sentence gets the case that it has between lowercase words. Each line begins with a capital and ends in
a period, so that `train` accepts it.

No sentence is written both ways: words that occur once represent unseen words in training, so they must stay unique.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click

from capfst.cli.exit_status import exit_status
from capfst.corpus.filters import clean
from capfst.io.blocks import read_blocks
from capfst.io.outputs import make_folder
from capfst.system.atomic import replacing

FILE = click.Path(path_type=Path)
LINE = 100
"""Least number of words per line; a line ends with a sentence."""
FILLERS = "uh", "um"
FILLED = 40
"""A filler is inserted before one word in this many."""

_ENDS = re.compile(r"^[^\w$£€&%]+|[^\w&%]+$")
"""Marks around a word that are not part of it."""
_CLITIC = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m))$", re.IGNORECASE)
_LETTERS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$")
_JOINS = re.compile(r"[-–—/]+")
_OPENS = "\"“`'‘«"

_SMALL = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_LARGE = (10**9, "billion"), (10**6, "million"), (10**3, "thousand"), (100, "hundred")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_NUMBER = re.compile(r"([$£€])?(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d+)?(st|nd|rd|th|s|%)?$")
_CURRENCIES = {"$": "dollars", "£": "pounds", "€": "euros"}


class Word(NamedTuple):
    text: str
    first: bool  # whether its case may be that of its position


def say(number: int) -> str:
    """Write a number in words."""
    if number < len(_SMALL):
        return _SMALL[number]
    if number < 100:
        rest = f" {_SMALL[number % 10]}" if number % 10 else ""
        return _TENS[number // 10 - 2] + rest
    size, name = next(pair for pair in _LARGE if pair[0] <= number)
    return " ".join([say(number // size), name, *([say(number % size)] if number % size else [])])


def say_year(number: int) -> str:
    """Write a number of four digits in words: years by their hundreds, except 2000 to 2009."""
    hundreds, rest = divmod(number, 100)
    if not 11 <= hundreds <= 20 or 2000 <= number < 2010:
        return say(number)
    return f"{say(hundreds)} {'hundred' if rest == 0 else f'oh {say(rest)}' if rest < 10 else say(rest)}"


def said(token: str) -> str:
    """Write a number in words, as it is spoken; return other tokens unchanged."""
    if (found := _NUMBER.match(token)) is None:
        return token
    currency, digits, fraction, ending = found.groups()
    number = int(digits.replace(",", ""))
    words = (say_year if len(digits) == 4 and not fraction and not currency else say)(number)
    if ending in ("st", "nd", "rd", "th"):
        *others, last = words.split()
        last = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
        return " ".join([*others, last])
    if ending == "s":
        words = f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"
    if fraction:
        words = " ".join([words, "point", *(_SMALL[int(digit)] for digit in fraction[1:])])
    return " ".join([words, *(["percent"] if ending == "%" else []), *([_CURRENCIES[currency]] if currency else [])])


def split(sentence: str) -> list[Word]:
    """Split a sentence, which may be tokenized (`did n't`), into words as they are spoken.

    A word after a colon or an opening quote may also have the case of a first word.
    """
    words: list[Word] = []
    first = True
    for token in sentence.replace("’", "'").split():
        if token.isalpha():
            words.append(Word(token, first))
            first = False
        elif words and _CLITIC.match(token):
            words[-1] = Word(words[-1].text + token, words[-1].first)
        elif text := _ENDS.sub("", token):
            if _LETTERS.match(text):
                text = text.replace(".", " ")
            parts = _JOINS.sub(" ", said(text).replace("&", " and ").replace("%", " percent")).split()
            parts = [part for each in parts for part in said(each).split()]
            words += [Word(part, k == 0 and (first or token[0] in _OPENS)) for k, part in enumerate(parts)]
            first = token.endswith(":")
        else:
            first |= token[-1] in '"“`‘«:'
    return words


class Cases:
    """The case of words where it does not depend on their position."""

    def __init__(self, sentences: Iterable[list[Word]]) -> None:
        self._inside: Counter[str] = Counter()
        self._alone: Counter[str] = Counter()  # between lowercase words, so outside titles and quotes
        for words in sentences:
            for k in range(1, len(words)):
                if not words[k].first:
                    self._inside[words[k].text] += 1
                    if words[k - 1].text.islower() and k + 1 < len(words) and words[k + 1].text.islower():
                        self._alone[words[k].text] += 1

    def intrinsic(self, word: Word) -> str:
        """Return the word without its positional capital if it occurs at least as often without it."""
        lowered = word.text[0].lower() + word.text[1:]
        if not word.first or lowered != lowered.lower() or word.text.split("'")[0] == "I":
            return word.text
        counts = next((c for c in (self._alone, self._inside) if c[lowered] + c[word.text]), Counter[str]())
        return lowered if counts[lowered] >= max(1, counts[word.text]) else word.text


def sentences(file: Path) -> Iterator[str]:
    """Yield the lines of a file that `capfst train` keeps."""
    for block in read_blocks([file]):
        yield from clean(block)[0].decode().splitlines()


def lines(sentences: Iterable[list[Word]], cases: Cases) -> Iterator[str]:
    """Yield the words of sentences, in lines."""
    line: list[str] = []
    for words in sentences:
        for word in words:
            position = zlib.crc32(f"{word.text} {len(line)}".encode())
            if position % FILLED == 0:
                line.append(FILLERS[position // FILLED % len(FILLERS)])
            line.append(cases.intrinsic(word))
        if len(line) >= LINE:
            yield _as_sentence(line)
            line = []
    if line:
        yield _as_sentence(line)


def _as_sentence(words: list[str]) -> str:
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}."


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", required=True, type=FILE, help="Folder to write to.")
def main(files: tuple[Path, ...], output: Path) -> None:
    cases = Cases(split(each) for file in files for each in islice(sentences(file), 1, None, 2))
    make_folder(output)
    for file in files:
        name = file.name.partition(".")[0]
        words = map(split, islice(sentences(file), 1, None, 2))
        for path, text in (
            (output / f"{name}.txt", islice(sentences(file), 0, None, 2)),
            (output / f"{name}-words.txt", lines(words, cases)),
        ):
            with replacing(path) as out:
                out.writelines(f"{line}\n".encode() for line in text)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
