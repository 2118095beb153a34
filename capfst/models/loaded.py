"""A model with what recasing makes of it, shared by all options: S ∘ T, the LM, and the context and bilingual models.

Parts that are not needed are never loaded. Threads share one LoadedModel.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from capfst.casing import encode
from capfst.casing.glued import FirstWords, glue
from capfst.casing.shapes import Shape, shapes
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.casing.units import Units
from capfst.casing.user_words import UserWords
from capfst.context.context_model import SPELLINGS, Context
from capfst.context.noise import Noise
from capfst.exceptions import missing_extra
from capfst.forks import cached
from capfst.fst.read import CapFst
from capfst.io.blocks import read_blocks
from capfst.lm.query import LanguageModel, Starts
from capfst.options import Path
from capfst.search import fast
from capfst.search.boundaries import Boundaries
from capfst.text.abbreviations import listed, of_languages
from capfst.text.given import read
from capfst.text.unicode import INFO

if TYPE_CHECKING:
    from capfst.bilingual.evidence import Evidence
    from capfst.punctuation.marks import Punctuator

SETS_OF_OPTIONS = 8
"""Whose parts and pipelines are kept."""


class LoadedModel:
    """The parts of `model`."""

    def __init__(self, model: CapFst) -> None:
        self.model = model
        self.pretokenized = model.signature.pretokenized
        self.lm = LanguageModel(model)
        self.user_words = lru_cache(SETS_OF_OPTIONS)(lambda words: UserWords(words, self.transducer))
        """User words, by the option `words`."""
        self.boundaries, self.engine = lru_cache(SETS_OF_OPTIONS)(self._boundaries), lru_cache(self._engine)

    def _boundaries(self, abbreviations: tuple[Path, ...], language: str | None, uses_context: bool) -> Boundaries:
        """Return the sentence boundaries, given files with the user's own abbreviations, and those of one of the
        model's languages, or of all. Errors are those of `read_blocks`."""
        blocks = (block for file in abbreviations for block in read_blocks([FilePath(file)], errors="refuse"))
        own = [line.strip() for block in blocks for line in block.decode().splitlines() if line.strip()]
        rules = self.model.symbols.language
        known = of_languages(rules.names if language is None else [language], own, rules.lowering)
        return Boundaries(known, self.transducer, self.context if uses_context and not self.pretokenized else None)

    def _engine(self, name: str) -> fast.Engine:
        """Return an engine of the search, which begins lines and sentences in the start state."""
        starts = Starts(self.model.start, self.model.start)
        if name == "fast":
            return fast.Engine(self.lm, starts)
        try:
            from capfst.search import openfst  # noqa: PLC0415  (pynini takes its time to load)
        except ModuleNotFoundError as error:
            raise missing_extra("`engine='openfst'` needs pynini", "openfst") from error
        return openfst.Engine(self.lm, starts)

    @cached
    def transducer(self) -> Transducer:
        unigrams = self.model.arcs["weight"][: len(self.model.symbols) - 1]
        return Transducer(
            self.model.symbols,
            self.model.starts,
            self.pretokenized,
            unigrams,
            None if self.pretokenized else self._glue,
        )

    def _glue(self) -> npt.NDArray[np.uint8]:
        """Return what each word may be among glued ones, as casing/glued.py has it."""
        model, symbols = self.model, self.model.symbols
        abbreviations = listed(symbols.language.names, symbols.language.lowering)
        return glue(symbols, model.starts, self.transducer.index, FirstWords.of(model), abbreviations)

    @cached
    def context(self) -> Context | None:
        """The context model; None if the model has none. ModelError if it cannot be used."""
        return Context.of(self.model)

    @cached
    def spellings(self) -> Context | None:
        """The context model of spellings, in models that restore diacritics; None if the model has none."""
        return Context.of(self.model, SPELLINGS)

    @cached
    def units(self) -> Units | None:
        """The units and abbreviations of its languages; None if the model does not restore case."""
        language = self.model.symbols.language
        return Units(language) if language.restores_case else None

    @cached
    def noise(self) -> Noise | None:
        """The value of the case of the input as evidence; None if the model has not learned it."""
        return Noise.of(self.model)

    @cached
    def punctuator(self) -> Punctuator:
        """What inserts marks. ModelError if the model has not learned it, or it cannot be used."""
        from capfst.punctuation.marks import Punctuation, Punctuator  # noqa: PLC0415  (few texts need it)

        return Punctuator(Punctuation.of(self.model), self.transducer)

    @cached
    def bilingual(self) -> Evidence | None:
        """The weights learned from translations; None if the model has none."""
        from capfst.bilingual.evidence import Evidence  # noqa: PLC0415  (few texts are translations)

        return Evidence.of(self.model)

    @cached
    def form_shapes(self) -> npt.NDArray[np.uint8]:
        """The shapes of the surface forms, by label."""
        return shapes(self.model.symbols)

    def has_forms(self, text: bytes) -> bool:
        """Return whether the model has a surface form of each word of the text."""
        return bool(self._words(text)[1].n_forms.all())

    def _words(self, text: bytes) -> tuple[npt.NDArray[np.uint8], Words]:
        buf = read(np.frombuffer(text, np.uint8), self.pretokenized).buf
        return buf, self.transducer.words(buf)

    def spaced(self, text: bytes) -> memoryview:
        """Return cased UTF-8 as the LM's words, separated by spaces; lines stay lines."""
        return encode.spaced(*self._words(text), self.pretokenized)

    def labels(self, text: bytes, as_learned: bool = False) -> npt.NDArray[np.uint32]:
        """Return the labels of the words of cased UTF-8, uint32[words + line ends]: that of `<unk>` for words that the
        model lacks, 0 for line ends.

        as_learned: a line begins with the lowercase form of a capitalized word, if the LM prefers that there
        (corpus/first_words.py), in models that restore case alone.
        """
        buf, words = self._words(text)
        labels = encode.labels(buf, words, self.model.symbols, self.lm.unknown)
        if as_learned and self.model.symbols.language.restored == "case":
            encode.lower_first(buf, words, self.lm.unknown, *self._first_forms, INFO, labels)
        return labels

    @cached
    def _first_forms(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The lowercase form of each word, by its first label, 0 if the model has none, int64[V + 1]; and the costs of
        all forms at the start of a sentence, float64[V + 1]."""
        model = self.model
        costs = np.full(len(model.symbols), np.inf)
        costs[1:] = model.arcs["weight"][: len(costs) - 1]
        if model.start != 0:
            first_words = FirstWords.of(model)
            costs += model.arcs["weight"][model.states[model.start]["pos"]]  # the backoff
            costs[first_words.labels] = first_words.costs
        small = np.flatnonzero(self.form_shapes == Shape.LOWER)
        forms = np.zeros(len(costs), np.int64)
        forms[model.starts[np.searchsorted(model.starts, small, "right") - 1]] = small
        return forms, costs
