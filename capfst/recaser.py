"""Recasing: text in, text in its best casing out, P = bestpath(S ∘ T ∘ LM).

The way of a buffer of lines: words and their surface forms (casing/transducer.py: S ∘ T) → what the forms cost in their
context (context/) → the best path through the LM (search/fast.py, or search/openfst.py, which says the same in FSTs) →
the text in the forms of that path (casing/surface.py). Nothing but case changes; lines and white space stay.

A Recaser that is pickled travels as the path of its model, which each process maps for itself: so a task costs no
loading, and all processes of a machine share the mapping.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import count, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from capfst import models
from capfst.casing import encode
from capfst.casing.surface import openings, write
from capfst.casing.transducer import Transducer
from capfst.casing.types import CasingCosts, LabelPath, Words
from capfst.context.casing_costs import casing_costs
from capfst.context.context_model import Context
from capfst.context.document import rarity
from capfst.context.domains import ANY
from capfst.context.spellings import PART as SPELLINGS
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.io.alignments import parse
from capfst.io.documents import PIECE, documents, whole_documents
from capfst.io.side_by_side import Block, side_by_side
from capfst.lm.query import LanguageModel, Starts
from capfst.search import fast
from capfst.search.boundaries import Breaks
from capfst.search.confidence import Change, changes
from capfst.system.parallel import as_they_come, map_stream
from capfst.text.tokenizer import NEWLINE

if TYPE_CHECKING:
    from capfst.bilingual.casings import Forms, Monolingual
    from capfst.bilingual.weights import Bilingual
    from capfst.bilingual.word_facts import Text

START_TOKEN = "and"
"""Beaufays & Strope 2013, §3.2.2."""

ENGINES = ("fast", "openfst")
OOV = ("guess", "pass")

Lines = TypeVar("Lines", str, list[str])
"""A text, or its lines."""

_LINES = 4096  # at most so many lines of an iterable are recased at once
_LONGEST_PIECE = 1 << 20  # bytes of a single line that are recased at once
_MOST_PATHS = 256  # for one casing
_BLANK = re.compile(rb"[ \t\n]").search


class Recaser:
    """Restores case with one model, in as many threads as wanted.

    Args:
        engine: `fast`, or `openfst`, the equation as composed FSTs: the same answers, slowly.
        start_token: a word put in front of each line and removed afterwards, so that only intrinsic case is restored;
            `<unk>` or a word that the model does not know stands for any word. With `sentence_case` only in front of
            further sentences of a line.
        sentence_case: takes each line for a sentence, which the LM saw starting, or for several, and gives the first
            word of each a capital.
        breaks: whether the best path may end a sentence inside a line, and begin another (text/sentences.py).
        context: whether to weigh by context, if the model has a context model; CapfstError if that cannot be used.
        align_words: alignments with a source count the words that `capfst tokenize` gives, not what white space
            separates.
        oov: what the context model does for words that the LM has never seen: `guess` their case, or `pass` them in
            lower case (ρ, §3.2.1), as it is without a context model.
        document: whether the lines of a document are evidence for each other (context/document.py), if a context model
            is used; blank lines part documents (io/documents.py).
        language: that of the text, such as `de`, if the context model knows several; if None, it is found sentence by
            sentence.
        restore: what the model must restore, `case`, `diacritics` or `both`; None: whatever it does. CapfstError if it
            restores something else.
    """

    def __init__(
        self,
        model: CapFst,
        *,
        engine: str = "fast",
        start_token: str = START_TOKEN,
        sentence_case: bool = False,
        breaks: bool = True,
        context: bool = True,
        oov: str = "guess",
        align_words: bool = False,
        document: bool = False,
        language: str | None = None,
        restore: str | None = None,
    ) -> None:
        self.model = model
        self.options = {
            "engine": engine, "start_token": start_token, "sentence_case": sentence_case, "context": context,
            "oov": oov, "breaks": breaks, "document": document, "align_words": align_words, "language": language,
            "restore": restore,
        }  # fmt: skip
        restored = model.symbols.language.restored
        if restore not in (None, restored):
            raise CapfstError(
                f"the model {model.path} restores {restored}, not {restore}: name one trained with --restore {restore}"
            )
        if sentence_case and not model.symbols.language.restores_case:
            raise CapfstError(
                f"the model {model.path} restores no case, so that it cannot give sentences capitals: leave"
                " --sentence-case out, or train a model with --restore both"
            )
        if oov not in OOV:
            raise CapfstError(f"unseen words cannot be treated as {oov!r}: use one of {', '.join(OOV)}")
        self.context: Context | None = None
        self.spellings: Context | None = None
        self.language = ANY
        self.guess = oov == "guess"
        self.sentence_case = sentence_case
        self.align_words = align_words
        self.document = document
        self.pretokenized = model.signature.tokenizer == "none"
        self.lm = LanguageModel(model)
        self.breaks = Breaks(self.lm)
        cost, after_token = self.lm.arc(model.start, self.lm.label(start_token))
        text_has_case = not model.symbols.language.restores_case
        self._start_cost, start = (0.0, model.start) if sentence_case or text_has_case else (cost, after_token)
        # A sentence inside a line: intrinsic case, to which `sentence_case` adds the capital, unless the text has its
        # case. The start token is not paid for, since nobody said it.
        self._starts = Starts(start, model.start if text_has_case else after_token)
        if engine not in ENGINES:
            raise CapfstError(f"there is no engine {engine!r}: use one of {', '.join(ENGINES)}")
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(self._make_transducer, context)
            self.engine = _engine(engine, self.lm, self._starts)
        making.result()
        if language is not None:
            self.language = self._number_of(language)

    def _make_transducer(self, context: bool) -> None:
        """Builds the transducer, loads the context model, and warms the kernels of both while the engine is built."""
        if context:
            self.context = Context.of(self.model)
            self.spellings = Context.of(self.model, SPELLINGS)
        unigrams = self.model.arcs["weight"][: len(self.model.symbols) - 1]
        self.transducer = Transducer(self.model.symbols, self.model.starts, self.pretokenized, unigrams)
        line = np.frombuffer(b"\n", np.uint8)
        words = self.transducer.words(line)
        self._write(line, words, LabelPath(words.first_labels, words.may_begin), self._casing_costs(line, words))

    def _number_of(self, language: str) -> int:
        """The number that a language has in the context model, or ANY if it is the only one."""
        known = self.model.signature.lowercasing.partition("/")[0].split("+")
        if known == [language]:
            return ANY
        learned = self.context or self.spellings
        if language not in known or (learned and learned.n_languages != len(known)):
            raise CapfstError(
                f"{self.model.path} does not tell {language!r} from other languages: train it with {language}=FILE and"
                " the like for others, or leave out --language"
            )
        return known.index(language)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its model's path and options: who unpickles it must find the same model there."""
        path = os.path.abspath(self.model.path)
        return reopen, (path, identity(self.model), tuple(sorted(self.options.items())))

    def __repr__(self) -> str:
        n_domains = 0 if self.context is None else self.context.n_domains
        context = f"context of {n_domains} domain{'s'[: n_domains > 1]}" if n_domains else "no context"
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items() if name != "context")
        words = f"{len(self.model.symbols) - 1:,} words"
        return f"<Recaser {self.model.path}: order {self.model.signature.order}, {words}, {context}; {options}>"

    @overload
    def recase(self, text: str) -> str: ...

    @overload
    def recase(self, text: list[str] | tuple[str, ...]) -> list[str]: ...

    def recase(self, text: str | list[str] | tuple[str, ...]) -> str | list[str]:
        """The text, of one or many lines, in its best casing; for a list of texts, a list. `recaser(text)` is the same.

        Raises:
            TypeError: what is neither a str nor a list or tuple of them.
        """
        if isinstance(text, (list, tuple)):
            return list(self.recase_lines(text))
        if not isinstance(text, str):
            raise _no_str(text, "recase takes a str or a list of str")
        return str(self.recase_utf8(_utf8(text)), "utf-8", "surrogatepass")

    __call__ = recase

    def recase_lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Each line in its best casing, with or without its line end as it comes, as soon as it has come.

        Lines that are there at once are recased together. An iterator is read in a thread of its own, up to a few
        thousand lines ahead, so that waiting for the next line holds up none. With `document` a line has to wait until
        its document is there.

        Raises:
            TypeError: a single str, or a line that is no str.
        """
        if isinstance(lines, (str, bytes, bytearray)):
            kind = type(lines).__name__
            raise TypeError(
                f"recase_lines takes an iterable of lines, not one {kind}: use recase, or split it into lines"
            )
        checked = map(_text, count(1), lines)
        if self.document:
            return self._recase_batches(documents(checked))
        if isinstance(lines, Sized):
            return self._recase_batches(iter(lambda: list(islice(checked, _LINES)), []))
        return self._recase_batches(as_they_come(checked, _LINES))

    def _recase_batches(self, batches: Iterable[list[str]]) -> Iterator[str]:
        for lines in batches:
            text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
            recased = iter(self.recase(text).split("\n"))
            for line in lines:
                has_end = line.endswith("\n")
                yield "\n".join(islice(recased, line.count("\n") + (not has_end))) + "\n" * has_end

    def recase_aligned(self, target: Lines, source: Lines, alignment: Lines | None = None) -> Lines:
        """Translations in their best casing, given their cased source (Wang, Knight & Marcu 2006).

        All three are texts of as many lines, or lists of as many lines. `alignment` has pairs `i-j` of word numbers
        from 0, of what white space separates: word j of the translation is translated from word i of the source.
        Without it, words are aligned that are the same, whatever their case.

        Raises:
            CapfstError: the model has no bilingual part, the texts have not the same number of lines, or an alignment
                is none of its lines.
            TypeError: what is neither a str nor a list of them.
        """
        if isinstance(target, str) and isinstance(source, str) and isinstance(alignment, (str, type(None))):
            return self._recase_aligned(target, source, alignment)
        texts = [_lines_of(given) for given in (target, source, alignment) if given is not None]
        if len(set(map(len, texts))) > 1:
            numbers = ", ".join(map(str, map(len, texts)))
            raise CapfstError(f"the lists must have the same number of lines, not {numbers}")
        joined = ["".join(f"{line}\n" for line in lines) for lines in texts]
        return self._recase_aligned(*joined).split("\n")[:-1]

    def _recase_aligned(self, target: str, source: str, alignment: str | None = None) -> str:
        recased = bytearray()
        blocks = (_line_blocks(text) if text is not None else None for text in (target, source, alignment))
        for block in side_by_side(*blocks):  # type: ignore[arg-type]
            recased += self.recase_block(block)[1]
        return str(recased, "utf-8", "surrogatepass")

    def recase_block(self, block: Block) -> tuple[Words, memoryview]:
        """The words of lines, and the lines in their best casing, given those of their source, if they have any."""
        buf = np.frombuffer(block.target, np.uint8)
        words = self._words(buf)
        costs = self._block_costs(buf, words, block)
        return words, self._write(buf, words, self.engine.best(words, costs.arc_costs), costs)

    def _block_costs(self, buf: npt.NDArray[np.uint8], words: Words, block: Block, every: bool = False) -> CasingCosts:
        """What the casings of a block's words cost; every: with all options, and of hopeless ones, too."""
        costs = self._casing_costs(buf, words, every or block.source is not None)
        if block.source is None:
            return costs
        from capfst.bilingual.casings import monolingual  # noqa: PLC0415  (few texts are translations)
        from capfst.bilingual.costs import bilingual_costs  # noqa: PLC0415

        learned = self.bilingual_part()
        target, source, links = self._aligned(buf, words, block)
        return bilingual_costs(learned, self.forms, target, source, links, monolingual(words, costs), self.guess)

    def aligned(self, block: Block) -> tuple[Text, Text, npt.NDArray[np.int32]]:
        """Translations and their source as the bilingual features read them, and the source word of each word."""
        buf = np.frombuffer(block.target, np.uint8)
        return self._aligned(buf, self._words(buf), block)

    def monolingual(self, target: Text) -> Monolingual:
        """What the words of translations cost without their source."""
        from capfst.bilingual.casings import monolingual  # noqa: PLC0415

        return monolingual(target.words, self._casing_costs(target.buf, target.words, every=True))

    def _aligned(
        self, buf: npt.NDArray[np.uint8], words: Words, block: Block
    ) -> tuple[Text, Text, npt.NDArray[np.int32]]:
        from capfst.bilingual.links import link  # noqa: PLC0415
        from capfst.bilingual.word_facts import describe  # noqa: PLC0415

        target = describe(buf, words, self.align_words)
        there = np.frombuffer(block.source or b"", np.uint8)
        source = describe(there, self.transducer.words(there), self.align_words)
        pairs = parse(block.align or b"", len(target.lines), block.names.align, block.line)
        return target, source, link(target, source, pairs, block.names, block.line)

    def bilingual_part(self) -> Bilingual:
        """What the model has learned from translations; CapfstError if nothing, or if it cannot be used here."""
        if self.document:
            raise CapfstError("translations are recased line by line: give their source, or take documents, not both")
        if self.bilingual is None:
            raise CapfstError(
                f"{self.model.path} has learned nothing from translations: make a model that has, with capfst"
                " train-bilingual"
            )
        return self.bilingual

    @cached_property
    def bilingual(self) -> Bilingual | None:
        """What the model has learned from translations; None if nothing."""
        from capfst.bilingual.weights import Bilingual  # noqa: PLC0415

        return Bilingual.of(self.model)

    @cached_property
    def forms(self) -> Forms:
        from capfst.bilingual.weights import forms_of  # noqa: PLC0415

        return forms_of(self.model)

    def batch(self, column: str) -> Batch:
        """For `datasets`: `ds.map(recaser.batch("text"), batched=True)` recases the column."""
        return Batch(self, column)

    def recase_utf8(self, text: bytes) -> memoryview:
        """As `recase`, for valid UTF-8."""
        recased = [self.recase_words(piece)[1] for piece in self.pieces(text)]
        return recased[0] if len(recased) == 1 else memoryview(b"".join(recased))

    def pieces(self, text: bytes) -> Iterator[npt.NDArray[np.uint8]]:
        """Valid UTF-8 in the pieces that are recased one after the other: its documents, if lines are evidence for each
        other."""
        if not self.document or not text:
            return pieces(text)
        return (piece for document in whole_documents([text]) for piece in pieces(document))

    def recase_words(self, buf: npt.NDArray[np.uint8]) -> tuple[Words, memoryview]:
        """The words of a piece, and all of it in its best casing."""
        words = self._words(buf)
        costs = self._casing_costs(buf, words)
        return words, self._write(buf, words, self.engine.best(words, costs.arc_costs), costs)

    def recase_aligned_blocks(self, blocks: Iterable[Block], jobs: int = 1) -> Iterator[memoryview]:
        """As `recase_block`, for many; as `recase_blocks`."""
        return map_stream(lambda block: self.recase_block(block)[1], blocks, jobs)

    def recase_blocks(self, blocks: Iterable[bytes], jobs: int = 1) -> Iterator[memoryview]:
        """As `recase_utf8`, for blocks of whole lines, in `jobs` threads; in order, a few blocks ahead of what is
        taken."""
        return map_stream(self.recase_utf8, whole_documents(blocks) if self.document else blocks, jobs)

    def nbest(
        self, text: str, n: int, source: str | None = None, alignment: str | None = None
    ) -> list[tuple[float, str]]:
        """Up to n different casings of one line, best first, with their costs (−ln P, the start token's included).

        With `source` and `alignment`, as in `recase_aligned`, costs are −ln P but for what all casings have in common.

        Raises:
            CapfstError: the text has a line end, or n is less than 1.
        """
        return self.nbest_of(_line_block(text, source, alignment), n)

    def nbest_of(self, line: Block, n: int) -> list[tuple[float, str]]:
        """As `nbest`, of a block of one line."""
        if n < 1:
            raise CapfstError(f"there are no {n} best casings: ask for 1 or more")
        buf, words = self._line(line.target)
        costs = self._block_costs(buf, words, line, every=True)
        best: dict[str, float] = {}
        n_paths = n
        while True:
            paths = self.engine.nbest(words, n_paths, costs.arc_costs)
            for cost, path in paths:
                casing = str(self._write(buf, words, path, costs), "utf-8", "surrogatepass")
                best.setdefault(casing, (cost + self._start_cost) * costs.scale)
            if len(best) >= n or len(paths) < n_paths or n_paths > _MOST_PATHS * n:
                return [(cost, casing) for casing, cost in islice(best.items(), n)]
            n_paths *= 2  # two may be written alike: first words with `sentence_case`, and other sentence breaks

    def costs(self, text: str) -> npt.NDArray[np.float64]:
        """What the best casing of each line costs (−ln P, the start token's included), as of `nbest`; +inf if it is
        impossible."""
        buf = np.frombuffer(_utf8(text), np.uint8)
        words = self._words(buf)
        arc_costs = self._casing_costs(buf, words, every=True).arc_costs
        costs = self.engine.search(words, arc_costs)[1] + self._start_cost
        return costs[:-1] if text.endswith("\n") else costs

    def confidence(
        self, text: str, source: str | None = None, alignment: str | None = None
    ) -> tuple[str, list[Change]]:
        """One line in its best casing, and for each word that this changes its place, and the log-odds against any
        other casing of it (+inf if it has none). With `source` and `alignment` as in `recase_aligned`.

        Raises:
            CapfstError: the text has a line end.
        """
        return self.confidence_of(_line_block(text, source, alignment))

    def confidence_of(self, line: Block) -> tuple[str, list[Change]]:
        """As `confidence`, of a block of one line."""
        buf, words = self._line(line.target)
        costs = self._block_costs(buf, words, line, every=True)
        text, changed = changes(
            buf,
            words,
            self.engine.best(words, self._block_costs(buf, words, line).arc_costs),
            self.engine.marginals(words, openings(buf, words, self.pretokenized), costs.arc_costs),
            costs,
            lambda path, shapes: np.frombuffer(self._write(buf, words, path, costs._replace(shapes=shapes)), np.uint8),
            self.transducer.words,
        )
        return text, [change._replace(log_odds=change.log_odds * costs.scale) for change in changed]

    def knows(self, token: str) -> bool:
        """Whether the model has a surface form of each word of the token."""
        words = self.transducer.words(np.frombuffer(_utf8(token), np.uint8))
        return bool(words.n_forms.all())

    def words_utf8(self, text: bytes) -> memoryview:
        """The words that the LM sees of cased UTF-8, with spaces between; a line stays a line."""
        buf = np.frombuffer(text, np.uint8)
        return encode.spaced(buf, self.transducer.words(buf), self.pretokenized)

    def labels(self, text: bytes) -> npt.NDArray[np.uint32]:
        """The labels of the words of cased UTF-8: `<unk>`'s for words the model does not know, 0 after each line."""
        buf = np.frombuffer(text, np.uint8)
        words = self.transducer.words(buf)
        return encode.labels(buf, words, self.model.symbols, self.lm.unknown, self.pretokenized)

    def sentences(self, text: str) -> list[str]:
        """The sentences of one line in their best casing, with the white space behind them: joined, they are
        `recase(text)`.

        Raises:
            CapfstError: the text has a line end.
        """
        buf, words = self._line(_utf8(text))
        costs = self._casing_costs(buf, words)
        path = self.engine.best(words, costs.arc_costs)
        recased = bytes(self._write(buf, words, path, costs))
        starts = self.transducer.words(np.frombuffer(recased, np.uint8)).starts[path.begins].tolist()
        parts = (recased[start:end] for start, end in pairwise([0, *starts, len(recased)]))
        return [str(part, "utf-8", "surrogatepass") for part in parts]

    def _line(self, text: bytes) -> tuple[npt.NDArray[np.uint8], Words]:
        buf = np.frombuffer(text, np.uint8)
        words = self._words(buf)
        if (words.token_types == NEWLINE).any():
            raise CapfstError("nbest, confidence and sentences take one line, without its line end: give it each line")
        return buf, words

    def _words(self, buf: npt.NDArray[np.uint8]) -> Words:
        words = self.transducer.words(buf)
        if self.options["breaks"]:
            self.breaks.leave_out_abbreviations(words)
        else:
            words.may_begin[:] = False
        return words

    def _casing_costs(self, buf: npt.NDArray[np.uint8], words: Words, every: bool = False) -> CasingCosts:
        if self.context is None and self.spellings is None:
            return CasingCosts()
        begins = self.breaks.expected(words)
        memory = rarity(words, self.model.arcs) if self.document else None
        return casing_costs(
            self.context, buf, words, self.transducer, self.guess, every, begins, memory, self.language, self.spellings
        )

    def _write(self, buf: npt.NDArray[np.uint8], words: Words, path: LabelPath, costs: CasingCosts) -> memoryview:
        return write(
            buf, words, path, self.model.symbols, self.pretokenized, self.sentence_case, costs.shapes, costs.copies
        )


