"""Translate text with a system that fails on capitals and Title Case: recase before it, and restore the pattern after.

In: texts, and a function that translates str. Each line is cut into sentences, which are in capitals, in Title Case,
in lower case or in sentence case. All but the last are recased before they are translated. Out: the translations, in
capitals or in Title Case where the text was. White space and line ends stay.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from functools import partial
from itertools import chain, compress, islice, pairwise
from typing import NamedTuple, TypeVar, overload
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.casing.written import HAS_SMALL, SHAPE, written_shapes
from capfst.exceptions import OptionError
from capfst.pipeline import Pipeline
from capfst.recaser import Recaser, load
from capfst.system.parallel import as_they_come
from capfst.text.facts import small_in_titles
from capfst.text.language import Language, rules_for
from capfst.text.tokenizer import WORD, tokenize
from capfst.text.utf8 import decoded, encoded

Translate = Callable[[list[str]], Sequence[str]]
Texts = TypeVar("Texts", str, list[str])
Offsets = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_SENTENCE_CASE = {"sentence_case": True, "only": None, "input_case": "ignore"}
_APOSTROPHES = (ord("'"), "’".encode()[-1])  # their last bytes
_LONG = 4  # letters of a single word in capitals that is no abbreviation
_TITLE = 4  # words of a title
_code = re.compile(r"([a-z]{2,3})(?:[-_]\w+)*", re.IGNORECASE).fullmatch
_greek = re.compile("[Ͱ-Ͽ]").search
_before_vowel = re.compile("\u0301([ιυ])(?!\u0308)").sub
_has_words = re.compile(rb"[^\s!-/:-@\[-`{-~]").search
_ends_clause = re.compile(rb"[.:?!][^\w\s]*\s+[^\w\s]*\Z").search


class _Pattern(Enum):
    """How a sentence is written."""

    SENTENCE = auto()
    LOWER = auto()
    TITLE = auto()
    EVERY_WORD = auto()  # Title Case, small words too
    CAPITALS = auto()


class _Sentence(NamedTuple):
    """A sentence, and the white space around it."""

    before: str
    text: str
    after: str
    pattern: _Pattern


class _Target(NamedTuple):
    """The language of the translations."""

    language: Language
    small: frozenset[str]  # words in Title Case
    patterns: frozenset[_Pattern]  # that are restored


@overload
def translate_cased(  # type: ignore[overload-overlap]
    translate: Translate,
    texts: Texts,
    recaser: Recaser | None = None,
    *,
    target: str | None = None,
    titles: bool = True,
    batch_size: int = 32,
) -> Texts: ...


@overload
def translate_cased(
    translate: Translate,
    texts: Iterable[str],
    recaser: Recaser | None = None,
    *,
    target: str | None = None,
    titles: bool = True,
    batch_size: int = 32,
) -> Iterator[str]: ...


def translate_cased(
    translate: Translate,
    texts: str | Iterable[str],
    recaser: Recaser | None = None,
    *,
    target: str | None = None,
    titles: bool = True,
    batch_size: int = 32,
) -> str | list[str] | Iterator[str]:
    """Translate texts in capitals, Title Case or lower case as if they were in sentence case.

    Capitals and Title Case are restored in the translation, sentence by sentence. Sentences in sentence case are
    translated as they are. Those in lower case keep the case of their translation.

    Args:
        translate: translates a list of str to as many str. It gets sentences without white space around them; those
            without letters and digits are not translated.
        texts: one text, a list of texts, or any other iterable of them, for which an iterator is returned. A thread of
            its own reads it, at most `batch_size` texts ahead; texts that have arrived are translated together.
        recaser: of the texts' language; by default, that of `capfst.load`.
        target: code of the translations' language, such as tr or pt-BR, for its capitals, and the words that are small
            in its titles. None: Unicode's capitals, and titles as in English.
        titles: whether Title Case is restored. Many languages have no such titles.
        batch_size: the most str that `translate` gets at once.

    Raises:
        TypeError: a text, or what `translate` returns, is not a str; or `recaser` is not a Recaser.
        OptionError: an argument that is not supported, or `translate` does not return one str for each.
    """
    if not isinstance(batch_size, int) or batch_size < 1:
        raise OptionError(f"`batch_size` is {batch_size!r}. Use an integer, 1 or more.")
    into, of = _target(target, titles), load() if recaser is None else recaser
    if not isinstance(of, Recaser):
        raise TypeError(f"`recaser` must be a Recaser, not {of!r}. Use capfst.load.")
    batch = partial(_translated, translate, of, into, batch_size)
    if isinstance(texts, str):
        return batch([texts])[0]
    if isinstance(texts, (bytes, bytearray)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts are a str or an iterable of str, not {type(texts).__name__}.")
    if isinstance(texts, list):
        return [text for k in range(0, len(texts), batch_size) for text in batch(texts[k : k + batch_size])]
    return (text for each in as_they_come(iter(texts), batch_size) for text in batch(each))


def _target(code: str | None, titles: bool) -> _Target:
    found = _code("en" if code is None else str(code))
    if not found:
        raise OptionError(f"`target` is {code!r}. Use the code of a language, such as de.")
    name = found[1].lower()
    restored = frozenset([_Pattern.CAPITALS, *[_Pattern.TITLE, _Pattern.EVERY_WORD][: 2 * titles]])
    return _Target(rules_for(name), small_in_titles(name), restored)


def _translated(translate: Translate, recaser: Recaser, target: _Target, size: int, texts: list[str]) -> list[str]:
    of_texts = [list(_sentences(text, recaser.pipeline)) for text in texts]
    sentences = _recased(list(chain.from_iterable(of_texts)), recaser)
    has_words = [any(map(str.isalnum, sentence.text)) for sentence in sentences]
    wanted = [sentence.text for sentence in compress(sentences, has_words)]
    found: list[str] = []
    for start in range(0, len(wanted), size):
        given = wanted[start : start + size]
        found += _checked(translate(given), len(given))
    translations = iter(found)
    written = (
        each.before + (_patterned(next(translations), each.pattern, target) if has else each.text) + each.after
        for each, has in zip(sentences, has_words, strict=True)
    )
    return ["".join(islice(written, len(of_text))) for of_text in of_texts]


def _checked(translations: object, n: int) -> list[str]:
    found = translations if isinstance(translations, (list, tuple)) else [translations]
    for each in found:
        if not isinstance(each, str) or found is not translations:
            raise TypeError(f"`translate` returned {type(each).__name__}, not a list of str. Return one str for each.")
    if len(found) != n:
        raise OptionError(f"`translate` returned {len(found)} str for {n}. Return one for each, in order.")
    return list(found)


def _sentences(given: object, pipeline: Pipeline) -> Iterator[_Sentence]:
    if not isinstance(given, str):
        raise TypeError(f"each text must be a str, not {type(given).__name__}.")
    for line in given.splitlines(keepends=True):
        yield from _of_line(encoded(line), pipeline)


def _of_line(data: bytes, pipeline: Pipeline) -> Iterator[_Sentence]:
    """Yield the sentences of a line. One that does not show any pattern has that of the sentence before it, or else of
    the one after it."""
    text = pipeline.text(np.frombuffer(data, np.uint8))
    words = pipeline.words(text.buf)
    begins = pipeline.engine.best(words, pipeline.costs(text.buf, words).arc_costs).begins
    written = written_shapes(text.buf, words, pipeline.pretokenized)
    counts = _are_words(written & SHAPE != Shape.CASELESS, words.starts, words.ends, text.buf)
    starts, ends = text.offsets(words.starts), text.offsets(words.ends)
    patterns = []
    for first, last in pairwise([0, *np.flatnonzero(begins).tolist(), len(starts)]):
        counted = first + np.flatnonzero(counts[first:last])
        texts = [decoded(data[starts[i] : ends[i]]) for i in counted]
        patterns.append(_pattern(texts, written[counted], bool(words.n_forms[counted].all())))
    pattern = next((pattern for pattern in patterns if pattern), _Pattern.SENTENCE)
    for own, (start, end) in zip(patterns, pairwise([0, *starts[begins].tolist(), len(data)]), strict=True):
        given, pattern = decoded(data[start:end]), own or pattern
        inner = given.strip()
        begin = given.find(inner)
        yield _Sentence(given[:begin], inner, given[begin + len(inner) :], pattern)


def _are_words(candidates: Marks, starts: Offsets, ends: Offsets, buf: npt.NDArray[np.uint8]) -> Marks:
    """Return bool[n]: which of these tokens are words, without clitics: the tokens right after a word ('s, n't), unless
    it ends with an apostrophe (l'été)."""
    clitics = candidates[:-1] & (starts[1:] == ends[:-1]) & ~np.isin(buf[ends[:-1] - 1], _APOSTROPHES)
    return candidates & ~np.append(False, clitics)[: len(candidates)]


def _pattern(words: list[str], written: npt.NDArray[np.uint8], are_known: bool) -> _Pattern | None:
    """Return the pattern of a sentence with these words; None: they do not show any.

    Args:
        written: as from `written_shapes`.
        are_known: whether the model knows the words.
    """
    shapes = written & SHAPE
    n, n_lower, n_capitalized = len(words), np.sum(shapes == Shape.LOWER), np.sum(shapes == Shape.CAPITALIZED)
    if not np.any(written[shapes != Shape.MIXED] & HAS_SMALL):
        shows = n > 1 or (are_known and len("".join(words)) >= _LONG)
        return _Pattern.CAPITALS if shows and Shape.UPPER in shapes else None
    if n_lower == n:
        return _Pattern.LOWER if n > 1 else _Pattern.SENTENCE
    is_title = n >= _TITLE and n_lower < n / 2 and n_capitalized > (n - n_lower) / 2
    small = small_in_titles()
    if not is_title or not small.issuperset(compress(words, shapes == Shape.LOWER)):
        return _Pattern.SENTENCE
    are_small = any(len(word) > 1 and word.lower() in small for word in words[1:-1])  # not I
    return _Pattern.EVERY_WORD if are_small and not n_lower else _Pattern.TITLE


def _recased(sentences: list[_Sentence], recaser: Recaser) -> list[_Sentence]:
    chosen = [k for k, sentence in enumerate(sentences) if sentence.pattern is not _Pattern.SENTENCE]
    texts = [sentences[k].text for k in chosen]
    changed = list(sentences)
    for k, text, recased in zip(chosen, texts, recaser(texts, **_SENTENCE_CASE), strict=True):
        pattern = _Pattern.SENTENCE if recased == text else sentences[k].pattern  # names and abbreviations alone
        changed[k] = sentences[k]._replace(text=recased, pattern=pattern)
    return changed


def _patterned(text: str, pattern: _Pattern, target: _Target) -> str:
    """Return a translation in a pattern. URLs, placeholders, tags, entities and the like stay."""
    if pattern not in target.patterns:
        return text
    small = target.small if pattern is _Pattern.TITLE else frozenset()
    data = encoded(text)
    starts, ends, token_types = tokenize(data, language=target.language)
    changes = token_types == WORD
    if pattern is not _Pattern.CAPITALS:
        changes = _are_words(changes, starts, ends, np.frombuffer(data, np.uint8))
    parts, end = [], 0
    for k, (start, stop) in enumerate(zip(starts[changes].tolist(), ends[changes].tolist(), strict=True)):
        between, word = data[end:start], decoded(data[start:stop])
        end = stop
        if pattern is _Pattern.CAPITALS:
            word = _in_capitals(word, target.language)
        elif word.islower() and (word not in small or k == 0 or _ends_clause(between) or not _has_words(data, stop)):
            word = chr(target.language.title[ord(word[0])]) + word[1:]
        parts += [decoded(between), word]
    return "".join([*parts, decoded(data[end:])])


def _in_capitals(word: str, language: Language) -> str:
    """Return a word in Unicode's capitals, but for i in Turkish, and accents in Greek."""
    if language.upper[ord("i")] != ord("I"):
        word = word.replace("i", chr(language.upper[ord("i")]))
    if language.name == "el" and _greek(word) and word != "ή":
        bare = _before_vowel("\\1\u0308", normalize("NFD", word)).replace("\u0301", "")
        word = normalize("NFC", bare)
    return word.upper()
