"""P = bestpath(S ∘ T ∘ LM), on blocks of UTF-8 (Beaufays & Strope 2013, eq. 1).

`Pipeline.recase` and `_best` are the equation, a line for each stage: words and their surface forms
(casing/transducer.py: S ∘ T), weights on these from the context, the written case or the source of a translation
(context/, bilingual/), the best path through the LM (search/), and the text in the forms of that path
(casing/surface.py). Only case changes; lines and white space stay.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from capfst import models
from capfst.casing import written as input_case
from capfst.casing.shapes import AS_FORM
from capfst.casing.surface import starts_only, write
from capfst.casing.types import Casing, CasingCosts, Found, LabelPath, Words
from capfst.context.casing_costs import casing_costs
from capfst.context.channel import NO_STYLE, NOT_USED, Style, Written
from capfst.context.domains import ANY
from capfst.context.other_lines import rarity
from capfst.context.user_costs import add_user_words
from capfst.exceptions import CorpusError, ModelError, OptionError
from capfst.forks import cached
from capfst.io.alignments import Block, parse
from capfst.io.blocks import joined
from capfst.io.documents import PIECE, lines_of, whole_documents
from capfst.io.running_text import NO_PAUSES, Pauses, SpokenText
from capfst.io.wrapped import Unwrapped, rewrap, unwrap
from capfst.lm.query import Starts
from capfst.models.loaded import LoadedModel
from capfst.options import MAX_CASINGS, PUNCTUATION, RecaseOptions, Rescoring
from capfst.repair import Repaired, Stretch, repaired
from capfst.search.confidence import TEMPERATURE, TEMPERATURE_ALONE, Change, Spelled, changes
from capfst.search.paths import AllPaths, all_paths, max_marginals
from capfst.search.token_lattice import line_lattice, token_lattice
from capfst.system.parallel import map_stream
from capfst.system.stopping import check
from capfst.text.given import AS_BEFORE, AS_GIVEN, LOWER, Text, read
from capfst.text.sentences import openings
from capfst.text.tokenizer import NEWLINE, PROTECTED

if TYPE_CHECKING:
    from capfst.bilingual.evidence import Evidence
    from capfst.bilingual.word_facts import AnnotatedText
    from capfst.io.word_lattices import WordLattice

Buffer = npt.NDArray[np.uint8]
"""Valid UTF-8, of any number of lines."""
TakeStretches = Callable[[list[Stretch]], object]

Shapes = npt.NDArray[np.uint8]

_LONGEST_PIECE = 1 << 20  # bytes of a single line that are recased at once
_MOST_PATHS = 256  # for one casing
_COMBINING = (0xCC, 0xCD)  # the first bytes of combining diacritical marks, U+0300–036F
_MOST_PASSES = 4  # over lines that change each time that they are recased
_HEAD = 1 << 10  # bytes that show that most texts are not blank
_BLANK = re.compile(rb"[ \t\n]").search
_BEFORE = 1 << 12  # bytes of the text that another one continues
_CONTINUATION = bytes(range(0x80, 0xC0))  # no character begins with one of these
_ends_word = re.compile(rb"[^\s\"'(\[{-]\Z").search  # or with a mark after one
_begins_word = re.compile(rb"[^\s!-/:-@\[-`{-~]").match


class Pipeline:
    """The stages for one model and one set of options. Threads may share a pipeline.

    Raises:
        OptionError: an option that the model does not support.
        ModelError: a model that cannot be used.
    """

    def __init__(self, loaded: LoadedModel, options: RecaseOptions) -> None:
        self.loaded, self.options, self.language = loaded, options, ANY
        self.units, self.pretokenized = loaded.units, loaded.pretokenized
        model = loaded.model
        self._check_restores()
        self.user_words = loaded.user_words(options.words) if options.words else None
        self.input_case = self._input_case()
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(self._load)
            cost, after_token = loaded.lm.arc(model.start, loaded.lm.label(options.start_token))
            text_has_case = not model.symbols.language.restores_case
            begins_alone = options.capitalizes_first or text_has_case
            self.start_cost, start = (0.0, model.start) if begins_alone else (cost, after_token)
            self.engine = copy.copy(loaded.engine(options.engine))
            # A sentence inside a line also gets intrinsic case, to which `sentence_case` adds the capital, unless the
            # text already has its case. The start token is not part of the text, so it costs nothing.
            self.engine.starts = Starts(start, model.start if text_has_case else after_token)
        making.result()
        if options.language is not None:
            self.language = self._number_of(options.language)

    @cached
    def writer(self) -> Pipeline:
        """The pipeline that recases all of a text, as if it had no case, so that `repair` can compare them."""
        marks = PUNCTUATION[1] if "punctuation" in self.loaded.model.parts else None
        changed = replace(self.options, repair=False, sentence_case=True, input_case="ignore", restore=marks)
        return Pipeline(self.loaded, changed)

    def _check_restores(self) -> None:
        model, options = self.loaded.model, self.options
        restored = model.symbols.language.restored
        if options.restore not in (None, restored, *PUNCTUATION):
            raise OptionError(
                f"`restore` is {options.restore!r}, but the model {model.path} restores {restored}. Use a model trained"
                f" with `restore={options.restore!r}`."
            )
        self.punctuator = self.loaded.punctuator if options.restores_marks else None
        if restored != "case":
            options.check_call(
                "respelled" if model.symbols.language.restores_case else "uncased",
                f"{model.path} restores {restored}: ",
            )

    def _input_case(self) -> str:
        """Return the use of the written case that the options and the model allow."""
        wanted, model = self.options.input_case, self.loaded.model
        is_learned = self.options.context and self.loaded.noise is not None
        if wanted is None:
            return "evidence" if is_learned else "ignore"
        if wanted == "evidence" and not is_learned:
            raise OptionError(
                f"`input_case='evidence'` needs a context model that has learned it: {model.path} has not, or"
                " `context=False` leaves it out. Train the model again, or use `input_case='keep'`."
            )
        return wanted

    def _load(self) -> None:
        """Load the parts of the model that the options need, and call their kernels once, while the engine is built."""
        options, loaded = self.options, self.loaded
        self.context, self.spellings = (loaded.context, loaded.spellings) if options.context else (None, None)
        self.boundaries = loaded.boundaries(options.abbreviations, options.language, options.context)
        line = np.frombuffer(b"\n", np.uint8)
        words = loaded.transducer.words(line)
        path = LabelPath(words.first_labels, words.may_begin)
        self.surface(line, words, path, self._context_costs(line, words))

    @property
    def is_written(self) -> bool:
        """Whether the pieces from `prepared` are the output: if only marks are restored, or after a repair."""
        return self.options.restore == PUNCTUATION[0] or self.options.repair

    def _number_of(self, language: str) -> int:
        """Return the context model's number of a language, or ANY if it is the model's only one."""
        known = self.loaded.model.symbols.language.names
        if known == [language]:
            return ANY
        learned = self.context or self.spellings
        if language not in known or (learned and learned.n_languages != len(known)):
            if language in models.languages():
                remedy = f"Use the model {language}"
            elif len(known) > 1:
                remedy = f"Use one of {', '.join(known)}"
            else:
                remedy = f"Train a model with {language}=FILE and other languages"
            raise OptionError(
                f"`language` is {language!r}, which {self.loaded.model.path} does not distinguish from other languages."
                f" {remedy}, or leave `language` out."
            )
        return known.index(language)

    def recase(
        self, buf: Buffer, block: Block | None = None, style: Style | None = None, begin: int = 0
    ) -> tuple[Words, memoryview]:
        """P = bestpath(S ∘ T ∘ LM): return the words of a text, and all of it in its best casing.

        block: the same text with its source, if it is a translation. style: that of the text to which the lines belong;
        None if each line is independent. begin: a byte offset; the words before it stay as they are, and are evidence
        for the others.
        """
        text = self.text(buf, block)
        words = self.words(text.buf)  # S ∘ T
        given = self._as_given(words, text)
        if self.is_written:
            return given, buf.data
        recased = self._best(text.buf, words, block, style, int(np.searchsorted(given.starts, begin)) if begin else 0)
        if not begin and self._uses_case(text.buf, style, block):
            recased = self._settled(text.buf, words, recased, style)
        return given, self.written(text, words, recased)

    def _best(
        self, buf: Buffer, words: Words, block: Block | None = None, style: Style | None = None, n_given: int = 0
    ) -> memoryview:
        check()
        costs = self.costs(buf, words, block, style=style, n_given=n_given, restricts=True)  # weights on S ∘ T
        path = self.engine.best(words, costs.arc_costs)  # bestpath(S ∘ T ∘ LM)
        return self.surface(buf, words, path, costs, n_given)  # P

    def text(self, buf: Buffer, block: Block | None = None) -> Text:
        """Return a text as all stages read it: with characters instead of entities, and without the endings of
        inclusive forms. block: as in `recase`; an alignment counts the words of the original text."""
        is_aligned = block is not None and block.source is not None
        return read(buf, keeps_entities=self.pretokenized, keeps_spaces=is_aligned)

    def written(self, text: Text, words: Words, recased: memoryview) -> memoryview:
        """Return a recased text with the entities and the endings of inclusive forms that the original text has."""
        if not text.starts.size:
            return recased
        of_protected = words.token_types == PROTECTED
        starts, ends = words.starts[of_protected], words.ends[of_protected]
        is_protected = np.searchsorted(starts, text.starts) > np.searchsorted(ends, text.starts)
        changed = np.uint8(AS_BEFORE if self.input_case == "keep" else LOWER)
        endings = np.where(is_protected, np.uint8(AS_GIVEN), changed)
        return text.written(np.frombuffer(recased, np.uint8), self.loaded.model.symbols.language, endings)

    @staticmethod
    def _as_given(words: Words, text: Text) -> Words:
        return words._replace(starts=text.offsets(words.starts), ends=text.offsets(words.ends))

    def tokens(self, buf: Buffer) -> Words:
        """Return the words of a text, with their offsets in the original text."""
        text = self.text(buf)
        return self._as_given(self.loaded.transducer.words(text.buf), text)

    def marks(self, buf: Buffer) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return the marks that a text lacks: their byte offsets, and the marks."""
        if self.punctuator is None:
            return np.empty(0, np.int64), np.empty(0, np.uint8)
        return self.punctuator.marks(buf)

    def punctuated(self, buf: Buffer, begin: int = 0, pauses: Pauses = NO_PAUSES) -> Buffer:
        """Return a text with marks restored after the byte offset `begin`, before it is recased."""
        if self.punctuator is None:
            return buf
        return self.punctuator.insert(buf, begin, self.options.keep_marks, pauses)

    def _uses_case(self, buf: Buffer, style: Style | None, block: Block | None = None) -> bool:
        """Return whether the written case of some lines may count. In a text without capitals, and in a translation, it
        does not count."""
        if block is not None and block.source is not None:
            return False
        if self.input_case == "ignore" or self.loaded.model.symbols.language.restored != "case":
            return self.input_case != "ignore"
        return (style is not None and style.has_capital) or input_case.has_capital(buf)

    def _settled(self, buf: Buffer, words: Words, recased: memoryview, style: Style | None) -> memoryview:
        """Recase again the lines whose output would be recased differently, because its case no longer counts."""
        has_capital = style is not None and style.has_capital
        after = np.frombuffer(recased, np.uint8)
        line_ends, ends = input_case.line_ends(buf, words, after)
        numbers = input_case.has_lost_contrast(buf, line_ends, after, ends, has_capital)
        if self.input_case == "keep":
            title = input_case.has_become_title(buf, words, self.pretokenized, after)
            numbers = np.union1d(numbers, title)
        elif self.loaded.model.symbols.language.restored != "case":  # a stray combining mark may be a word's only one
            marks = np.flatnonzero(np.isin(buf, _COMBINING))
            numbers = np.union1d(numbers, np.searchsorted(line_ends, marks))
        if not numbers.size:
            return recased
        begins = np.append(0, ends[:-1] + 1)[numbers].tolist()
        lines = list(zip(begins, ends[numbers].tolist(), strict=True))
        before, settled = b"", b"\n".join([recased[begin:end] for begin, end in lines])
        for _ in range(_MOST_PASSES):
            if settled == before:
                break
            before, buf = settled, np.frombuffer(settled, np.uint8)
            settled = bytes(self._best(buf, self.words(buf)))
        parts: list[bytes | memoryview] = []
        copied = 0
        for (begin, end), line in zip(lines, settled.split(b"\n"), strict=True):
            parts += [recased[copied:begin], line]
            copied = end
        return memoryview(b"".join([*parts, recased[copied:]]))

    def words(self, buf: Buffer) -> Words:
        """S ∘ T: return the words of a text with the labels of their surface forms, and where sentences may begin."""
        words = self.loaded.transducer.words(buf)
        if self.options.breaks:
            self.boundaries.decide(buf, words)
        else:
            words.may_begin[:] = False
        return words

    def costs(
        self,
        buf: Buffer,
        words: Words,
        block: Block | None = None,
        include_pruned: bool = False,
        style: Style | None = None,
        n_given: int = 0,
        restricts: bool = False,
    ) -> CasingCosts:
        """Return the weights on S ∘ T: costs (−ln) of each casing in its context, given the written case and, for a
        translation, its source; including units, and the words that the user gives, which are arcs of T.

        include_pruned: also of pruned casings, which cost +inf otherwise, and with the costs by shape (`options`).
        style: as in `recase`. n_given: the first words that stay as they are, and are evidence for the others.
        restricts: as in `add_user_words`, for units.
        """
        symbols = self.loaded.model.symbols
        found = self.user_words.find(buf, words) if self.user_words else None
        keeps_pruned = include_pruned or (found is not None and len(found.weighted) > 0)
        written = None
        if block is not None and block.source is not None:
            costs = self._bilingual_costs(buf, words, block)
        else:
            written = self._written(buf, words, style, n_given)
            given = self._given_shapes(buf, words, found, n_given)
            costs = self._context_costs(buf, words, keeps_pruned, given, written, n_given)
            if self.input_case == "keep":
                capitals, keeps_capital = input_case.kept(buf, words, self.pretokenized)
                costs = add_user_words(costs, words, capitals, symbols, keeps_pruned)
                costs = costs._replace(keeps_capital=keeps_capital)
        units = self.units.find(buf, words, costs.languages, self.input_case) if self.units else None
        if units is not None:
            costs = add_user_words(costs, words, units, symbols, keeps_pruned, restricts=restricts)
        if found is not None:
            costs = add_user_words(costs, words, found, symbols, include_pruned, written)
        return costs

    def _given_shapes(self, buf: Buffer, words: Words, found: Found | None, n_given: int) -> Shapes | None:
        """Return the shapes of the words whose case is given, as in `casing_costs`."""
        given = None
        if found is not None:
            given = np.full(len(words.starts), AS_FORM, np.uint8)
            given[found.fixed["word"]] = found.fixed["shape"]
        if n_given:
            before = input_case.shapes_before(buf, words, self.pretokenized, n_given)
            given = before if given is None else np.where(before == AS_FORM, given, before)
        return given

    def _context_costs(
        self,
        buf: Buffer,
        words: Words,
        include_pruned: bool = False,
        given: Shapes | None = None,
        written: Written = NOT_USED,
        n_given: int = 0,
    ) -> CasingCosts:
        if self.context is None and self.spellings is None:
            return CasingCosts()
        memory = rarity(words, self.loaded.model.arcs) if self.options.document or n_given else None
        return casing_costs(
            self.context, buf, words, self.loaded.transducer, self.options.oov == "guess", include_pruned, memory,
            self.options.cells, self.language, self.spellings, given, written, n_given,
        )  # fmt: skip

    def _written(self, buf: Buffer, words: Words, style: Style | None, n_given: int) -> Written:
        """Return the written case of a text as evidence; of single lines if `style` is None."""
        after = buf[words.ends[n_given - 1] :] if n_given else buf
        if self.input_case != "evidence" or not self._uses_case(after, style):
            return NOT_USED
        noise = self.loaded.noise
        assert noise is not None
        shapes = input_case.written_evidence(buf, words, self.loaded.model.symbols, self.pretokenized)
        return Written.of(shapes, noise.evidence, NO_STYLE if style is None else style.counts)

    def surface(self, buf: Buffer, words: Words, path: LabelPath, costs: CasingCosts, n_given: int = 0) -> memoryview:
        """P: return the text with its words in the surface forms of a path. The first n_given words stay."""
        symbols, sentence_case = self.loaded.model.symbols, self.options.capitalizes_first
        may_change = np.arange(len(words.starts)) >= n_given if n_given else None
        if self.options.only:
            path, costs, of_starts = starts_only(buf, words, path, costs, symbols, self.pretokenized)
            sentence_case, may_change = False, of_starts if may_change is None else of_starts & may_change
        return write(buf, words, path, costs, symbols, self.pretokenized, sentence_case, may_change)

    # Texts of any size, piece by piece

    def recase_utf8(self, text: bytes, style: Style | None = None) -> memoryview:
        """Return valid UTF-8 in its best casing. style: as in `recase`."""
        return self._recased(text, style)[0]

    def _recased(self, text: bytes, style: Style | None) -> tuple[memoryview, list[Stretch]]:
        """Return a text in its best casing, and, with the option `repair`, its repaired stretches."""
        had_capital = style is None or style.has_capital
        recased, stretches = [], []
        text = self.unwrapped(text)
        for piece, of_piece, found in self.prepared(text, style):
            stretches += found.stretches if found else []
            stays = self.is_written or is_blank(piece)
            written = found.text.data if found else piece.data
            recased.append(written if stays else self.recase(piece, style=of_piece)[1])
        whole = self.rewrapped(text, recased[0] if len(recased) == 1 else memoryview(b"".join(recased)))
        has_first = style is not None and style.has_capital > had_capital  # the first capitals of the text
        if has_first and not self.punctuator and not input_case.has_capital(np.frombuffer(whole, np.uint8)):
            return self._recased(bytes(whole), None)[0], stretches  # all capitals were wrong, so they are no evidence
        return whole, stretches

    def pieces(self, text: bytes, style: Style | None = None) -> Iterator[tuple[Buffer, Style | None]]:
        """Yield the pieces of a text that are recased one after the other, and the style of each: that of the text or,
        with the option `document`, of the document."""
        for part in whole_documents([text]) if self.options.document and text else (text,):
            of_part = Style() if self.options.document else style
            head = of_part.head(part) if of_part and self.input_case == "evidence" else 0
            if of_part and head:
                for piece in pieces(part[:head]):
                    yield piece, of_part
                of_part.end_head()
            if head < len(part) or not part:
                for piece in pieces(part[head:]):
                    yield piece, of_part

    def prepared(
        self, text: bytes, style: Style | None = None
    ) -> Iterator[tuple[Buffer, Style | None, Repaired | None]]:
        """Yield the pieces of a text and their style as `pieces` does, with marks restored. With the option `repair`,
        also yield the repaired text, with the spans of the stretches in the text, and their lines in the file."""
        source = text.wrapped if isinstance(text, Unwrapped) else text
        if not self.options.repair:
            pauses, begin = NO_PAUSES, 0
            if self.punctuator and isinstance(source, SpokenText):
                pauses = source.running.pauses()
            for piece, of_piece in self.pieces(text, style):
                end = begin + piece.size
                if self.punctuator and not is_blank(piece):
                    piece = self.punctuated(piece, pauses=pauses.between(begin, end))
                yield piece, of_piece, None
                begin = end
            return
        begin = counted = line = 0
        for piece, _ in self.pieces(text):
            found = Repaired(piece, piece, [], []) if is_blank(piece) else repaired(self.writer, piece)
            for k, (start, end) in enumerate(found.spans):
                at, seconds = begin + start, None
                found.spans[k] = at, begin + end
                if isinstance(source, SpokenText):
                    line, seconds = source.running.place(at)
                else:
                    line, counted = line + source.count(b"\n", counted, at), at
                found.stretches[k] = found.stretches[k]._replace(line=line, seconds=seconds)
            yield found.given, None, found
            begin += piece.size

    def recase_after(self, before: bytes, text: bytes) -> memoryview:
        """Return a text that continues another one on its line in its best casing."""
        self.options.check_call("before")
        first = next(pieces(text))
        before = continued(before, first)
        buf = self.punctuated(np.frombuffer(before + first.tobytes(), np.uint8), len(before))
        recased = self.recase(buf, begin=len(before))[1][len(before) :]
        rest = text[len(first) :]
        return memoryview(bytes(recased) + self.recase_utf8(rest)) if rest else recased

    def recase_text(self, text: bytes) -> memoryview:
        """Return a text in its best casing, with its style as evidence."""
        return self.recase_utf8(text, Style())

    def unwrapped(self, text: bytes) -> bytes:
        """Return a text in which, with the option `wrapped`, the lines of a paragraph are one."""
        return unwrap(text, self.loaded.has_forms) if self.options.wrapped else text

    def rewrapped(self, text: bytes, recased: memoryview) -> memoryview:
        """Return the recased text of `unwrapped` with the original line ends."""
        return rewrap(text, recased) if isinstance(text, Unwrapped) else recased

    def recase_blocks(
        self, blocks: Iterable[bytes], jobs: int = 1, take: TakeStretches = lambda found: None
    ) -> Iterator[bytes | memoryview]:
        """Recase a text, in blocks of whole lines, in `jobs` threads. Yield the blocks in order, a few blocks late; for
        the running text of a part of a file, yield the part.

        take: called with the repaired stretches of each block, with their lines in the file."""
        style, blocks = Style(), iter(blocks)

        def recased_of(block: bytes) -> tuple[bytes | memoryview, list[Stretch], int]:
            """Return the recased block, without keeping it; and, for `repair`, its stretches and number of lines."""
            recased, found = self._recased(block, style)
            if isinstance(block, SpokenText):
                return block.running.written(recased), found, block.running.n_lines
            return recased, found, block.count(b"\n") if self.options.repair else 0

        if self.options.wrapped:
            blocks = joined(whole_documents(blocks))
        elif self.options.document:
            blocks = whole_documents(blocks)
        elif self.options.cells or self.options.repair:
            blocks = _in_pieces(blocks)
        if self._learns_style:
            for block in blocks:
                yield recased_of(block)[0]
                if style.is_learned:
                    break
        line = 0
        for recased, found, n_lines in map_stream(recased_of, blocks, jobs):
            if self.options.repair:
                take([stretch._replace(line=line + stretch.line) for stretch in found])
                line += n_lines
            yield recased

    @property
    def _learns_style(self) -> bool:
        """Whether the first lines of a text show its style: not with `document`, whose documents have their own, and
        not with `repair`."""
        return self.input_case == "evidence" and not (self.options.document or self.options.repair)

    def style_after(self, head: bytes) -> Style:
        """Return the style of a text that begins with these lines."""
        style = Style()
        self.learn_style(head, style)
        return style.frozen()

    def learn_style(self, lines: bytes, style: Style) -> None:
        """Learn the style of a text from its next lines, without recasing them."""
        if self._learns_style and not style.is_learned:
            for piece, of_piece, _ in self.prepared(self.unwrapped(lines), style):
                text = self.text(piece).buf
                self.costs(text, self.words(text), style=of_piece)

    # Translations

    def recase_aligned_blocks(self, blocks: Iterable[Block], jobs: int = 1) -> Iterator[memoryview]:
        """Recase translated lines as `recase_blocks` does."""
        self.check_bilingual()
        return map_stream(lambda block: self.recase(np.frombuffer(block.target, np.uint8), block)[1], blocks, jobs)

    def check_bilingual(self) -> Evidence:
        """Return the bilingual part of the model.

        Raises:
            ModelError: the model has none.
            OptionError: an option is for whole texts: translations are recased line by line.
        """
        self.options.check_call("source")
        if self.loaded.bilingual is None:
            raise ModelError(
                f"{self.loaded.model.path}: the model has learned nothing from translations. Make one with"
                " `train_bilingual`."
            )
        return self.loaded.bilingual

    def _bilingual_costs(self, buf: Buffer, words: Words, block: Block) -> CasingCosts:
        from capfst.bilingual.costs import add_evidence  # noqa: PLC0415  (few texts are translations)

        evidence, loaded, guesses = self.check_bilingual(), self.loaded, self.options.oov == "guess"
        linked = self.linked(buf, words, block)
        alone = self._context_costs(buf, words, include_pruned=True)
        return add_evidence(alone, *linked, evidence, loaded.model.symbols.strings, loaded.form_shapes, guesses)

    def linked(
        self, buf: Buffer, words: Words, block: Block
    ) -> tuple[AnnotatedText, AnnotatedText, npt.NDArray[np.int32]]:
        """Return translations and their source as the bilingual features read them, and int32[words]: the index of each
        word's source word, or −1."""
        from capfst.bilingual.word_facts import annotate, link  # noqa: PLC0415

        there = self.text(np.frombuffer(block.source or b"", np.uint8), block).buf
        target = annotate(buf, words, self.options.align_words)
        source = annotate(there, self.loaded.transducer.words(there), self.options.align_words)
        pairs = parse(block.align or b"", len(target.lines), block.names.align, block.line)
        return target, source, link(target, source, pairs, block.names, block.line)

    # More about one line

    def line(self, line: Block) -> tuple[Text, Words]:
        """Return one line, in the case that counts when it is recased, and its words; CorpusError if it has a line
        break."""
        self.options.check_call("single_line")
        text = self.text(np.frombuffer(line.target, np.uint8), line)
        words = self.words(text.buf)
        if (words.token_types == NEWLINE).any():
            raise CorpusError(
                "expected a single line without a line break: nbest, confidence, explain and sentences take one line."
                " Explain a line of a document with `document` and `line`."
            )
        if self._uses_case(text.buf, None, line):
            recased = self._best(text.buf, words)
            settled = np.frombuffer(self._settled(text.buf, words, recased, None), np.uint8)
            of_settled = self.words(settled)
            if settled.data != recased and np.array_equal(of_settled.starts, words.starts):
                return text._replace(buf=settled), of_settled
        return text, words

    def nbest(self, line: Block, n: int) -> list[tuple[float, bytes]]:
        """Return up to n different casings of one line with their costs (−ln P), best first."""
        text, words = self.line(line)
        costs = self.costs(text.buf, words, line, include_pruned=True)
        return [(cost, casing) for casing, (cost, _) in self.nbest_paths(text, words, costs, n).items()]

    def nbest_paths(self, text: Text, words: Words, costs: CasingCosts, n: int) -> dict[bytes, Casing]:
        """Return up to n different casings of one line, best first, with the cost and the path of each."""
        if not 1 <= n <= MAX_CASINGS:
            raise OptionError(f"`n` is {n}. Use 1 to {MAX_CASINGS}.")
        best: dict[bytes, Casing] = {}
        n_paths = n
        while True:
            check()
            paths = self.engine.nbest(words, n_paths, costs.arc_costs)
            for cost, path in paths:
                casing = self.casing(text, words, path, costs).tobytes()
                best.setdefault(casing, (cost + self.start_cost, path))
            if len(best) >= n or len(paths) < n_paths or n_paths > _MOST_PATHS * n:
                return dict(islice(best.items(), n))
            n_paths *= 2  # paths that differ in sentence boundaries, or only before `sentence_case`, are written alike

    def best_words(self, lattice: WordLattice, rescoring: Rescoring) -> tuple[float, bytes]:
        """Return the cost of the best path through a word lattice, and its words, which must still be recased, because
        this search has no weights on T. Raises: CorpusError if the LM allows no path."""
        check()
        words = self.loaded.transducer.words(self.text(np.frombuffer(lattice.spoken, np.uint8)).buf)
        cost, arcs = self.engine.best_arcs(token_lattice(lattice, words, self.loaded.lm, rescoring))
        if cost == np.inf:
            name = lattice.name.decode(errors="replace")
            raise CorpusError(f"the lattice {name!r} has no path whose words the model allows. Remove it.")
        found = [lattice.words[word] for word in lattice.arcs["word"][arcs]]
        return cost + rescoring.weight * self.start_cost, b" ".join(filter(None, found))

    def confidence(self, line: Block) -> tuple[str, list[Change]]:
        """Return one line in its best casing, and the changed words with the log-odds of their casing."""
        text, words = self.line(line)
        costs = self.costs(text.buf, words, line, include_pruned=True)
        passes = openings(
            text.buf, words.tokens, self.pretokenized, self.loaded.model.symbols.language, costs.languages
        )
        recased, changed = changes(
            text.given,
            self._as_given(words, text),
            self.engine.best(words, self.costs(text.buf, words, line).arc_costs),
            max_marginals(self.paths(words, costs, passes), words),
            costs,
            partial(self.spelled, text, words, costs),
            self.temperature,
        )
        return recased, changed

    @property
    def temperature(self) -> float:
        """The divisor that turns the extra cost of another casing into the log-odds that the best one is right."""
        return TEMPERATURE_ALONE if self.context is None else TEMPERATURE

    def spelled(self, text: Text, words: Words, costs: CasingCosts, path: LabelPath, shapes: Shapes | None) -> Spelled:
        """Return a path of a line as it is written, with unseen casings in the given shapes."""
        recased = self.casing(text, words, path, costs._replace(shapes=shapes))
        data, tokens = recased.tobytes(), self.tokens(recased)
        return Spelled(data, [data[s:e] for s, e in zip(tokens.starts, tokens.ends, strict=True)], tokens)

    def paths(self, words: Words, costs: CasingCosts, stays_first: npt.ArrayLike) -> AllPaths:
        """Return all paths through a line. stays_first: as for `line_lattice`."""
        lm, starts = self.loaded.lm, self.engine.starts
        return all_paths(line_lattice(words, costs.arc_costs, lm.unknown, stays_first), lm, starts)

    def casing(self, text: Text, words: Words, path: LabelPath, costs: CasingCosts) -> Buffer:
        """Return a text with its words in the surface forms of a path, and everything else as in the original text."""
        return np.frombuffer(self.written(text, words, self.surface(text.buf, words, path, costs)), np.uint8)

    def sentences(self, line: bytes) -> list[bytes]:
        """Return the sentences of one line in their best casing, each with the white space after it."""
        text, words = self.line(Block(line))
        costs = self.costs(text.buf, words)
        path = self.engine.best(words, costs.arc_costs)
        recased = self.casing(text, words, path, costs)
        starts = self.tokens(recased).starts[path.begins].tolist()
        return [recased[start:end].tobytes() for start, end in pairwise([0, *starts, recased.size])]


