"""Read word lists: cased words and names, one per line, that supplement a corpus.

Input: files such as dictionaries and gazetteers, and the language of each, named as for a corpus (languages.py).
Output: the streams of their words (intern.py), which build_vocabulary turns into labels. Names of several words are
learned as separate sentences; single words have no context to learn from.

A list whose lines end in a tab and a number, how often the entry occurs, is only evidence on the case of words
(context/train.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.corpus.intern import BREAKS, COMPOUND_BIT, COMPOUNDS, LINE_ENDS, Interner
from capfst.corpus.languages import find_corpus
from capfst.exceptions import CorpusError
from capfst.io.blocks import Hash, read_blocks
from capfst.options import Errors
from capfst.text.language import DEFAULT, Language

_MOST = 10**12  # occurrences of a word
_COMPOUND = 2  # occurrences of a hyphenated word per entry: enough to keep it whole (vocabulary.COMPOUND_COUNT)


class ListStream(NamedTuple):
    """A word list."""

    language: int  # its index
    stream: npt.NDArray[np.uint32]
    occurrences: npt.NDArray[np.int64] | None  # of each line, if the list has them


class WordLists(NamedTuple):
    """Word lists as streams of an interner's ids."""

    interner: Interner
    streams: list[ListStream]


def read_word_lists(
    names: Sequence[str | os.PathLike[str]],
    languages: Sequence[str],
    hash: Hash,
    errors: Errors = "strict",
    pretokenized: bool = False,
    rules: Language = DEFAULT,
) -> WordLists:
    """Read the words of files, folders or glob patterns, each in one of `languages`, if there are any.

    hash: is updated with the bytes of the lists.

    Raises:
        CapfstError: as read_blocks and find_corpus; a list in a language that the corpus lacks.
    """
    files, of_files = find_corpus([os.fspath(name) for name in names])
    if bool(of_files) != bool(languages):
        raise CorpusError(
            f"{files[0]}: no language, but the corpus has languages. Name it, as in {languages[0]}={files[0]}."
            if languages
            else f"{files[0]}: has the language {of_files[0]}, but the corpus has none. Leave out the language."
        )
    lists = WordLists(Interner(rules), [])
    for file, language in zip(files, of_files or [""] * len(files), strict=True):
        if language and language not in languages:
            raise CorpusError(f"{file}: the corpus has no text in its language, {language}. Leave it out, or add some.")
        number = sorted(set(languages)).index(language) if language else 0
        if text := b"".join(read_blocks([file], errors="refuse" if errors == "strict" else errors, hash=hash)):
            entries, occurrences = _parted(text, file)
            stream = _unbroken(lists.interner.block(entries, pretokenized))
            lists.streams.append(ListStream(number, stream, occurrences))
    counts = lists.interner.counts
    counts[:, COMPOUNDS] *= _COMPOUND
    counts[:, LINE_ENDS] = counts[:, BREAKS] = 0  # the lines are not sentences
    return lists


def _parted(text: bytes, file: Path) -> tuple[bytes, npt.NDArray[np.int64] | None]:
    """Return the entries of a list, and how often each occurs; None if the list does not tell.

    Raises:
        CorpusError: a line has no whole number after a tab, or one that is out of range.
    """
    if b"\t" not in text:
        return text, None
    entries, numbers = [], []
    for at, line in enumerate(text.splitlines(), 1):
        if line.strip():
            entry, _, number = line.rpartition(b"\t")
            if not re.fullmatch(rb" *[0-9]{1,13} *", number) or int(number) > _MOST:
                advice = "Write how often each entry occurs, or no tabs."
                raise CorpusError(f"{file}, line {at}: no whole number from 0 to {_MOST:,} after a tab. {advice}")
            numbers.append(int(number))
            entries.append(entry + b"\n")
    return b"".join(entries), np.array(numbers, np.int64)


def _unbroken(stream: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Remove the positions where a sentence may begin from a stream: none does in `St. Louis`."""
    positions = np.flatnonzero((stream[:-1] & COMPOUND_BIT != 0) & (stream[1:] == 0))
    return np.delete(stream, [positions, positions + 1])