def _engine(name: str, lm: LanguageModel, starts: Starts) -> Any:
    if name == "fast":
        return fast.Engine(lm, starts)
    try:
        from capfst.search import openfst  # noqa: PLC0415  (pynini takes its time to load)
    except ModuleNotFoundError as error:
        raise CapfstError("the engine openfst needs pynini: pip install 'capfst[openfst]'") from error

    return openfst.Engine(lm, starts)


class Batch(NamedTuple):
    """A function of batches of rows, which are lists by column: one column recased. It can be pickled."""

    recaser: Recaser
    column: str

    def __call__(self, rows: Mapping[str, Sequence[str | None]]) -> dict[str, list[str | None]]:
        """{column: its rows in their best casing}, None where there was None."""
        texts = rows[self.column]
        recased = self.recaser.recase_lines([text for text in texts if text is not None])
        return {self.column: [None if text is None else next(recased) for text in texts]}


def _line_block(text: str, source: str | None, alignment: str | None) -> Block:
    if source is not None and "\n" in source + (alignment or ""):
        raise CapfstError("a line has one line of source and one of alignment, without line ends: give it each line")
    there, pairs = (None if given is None else _utf8(given) for given in (source, alignment))
    return Block(_utf8(text), there, pairs)


def _line_blocks(text: str) -> Iterator[bytes]:
    """A text in blocks of whole lines."""
    file = BytesIO(_utf8(text))
    return iter(lambda: b"".join(file.readlines(PIECE)), b"")