def _in_pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text in pieces that do not depend on the blocks in which it arrives; parts of a file stay."""
    for are_parts, same in groupby(blocks, lambda block: isinstance(block, SpokenText)):
        if are_parts:
            yield from same
        else:
            yield from joined((line for block in same for line in lines_of(block)), PIECE)


def is_blank(buf: Buffer) -> bool:
    """Return whether a text is white space, which is copied: a small file of it may decompress to gigabytes."""
    return not bytes(buf[:_HEAD]).strip() and not bytes(buf).strip()


def continued(before: bytes, text: bytes | Buffer) -> bytes:
    """Return the end of a text that another one continues, with a blank after its last word if there is none."""
    before = before[-_BEFORE:].lstrip(_CONTINUATION)
    return before + b" " if _ends_word(before) and _begins_word(bytes(text[:4])) else before


def pieces(text: bytes) -> Iterator[Buffer]:
    """Yield a text in pieces, so that memory does not grow with its size: whole lines, or, of a line of more than 1 MB,
    pieces that end after a blank."""
    start = 0
    while len(text) - start > PIECE + PIECE // 8:  # a few more lines do not make another piece
        end = text.rfind(b"\n", start, start + PIECE) + 1
        end = end or text.find(b"\n", start + PIECE, start + _LONGEST_PIECE) + 1
        if not end:
            blank = _BLANK(text, start + _LONGEST_PIECE)
            end = blank.end() if blank else len(text)
        yield np.frombuffer(text, np.uint8, end - start, start)
        start = end
    if start < len(text) or not text:
        yield np.frombuffer(text, np.uint8, -1, start)
