"""Notice text in a language that a model has not learned.

In: the beginning of a text, and a model. Out: the language that most of the text is in, if the model does not know it;
and a model that does. A language is recognized by its most frequent words (`grammars/function_words.tsv`); a model
knows it if it was trained with its name, or if these words are frequent in the model.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

from capfst import models
from capfst.exceptions import CapfstError
from capfst.lm.query import LanguageModel
from capfst.text.facts import rows

ENOUGH = 1 << 15
"""Bytes of text that suffice, a few thousand words."""

# The fraction of words that are in the list of another language:
#
#     200 lines of English                  at most 0.7 %
#     200 lines in that language            4 to 29 %
#     French addresses                      3 %
#     lists of names                        up to 14 %, but at most 4 different words
#
# Of 13,826 single lines of English with five words or more, one has as many different words as `_least_words` requires,
# and it is in French; of such lines in the languages of the model `multi`, 56 to 87 % do.
_LEAST_SHARE = 0.035
_SHORTEST = 5  # words
_TIMES = 2  # as many as of any language that the model knows
_KNOWN = 0.003  # sum of the unigram probabilities of the words; in models of other languages, at most a tenth of it

_words = re.compile(r"[^\W\d_]+").findall


class NaturalLanguage(NamedTuple):
    code: str  # BCP 47
    name: str
    words: tuple[str, ...]  # frequent ones, in lower case


@cache
def _languages() -> list[NaturalLanguage]:
    return [NaturalLanguage(code, name, tuple(words.split(" "))) for code, name, words in rows("function_words.tsv")]


def foreign_language(text: bytes, lm: LanguageModel) -> NaturalLanguage | None:
    """Return the language of the text (valid UTF-8), unless the model knows it, or it cannot be recognized."""
    counts = Counter(_words(text[:ENOUGH].decode(errors="ignore").lower()))
    n = counts.total()
    shares = {each: sum(counts[word] for word in each.words) for each in _languages()}
    most = max(shares.values())
    if n < _SHORTEST or most < _LEAST_SHARE * n:
        return None
    found, *equals = (each for each, share in shares.items() if share == most)
    if equals:  # in a short text
        bundled = models.languages()
        found = next((each for each in (found, *equals) if each.code in bundled), found)
    if sum(word in counts for word in found.words) < _least_words(n) or _knows(lm, found):
        return None
    rivals = (each for each in shares if _TIMES * shares[each] > most and each is not found)
    return None if any(_knows(lm, each) for each in rivals) else found


def _least_words(n: int) -> int:
    return min(5, 2 + n // 30)


def _knows(lm: LanguageModel, language: NaturalLanguage) -> bool:
    if language.code in lm.model.signature.lowercasing.partition("/")[0].split("+"):
        return True
    costs = lm.model.arcs["weight"]
    total = 0.0
    for word in language.words:
        label = lm.label(word)
        total += math.exp(-float(costs[label - 1])) if label != lm.unknown else 0.0
        if total >= _KNOWN:
            return True
    return False


def model_of(language: NaturalLanguage) -> str | None:
    """Return the name of a bundled model that knows a language, or the model in CAPFST_LM if it does; or None."""
    if language.code in models.languages():
        return language.code
    for name in (*models.names(), os.environ.get(models.VARIABLE)):
        if name and _opens(name, language):
            return name
    return None


def _opens(name: str, language: NaturalLanguage) -> bool:
    try:
        return _knows(LanguageModel(models.open(name)), language)
    except CapfstError:
        return False


def advice(path: str | os.PathLike[str], language: NaturalLanguage) -> str:
    """Return the note on text in a language that the model in this file does not know."""
    known = model_of(language)
    remedy = (
        f"Use --lm {known}"
        if known
        else f"Train a model on {language.name} text with `capfst train`, or with `make lm` in a checkout"
    )
    return (
        f"the text looks {language.name}, which the model {Path(path).stem} does not know, so the case of many words"
        f" will be wrong. {remedy}."
    )
