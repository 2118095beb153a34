"""Word lists: words and names in their case, one a line, which tell what the text of a corpus lacks.

In: files such as dictionaries and gazetteers, and the language of each, named as a corpus's are (languages.py). Out:
the streams of their words (intern.py), of which build_vocabulary makes labels. Names of several words are learned as
sentences of their own; single words have no context to learn from.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.corpus.intern import BREAKS, COMPOUND_BIT, COMPOUNDS, LINE_ENDS, Interner
from capfst.corpus.languages import find_corpus
from capfst.exceptions import CapfstError
from capfst.io.blocks import Errors, Hash, read_blocks
from capfst.text.language import DEFAULT, Language

_OF_ITS_OWN = 2  # a hyphenated word in a list is a word of its own, as if a corpus had it so often


class WordLists(NamedTuple):
    """Word lists as streams of an interner's ids."""

    interner: Interner
    streams: list[tuple[int, npt.NDArray[np.uint32]]]  # the number of its language, a stream


def read_word_lists(
    names: Sequence[str | os.PathLike[str]],
    languages: Sequence[str],
    hash: Hash,
    errors: Errors = "strict",
    pretokenized: bool = False,
    rules: Language = DEFAULT,
) -> WordLists:
    """The words of files, folders or glob patterns, each of one of the languages, or of none if there are none.

    hash: is updated with what is read.

    Raises:
        CapfstError: as read_blocks and find_corpus; a list whose language the corpus has not.
    """
    files, of_files = find_corpus([os.fspath(name) for name in names])
    if bool(of_files) != bool(languages):
        raise CapfstError(
            f"{files[0]}: name its language, as in {languages[0]}={files[0]}: those of the corpus were named"
            if languages
            else f"{files[0]}: leave out its language, {of_files[0]}: those of the corpus were not named"
        )
    lists = WordLists(Interner(rules), [])
    for file, language in zip(files, of_files or [""] * len(files), strict=True):
        if language and language not in languages:
            raise CapfstError(f"{file}: the corpus has no text in its language, {language}: leave it out, or add some")
        number = sorted(set(languages)).index(language) if language else 0
        for block in read_blocks([file], errors=errors, hash=hash):
            lists.streams.append((number, _unbroken(lists.interner.block(block, pretokenized))))
    counts = lists.interner.counts
    counts[:, COMPOUNDS] *= _OF_ITS_OWN
    counts[:, LINE_ENDS] = counts[:, BREAKS] = 0  # its lines are no sentences
    return lists


def _unbroken(stream: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The stream without the places where a sentence may begin: in `St. Louis` none does."""
    places = np.flatnonzero((stream[:-1] & COMPOUND_BIT != 0) & (stream[1:] == 0))
    return np.delete(stream, [places, places + 1])