def _text(number: int, text: object) -> str:
    if not isinstance(text, str):
        raise _no_str(text, f"text {number} of those to recase must be a str")
    return text


def _lines_of(lines: object) -> list[str]:
    """The lines, each a str without line end."""
    if not isinstance(lines, (list, tuple)):
        raise _no_str(lines, "target, source and alignment must all be a str, or all a list of str")
    for k, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise _no_str(line, f"line {k} must be a str")
        if "\n" in line:
            raise CapfstError(f"line {k} has a line end inside: give lists of lines")
    return list(lines)


def _no_str(value: object, wanted: str) -> TypeError:
    advice = ": decode it first" if isinstance(value, (bytes, bytearray)) else ""
    if isinstance(value, Iterable) and not advice:
        advice = ": use recase_lines"
    return TypeError(f"{wanted}, not {type(value).__name__}{advice}")


def pieces(text: bytes) -> Iterator[npt.NDArray[np.uint8]]:
    """A text as pieces that are recased one after the other, so that memory does not grow with it: whole lines, but of
    a line of more than 1 MB pieces that end behind a blank."""
    start = 0
    while len(text) - start > PIECE + PIECE // 8:  # a few lines more are no piece of their own
        end = text.rfind(b"\n", start, start + PIECE) + 1
        end = end or text.find(b"\n", start + PIECE, start + _LONGEST_PIECE) + 1
        if not end:
            blank = _BLANK(text, start + _LONGEST_PIECE)
            end = blank.end() if blank else len(text)
        yield np.frombuffer(text, np.uint8, end - start, start)
        start = end
    if start < len(text) or not text:
        yield np.frombuffer(text, np.uint8, -1, start)


