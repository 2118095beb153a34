"""Recasing of str: texts, lines, translations, n-best lists, confidences and sentences (pipeline.py does the work).

A pickled Recaser contains only the path of its model. Each process maps the file, so that all processes of a machine
share its memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from capfst import models
from capfst.casing.user_words import is_named
from capfst.context.channel import Style
from capfst.exceptions import CorpusError, ModelError, quantity
from capfst.forks import loading
from capfst.fst.read import CapFst
from capfst.io.alignments import Block, side_by_side
from capfst.io.blocks import joined
from capfst.io.documents import PIECE, documents, lines_of
from capfst.models.loaded import SETS_OF_OPTIONS, LoadedModel
from capfst.options import IN_LATTICES, RecaseOptions, Rescoring, documented, merged
from capfst.pipeline import Pipeline
from capfst.repair import Stretch
from capfst.search.confidence import Change
from capfst.stream import Stream
from capfst.system.parallel import as_they_come
from capfst.text.markup import NONE, Hiding, hide_text, markup_of, shown
from capfst.text.utf8 import decoded, encoded

if TYPE_CHECKING:
    from capfst.explain.explanation import Explanation

Lines = TypeVar("Lines", str, list[str])
"""A text, or its lines."""

_LINES = 4096  # at most so many lines of an iterable are recased at once


class Candidate(NamedTuple):
    """A casing of a line, and its cost (−ln P, including the start token's)."""

    cost: float
    text: str


class Recased(NamedTuple):
    """A line in its best casing, and the changed words."""

    text: str
    changes: list[Change]


class BestPath(NamedTuple):
    """The best path through a word lattice: the name of its utterance, or an empty one; its words in their best casing;
    and its cost."""

    name: str
    text: str
    cost: float


@documented(RecaseOptions)
class Recaser:
    """Restores case with one model; threads may share it.

    The options apply to all calls. Each method takes the same options as keywords for one call, without loading the
    model again: `recaser(text, sentence_case=True)`.

    Args:
        model: the model (`capfst.load` opens one).

    Raises:
        OptionError: an option that is not supported, or not by the model.
        ModelError: a model that cannot be used.
        TypeError: an unknown option.
    """

    def __init__(self, model: CapFst, **options: Any) -> None:
        if not isinstance(model, CapFst):
            raise TypeError(f"a Recaser takes an open model, not {model!r}. Use capfst.load.")
        self.model = model
        self.options = merged(RecaseOptions(), options, "load")
        loaded = LoadedModel(model)
        self.pipeline = Pipeline(loaded, self.options)
        self._pipelines = lru_cache(SETS_OF_OPTIONS)(lambda options: Pipeline(loaded, options))
        # By keywords: looking up these is faster than merging them.
        self._of_call = lru_cache(SETS_OF_OPTIONS, typed=True)(lambda **options: self._pipeline_of(options, ""))

    def pipeline_with(self, options: Mapping[str, Any], call: str) -> Pipeline:
        """Return the pipeline with these options of one call, whose name is for errors."""
        if not options:
            return self.pipeline
        with suppress(TypeError):  # an unknown keyword, or a value that is not hashable, such as a mapping of words
            return self._of_call(**options)
        return self._pipeline_of(options, call)

    def _pipeline_of(self, options: Mapping[str, Any], call: str) -> Pipeline:
        changed = merged(self.options, options, call)
        return self.pipeline if changed == self.options else self._pipelines(changed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the paths of the model and of lists, and the options; unpickling fails if another model is found
        there."""
        path = os.path.abspath(self.model.path)
        options = asdict(self.options)
        options["words"] = tuple(
            os.path.abspath(each) if isinstance(each, str) and not is_named(each) else each for each in options["words"]
        )
        options["abbreviations"] = tuple(map(os.path.abspath, options["abbreviations"]))
        return reopen, (path, identity(self.model), tuple(sorted(options.items())))

    def __repr__(self) -> str:
        context = self.pipeline.context
        n_domains = 0 if context is None else context.n_domains
        described = f"context of {quantity(n_domains, 'domain')}" if n_domains else "no context"
        shown = {name: value for name, value in asdict(self.options).items() if name not in ("context", "words")}
        if self.pipeline.user_words:
            shown["words"] = quantity(self.pipeline.user_words.size, "entry", "entries")
        options = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        words = quantity(len(self.model.symbols) - 1, "word")
        return f"<Recaser {self.model.path}: order {self.model.signature.order}, {words}, {described}; {options}>"

    @overload
    def __call__(self, text: str, *, before: str = "", **options: Any) -> str: ...

    @overload
    def __call__(self, text: list[str] | tuple[str, ...], **options: Any) -> list[str]: ...

    def __call__(self, text: str | list[str] | tuple[str, ...], *, before: str = "", **options: Any) -> str | list[str]:
        """Return a text, of one or many lines, in its best casing; for a list of texts, a list.

        Args:
            before: text that the first line continues, as in dictation. It stays as it is: its words show whether a
                sentence goes on, and its names are evidence. Its last 4 kB count.

        Raises:
            TypeError: neither a str nor a list or tuple of str.
        """
        if before and not isinstance(text, str):
            raise _no_str(text, "with `before`, the text must be a str")
        if not isinstance(text, (str, list, tuple)):
            raise _no_str(text, "a Recaser takes a str or a list of str", "Make a list of it, or use recase_lines.")
        pipeline = self.pipeline_with(options, "recaser")
        if before:
            return decoded(pipeline.recase_after(_utf8(before), _utf8(text)))
        markup = markup_of("", pipeline.options.markup)
        if not isinstance(text, str):
            if markup != NONE:
                return [self(item, **options) for item in text]
            return list(self._recase_lines(text, pipeline, None))
        if markup == NONE:
            return decoded(pipeline.recase_text(_utf8(text)))
        hidden = hide_text(_utf8(text), markup)
        return decoded(shown(pipeline.recase_text(hidden.text), hidden.bytes))

    def recase_lines(self, lines: Iterable[str], **options: Any) -> Iterator[str]:
        """Yield each line in its best casing as soon as it is known, with a line break if it came with one.

        Lines that are available at once are recased together. An iterator is read in a thread of its own, up to a few
        thousand lines ahead, so that waiting for the next line does not delay the others. With `document`, a line
        waits until its document is complete. With `wrapped`, each item is a text of its own, whose lines are joined.

        Raises:
            TypeError: a single str, or a line that is not a str.
        """
        if isinstance(lines, (str, bytes, bytearray)):
            kind = type(lines).__name__
            raise TypeError(f"recase_lines takes an iterable of lines, not one {kind}. Call the Recaser, or split it.")
        pipeline = self.pipeline_with(options, "recase_lines")
        pipeline.options.check_call("recase_lines")
        return self._recase_lines(lines, pipeline, Style())

    def _recase_lines(self, lines: Iterable[str], pipeline: Pipeline, style: Style | None) -> Iterator[str]:
        """Recase lines of a text that has a style, or independent lines."""
        checked = map(_text, count(1), lines)
        if pipeline.options.wrapped:
            return (decoded(pipeline.recase_utf8(_utf8(text))) for text in checked)
        if pipeline.options.document:
            return _recase_batches(pipeline, documents(checked), style)
        if isinstance(lines, Sized):
            return _recase_batches(pipeline, iter(lambda: list(islice(checked, _LINES)), []), style)
        return _recase_batches(pipeline, as_they_come(checked, _LINES), style)

    def stream(self, look_ahead: int = 4, *, before: str = "", **options: Any) -> Stream:
        """Return a Stream, which recases text while it is still being spoken: each word as soon as `look_ahead` words
        follow it. before: text that its first utterance continues, as in a call of the Recaser.

        Raises:
            OptionError: `look_ahead` is less than 0, or an option is for whole texts, such as `document` or `repair`.
        """
        return Stream(self.pipeline_with(options, "stream"), look_ahead, before)

    def recase_aligned(self, target: Lines, source: Lines, alignment: Lines | None = None, **options: Any) -> Lines:
        """Return translations in their best casing given their cased source (Wang, Knight & Marcu 2006).

        All three are texts of as many lines, or lists of as many lines. A line of `alignment` has pairs `i-j` of
        indices, from 0, of whitespace-separated words: word j of the translation is translated from word i of the
        source. Without `alignment`, words are aligned that are equal, ignoring case.

        Raises:
            ModelError: the model has learned nothing from translations.
            CorpusError: different numbers of lines, or an alignment that does not fit its lines.
            TypeError: neither a str nor a list of str.
        """
        pipeline = self.pipeline_with(options, "recase_aligned")
        if isinstance(target, str) and isinstance(source, str) and isinstance(alignment, (str, type(None))):
            return _recase_aligned(pipeline, target, source, alignment)
        texts = [_lines_of(given) for given in ((target, source) if alignment is None else (target, source, alignment))]
        if len(set(map(len, texts))) > 1:
            numbers = ", ".join(map(str, map(len, texts)))
            raise CorpusError(f"the lists have {numbers} lines. Give one source and one alignment per line.")
        joined = ["".join(f"{line}\n" for line in lines) for lines in texts]
        return _recase_aligned(pipeline, *joined).split("\n")[:-1]

    def nbest(
        self, text: str, n: int, source: str | None = None, alignment: str | None = None, **options: Any
    ) -> list[Candidate]:
        """Return up to n different casings of one line, best first.

        With `source` and `alignment`, as in `recase_aligned`, costs are −ln P up to a constant of the line.

        Raises:
            CorpusError: the text has a line break.
            OptionError: n is less than 1.
        """
        found = self.pipeline_with(options, "nbest").nbest(_line_block(text, source, alignment), n)
        return [Candidate(cost, decoded(casing)) for cost, casing in found]

    def confidence(self, text: str, source: str | None = None, alignment: str | None = None, **options: Any) -> Recased:
        """Return one line in its best casing, and each changed word: its position, and the log-odds against all other
        casings (+inf if it has none). `source` and `alignment` are those of `recase_aligned`.

        Raises:
            CorpusError: the text has a line break.
        """
        return Recased(*self.pipeline_with(options, "confidence").confidence(_line_block(text, source, alignment)))

    def explain(
        self,
        text: str,
        n: int = 1,
        line: int = 1,
        source: str | None = None,
        alignment: str | None = None,
        **options: Any,
    ) -> Explanation:
        """Return why one line is cased as it is: for each word the casings that competed, with the parts of their
        costs, and the n best casings of the line, whose costs are those of `nbest`.

        With `document`, the text may have several lines, and the line with the number `line` is explained, given the
        others. `source` and `alignment` are those of `recase_aligned`.

        Raises:
            CorpusError: the text has a line break, but is not a document; or the line is too long.
            OptionError: n is less than 1, the text has no such line, or an option cannot be explained: `wrapped`.
        """
        from capfst.explain.explainer import explain  # noqa: PLC0415  (few lines are explained)

        return explain(self.pipeline_with(options, "explain"), _line_block(text, source, alignment), n, line)

    def stretches(self, text: str, **options: Any) -> list[Stretch]:
        """Return the stretches of a text that `recaser(text, repair=True)` repairs: for each the line, from 0, the
        number of its words, and the first ones."""
        stretches: list[Stretch] = []
        pipeline = self.pipeline_with({**options, "repair": True}, "stretches")
        hiding = Hiding(counts_lines=True)
        blocks = hiding.hide([_utf8(text)], markup_of("", pipeline.options.markup))
        for _ in pipeline.recase_blocks(blocks, 1, stretches.extend):
            pass
        return [stretch._replace(line=hiding.line_of(stretch.line)) for stretch in stretches]

    def sentences(self, text: str, **options: Any) -> list[str]:
        """Return the sentences of one line in their best casing, each with the white space after it: joined, they are
        `recaser(text)`.

        Raises:
            CorpusError: the text has a line break.
        """
        return [decoded(sentence) for sentence in self.pipeline_with(options, "sentences").sentences(_utf8(text))]

    def recase_lattices(
        self,
        lattices: str,
        weight: float = IN_LATTICES.weight,
        word_bonus: float = IN_LATTICES.word_bonus,
        **options: Any,
    ) -> Iterator[BestPath]:
        """Yield the best path through each word lattice: bestpath(lattice ∘ T ∘ LM), its words recased as a line.

        lattices: any number of them, as OpenFst or Kaldi writes them as text, or Kaldi's confusion networks, with words
        instead of their numbers. A path costs its costs in the lattice + weight · (−ln P − word_bonus · words).

        Raises:
            CorpusError: not a lattice; or one that has a cycle or no path.
            OptionError: the weight is less than 0, or a number is not finite.
        """
        from capfst.io.word_lattices import word_lattices  # noqa: PLC0415  (few texts are lattices)

        pipeline, rescoring = self.pipeline_with(options, "recase_lattices"), Rescoring(weight, word_bonus).check()
        for lattice in word_lattices([_utf8(lattices)], "the lattices"):
            cost, words = pipeline.best_words(lattice, rescoring)
            yield BestPath(decoded(lattice.name), decoded(pipeline.recase_utf8(words)), cost)

    def knows(self, token: str) -> bool:
        """Return whether the model has a surface form of each word of the token."""
        return self.pipeline.loaded.has_forms(_utf8(token))

    def batch(self, column: str) -> Batch:
        """Return a function for `datasets` that recases a column: `ds.map(recaser.batch("text"), batched=True)`."""
        return Batch(self, column)


class Batch(NamedTuple):
    """Recases one column of batches of rows, which are lists by column. It can be pickled."""

    recaser: Recaser
    column: str

    def __call__(self, rows: Mapping[str, Sequence[str | None]]) -> dict[str, list[str | None]]:
        """Return {column: its rows in their best casing}; None stays None. With `document`, each row is one."""
        texts = rows[self.column]
        if isinstance(texts, str):
            raise TypeError(f"the rows have one str in {self.column!r}, not a list. Use map with batched=True.")
        given = [text for text in texts if text is not None]
        recased = map(self.recaser, given) if self.recaser.options.document else iter(self.recaser(given))
        return {self.column: [None if text is None else next(recased) for text in texts]}


def _recase_batches(pipeline: Pipeline, batches: Iterable[list[str]], style: Style | None) -> Iterator[str]:
    for lines in batches:
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        recased = iter(decoded(pipeline.recase_utf8(_utf8(text), style)).split("\n"))
        for line in lines:
            has_end = line.endswith("\n")
            yield "\n".join(islice(recased, line.count("\n") + (not has_end))) + "\n" * has_end


def _recase_aligned(pipeline: Pipeline, target: str, source: str, alignment: str | None = None) -> str:
    texts = (None if text is None else joined(lines_of(_utf8(text)), PIECE) for text in (target, source, alignment))
    return decoded(b"".join(pipeline.recase_aligned_blocks(side_by_side(*texts))))  # type: ignore[arg-type]


def _line_block(text: str, source: str | None, alignment: str | None) -> Block:
    if source is not None and "\n" in source + (alignment or ""):
        raise CorpusError("source and alignment must be single lines without line breaks, like the text.")
    there, pairs = (None if given is None else _utf8(given) for given in (source, alignment))
    return Block(_utf8(text), there, pairs)


def _text(number: int, text: object) -> str:
    if not isinstance(text, str):
        raise _no_str(text, f"text {number} must be a str")
    return text


def _lines_of(lines: object) -> list[str]:
    """Return the lines; TypeError or CorpusError unless they are a list of str without line breaks."""
    if not isinstance(lines, (list, tuple)):
        raise _no_str(lines, "target, source and alignment must all be a str, or all a list of str")
    for k, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise _no_str(line, f"line {k} must be a str")
        if "\n" in line:
            raise CorpusError(f"line {k} contains a line break. Give one line per item.")
    return list(lines)


def _no_str(value: object, wanted: str, of_iterables: str = "") -> TypeError:
    """Return the error of a value that is not a str. of_iterables: the advice for an iterable of them."""
    advice = of_iterables if isinstance(value, Iterable) else ""
    if isinstance(value, (bytes, bytearray)):
        advice = "Decode it."
    return TypeError(f"{wanted}, not {type(value).__name__}. {advice}".rstrip())


def _utf8(text: object) -> bytes:
    if not isinstance(text, str):
        raise _no_str(text, "the text must be a str")
    return encoded(text)


@documented(RecaseOptions)
def load(model: str | os.PathLike[str] | None = None, **options: Any) -> Recaser:
    """Open a model to recase with.

    Args:
        model: the path of its file, the name of a bundled model (`capfst models` lists them), or a language that one
            knows: `fr` is `multi` with `language="fr"`. If None, the model that the environment variable CAPFST_LM
            names, or `en`.

    Raises:
        ModelError: a model that is missing or cannot be used.
        OptionError: an option that is not supported, or not by the model.
        TypeError: an unknown option.
    """
    with loading():
        named = models.named(model)
        return Recaser(models.open(named), **named.options(options))


def identity(model: CapFst) -> str:
    """Return a hash that distinguishes models that were at the same path at different times."""
    import hashlib  # noqa: PLC0415  (it takes its time to load)

    text = f"{model.signature} {model.bytes} {model.checksum}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=4)
def reopen(path: str, expected: str, options: tuple[tuple[str, Any], ...]) -> Recaser:
    """Return the Recaser of the model at `path` with these options; ModelError if it is not the expected model."""
    recaser = Recaser(models.open(Path(path)), **dict(options))
    if identity(recaser.model) != expected:
        raise ModelError(f"{path}: the model file changed since the run started. Restart, or restore the original.")
    return recaser
