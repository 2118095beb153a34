"""Notes on stderr about input that another command, option or model suits better.

A language is recognized by its most frequent words (`grammars/function_words.tsv`); a model knows it if it was trained
with its name, or if these words are frequent in the model.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from capfst import models
from capfst.cli.streams import note
from capfst.exceptions import CapfstError, CorpusError
from capfst.options import PUNCTUATION

if TYPE_CHECKING:
    from capfst.io.protocol import TextOptions
    from capfst.lm.query import LanguageModel
    from capfst.recaser import Recaser

_HEAD, _HEAD_LINES = 1 << 16, 11
"""Bytes and lines of a text that are searched for fields."""
_MIN_ROWS = 3
_FILES = 8  # of a batch, whose beginnings show its language
_ENOUGH = 1 << 15
"""Bytes of text that suffice, a few thousand words."""

# The fraction of words that are in the list of another language:
#
#     200 lines of English                  at most 0.7 %
#     200 lines in that language            4 to 29 %
#     French addresses                      3 %
#     lists of names                        up to 14 %, but at most 4 different words
#
# Of 13,826 single lines of English with five words or more, one has as many different words as `foreign_language`
# requires, and it is in French; of such lines in the languages of the model `multi`, 56 to 87 % do.
_LEAST_SHARE = 0.035
_SHORTEST = 5  # words
_TIMES = 2  # as many as of any language that the model knows
_KNOWN = 0.003  # sum of the unigram probabilities of the words; in models of other languages, at most a tenth of it

_words = re.compile(r"[^\W\d_]+").findall


def note_lack_of_context(recaser: Recaser, quiet: bool) -> None:
    """Print a note if the LM alone decides on case although a context model was wanted."""
    pipeline, options = recaser.pipeline, recaser.options
    restores_case = options.restore != PUNCTUATION[0]
    if restores_case and options.context and pipeline.context is None and pipeline.spellings is None:
        note(f"{recaser.model.path}: no context model, so only the LM decides", quiet)


def hint_at_language(blocks: Iterable[bytes], recaser: Recaser) -> Iterator[bytes]:
    """Yield the blocks; print a note if their beginning is in a language that the model does not know: before the first
    block, which may be a line that was typed, or once there is enough text."""
    beginning, is_open = b"", True
    for block in blocks:
        if is_open:
            is_first = not beginning
            beginning += block[: _ENOUGH - len(beginning)]
            is_open = len(beginning) < _ENOUGH
            if is_first or not is_open:
                is_open &= not note_foreign_language(beginning, recaser)
        yield block
    if is_open and beginning:
        note_foreign_language(beginning, recaser)


def note_foreign_language(text: bytes, recaser: Recaser) -> bool:
    """Print a note if the text is in a language that the model does not know; return whether it is."""
    language = foreign_language(text, recaser.pipeline.loaded.lm)
    if language:
        remedy = f"Train a model on {language.name} text with `capfst train`, or with `make lm` in a checkout"
        if known := model_of(language):
            remedy = f"Use --lm {known}"
        note(
            f"the text looks {language.name}, which the model {Path(recaser.model.path).stem} does not know, so the"
            f" case of many words will be wrong. {remedy}."
        )
    return language is not None


def beginning_of(files: Iterable[Path], options: TextOptions) -> bytes:
    """Return the first texts of the first few files that can be read."""
    from capfst.io.text_blocks import text_blocks

    text = b""
    for file in islice((file for file in files if file.is_file()), _FILES):
        with suppress(CapfstError):
            text += next(text_blocks([file], replace(options, errors="replace"), _ENOUGH // _FILES), b"")
    return text


def hint_at_batch(files: tuple[Path, ...], quiet: bool) -> bool:
    """Print a note if a file name ends like that of a file with columns; return whether one does."""
    from capfst.io.files import suffix_of

    for file in files:
        if file.is_dir():
            raise CorpusError(f"{file}: a folder, not a file. Recase the files of a folder with `capfst batch`.")
        suffix = suffix_of(file.name)
        if suffix == ".parquet":
            raise CorpusError(f"{file}: Parquet is not text. Recase a column of it with `capfst batch --column NAME`.")
        if suffix in (".csv", ".tsv"):
            note(f"{file}: recasing whole lines. To recase one column of {suffix} files, use `capfst batch`.", quiet)
            return True
    return False


def hint_at_layout(blocks: Iterator[bytes], fields: bool, wrapping: bool) -> Iterator[bytes]:
    """Yield the blocks; print a note if the first looks like JSON lines, TSV or CSV (`fields`), or has lines that are
    wrapped at a width (`wrapping`)."""
    for k, block in enumerate(blocks):
        if k == 0 and fields and (found := _fields(block[:_HEAD].split(b"\n")[:_HEAD_LINES])):
            part, suffix = found
            note(
                f"the text looks like {suffix}; recasing whole lines. To recase one {part} of {suffix} files, use"
                " `capfst batch`."
            )
        if k == 0 and wrapping and block.count(b"\n", 0, _HEAD) > _HEAD_LINES:
            from capfst.io.wrapped import wrapped_at

            if width := wrapped_at(block[: block.rfind(b"\n", 0, _HEAD)].decode()):
                note(f"the lines are wrapped at {width} characters. To recase paragraphs as one text, use --wrapped.")
        yield block


def _fields(lines: list[bytes]) -> tuple[str, str] | None:
    """Return (field or column, the suffix of such files) if the lines look so: a JSON array first, or at least three
    lines with the same number of tabs, or of commas without a space after them."""
    if lines[0].startswith(b'["'):
        return "field", ".jsonl"
    whole = lines[:-1]  # the last one may be cut off
    for delimiter, least, suffix in ((b"\t", 1, ".tsv"), (b",", 2, ".csv")):
        counts = {line.count(delimiter) for line in whole}
        spaced = any(delimiter + b" " in line for line in whole)
        if len(whole) >= _MIN_ROWS and len(counts) == 1 and min(counts) >= least and not spaced:
            return "column", suffix
    return None


class NaturalLanguage(NamedTuple):
    code: str  # BCP 47
    name: str
    words: tuple[str, ...]  # frequent ones, in lower case


@cache
def _languages() -> list[NaturalLanguage]:
    from capfst.text.facts import rows

    return [NaturalLanguage(code, name, tuple(words.split(" "))) for code, name, words in rows("function_words.tsv")]


def foreign_language(text: bytes, lm: LanguageModel) -> NaturalLanguage | None:
    """Return the language of the text (valid UTF-8), unless the model knows it, or it cannot be recognized."""
    counts = Counter(_words(text[:_ENOUGH].decode(errors="ignore").lower()))
    n = counts.total()
    shares = {each: sum(counts[word] for word in each.words) for each in _languages()}
    most = max(shares.values())
    if n < _SHORTEST or most < _LEAST_SHARE * n:
        return None
    found, *equals = (each for each, share in shares.items() if share == most)
    if equals:  # in a short text
        bundled = models.languages()
        found = next((each for each in (found, *equals) if each.code in bundled), found)
    if sum(word in counts for word in found.words) < min(5, 2 + n // 30) or _knows(lm, found):
        return None
    rivals = (each for each in shares if _TIMES * shares[each] > most and each is not found)
    return None if any(_knows(lm, each) for each in rivals) else found


def _knows(lm: LanguageModel, language: NaturalLanguage) -> bool:
    if language.code in lm.model.symbols.language.names:
        return True
    costs, labels = lm.model.arcs["weight"], map(lm.label, language.words)
    return any(
        total >= _KNOWN
        for total in accumulate(math.exp(-float(costs[label - 1])) for label in labels if label != lm.unknown)
    )


def model_of(language: NaturalLanguage) -> str | None:
    """Return the name of a bundled model that knows a language, or the model in CAPFST_LM if it does; or None."""
    if language.code in models.languages():
        return language.code
    from capfst.lm.query import LanguageModel

    for name in filter(None, (*models.names(), os.environ.get(models.VARIABLE))):
        with suppress(CapfstError):
            if _knows(LanguageModel(models.open(name)), language):
                return name
    return None