def _utf8(text: str) -> bytes:
    if not isinstance(text, str):
        raise _no_str(text, "the text must be a str")
    return text.encode("utf-8", "surrogatepass")


def load(
    model: str | os.PathLike[str] | None = None,
    *,
    engine: str = "fast",
    start_token: str = START_TOKEN,
    sentence_case: bool = False,
    breaks: bool = True,
    context: bool = True,
    oov: str = "guess",
    align_words: bool = False,
    document: bool = False,
    language: str | None = None,
    restore: str | None = None,
) -> Recaser:
    """A model, ready to recase; the options are those of `Recaser`.

    Args:
        model: the path of its file, or the name of a ready model (capfst/models/); if None, the model that the variable
            CAPFST_LM of the environment names, or `en`.

    Raises:
        CapfstError: no such model, or a model or options that cannot be used.
    """
    return Recaser(
        CapFst.open(models.find(model)),
        engine=engine,
        start_token=start_token,
        sentence_case=sentence_case,
        breaks=breaks,
        context=context,
        oov=oov,
        align_words=align_words,
        document=document,
        language=language,
        restore=restore,
    )


def identity(model: CapFst) -> str:
    """Tells models apart that were at the same path at different times."""
    text = f"{model.signature} {model.bytes} {model.checksum}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=4)
def reopen(path: str, expected: str, options: tuple[tuple[str, Any], ...]) -> Recaser:
    """The Recaser with these options of the model at `path`. CapfstError if it is not the one expected."""
    recaser = Recaser(CapFst.open(path), **dict(options))
    if identity(recaser.model) != expected:
        raise CapfstError(f"the model {path} is not the one that the work began with: start again, or put it back")
    return recaser
