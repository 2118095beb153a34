"""Recasing: text in, text in its best casing out, P = bestpath(S ∘ T ∘ LM).

The way of a buffer of lines: words and their surface forms (transducer.py: S ∘ T) → the best path through the LM
(fast.py, or openfst.py, which says the same in FSTs) → the text in the forms of that path (surface.py). Nothing but
case changes; lines and white space stay.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice

import numpy as np
import numpy.typing as npt

from capfst import encode
from capfst.errors import CapfstError
from capfst.fst_read import CapFst
from capfst.lm import LanguageModel
from capfst.parallel import in_order
from capfst.surface import write
from capfst.tokenize import NEWLINE
from capfst.transducer import Transducer, Words

START_TOKEN = "and"
"""Beaufays & Strope 2013, §3.2.2."""

ENGINES = ("fast", "openfst")

_LINES = 4096  # lines of an iterable that are recased at once


class Recaser:
    """Restores case with one model; not to be used by several threads at once.

    engine: `fast`, or `openfst`, the equation as composed FSTs: the same answers, slowly. start_token: a word put in
    front of each line and removed afterwards, so that only intrinsic case is restored; `<unk>` or a
        word that the model does not know stands for any word. Without effect with `sentence_case`.
    sentence_case: takes each line for a sentence, which the LM saw starting, and gives its first word a capital.
    """

    def __init__(
        self,
        model: CapFst,
        *,
        engine: str = "fast",
        start_token: str = START_TOKEN,
        sentence_case: bool = False,
    ) -> None:
        self.model = model
        self.sentence_case = sentence_case
        self.pretokenized = model.signature.tokenizer == "none"
        self.transducer = Transducer(model.symbols, model.starts, self.pretokenized)
        self.lm = LanguageModel(model)
        self._start_cost, self._start = 0.0, model.start
        if not sentence_case:
            self._start_cost, self._start = self.lm.arc(model.start, self.lm.label(start_token))
        if engine not in ENGINES:
            raise CapfstError(f"there is no engine {engine!r}: use one of {', '.join(ENGINES)}")
        self._engine_of = importlib.import_module(f"capfst.{engine}").Engine
        self.engine = self._engine_of(self.lm, self._start)

    def recase(self, text: str) -> str:
        """The text, of one or many lines, in its best casing."""
        return str(self.recase_utf8(_utf8(text)), "utf-8", "surrogatepass")

    def recase_lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Each line in its best casing, with or without its line end as it comes; a few thousand are read ahead."""
        lines = iter(lines)
        while batch := list(islice(lines, _LINES)):
            recased = iter(self.recase("\n".join(batch)).split("\n"))
            for line in batch:
                yield "\n".join(islice(recased, line.count("\n") + 1))

    def recase_utf8(self, text: bytes) -> memoryview:
        """As `recase`, for valid UTF-8."""
        buf = np.frombuffer(text, np.uint8)
        words = self.transducer.words(buf)
        return self._write(buf, words, self.engine.best(words))

    def recase_blocks(self, blocks: Iterable[bytes], jobs: int = 1) -> Iterator[memoryview]:
        """As `recase_utf8`, for blocks of whole lines, in `jobs` threads; in order, a few blocks ahead of what is
        taken."""
        idle = [copy(self) for _ in range(jobs)]
        for recaser in idle:
            recaser.engine = self._engine_of(self.lm, self._start)

        def recase(block: bytes) -> memoryview:
            recaser = idle.pop()
            try:
                return recaser.recase_utf8(block)
            finally:
                idle.append(recaser)

        return in_order(recase, blocks, jobs)

    def nbest(self, text: str, n: int) -> list[tuple[float, str]]:
        """Up to n different casings of one line, best first, with their costs (−ln P, the start token's included)."""
        from capfst import openfst  # noqa: PLC0415  (loads pynini, which nothing else here needs)

        buf = np.frombuffer(_utf8(text), np.uint8)
        words = self.transducer.words(buf)
        if (words.kinds == NEWLINE).any():
            raise ValueError("nbest takes one line, without its line end")
        best: dict[str, float] = {}
        ranges = openfst.Engine(self.lm, self._start).ranges(words, slice(None))
        for cost, labels in openfst.best_paths(self.lm, self._start, ranges, n):
            choice = np.array(labels, np.uint32)
            choice[words.forms == 0] = 0
            casing = str(self._write(buf, words, choice), "utf-8", "surrogatepass")
            best.setdefault(casing, cost + self._start_cost)
        return [(cost, casing) for casing, cost in best.items()]

    def knows(self, token: str) -> bool:
        """Whether the model has a surface form of each word of the token."""
        words = self.transducer.words(np.frombuffer(_utf8(token), np.uint8))
        return bool(words.forms.all())

    def words_utf8(self, text: bytes) -> memoryview:
        """The words that the LM sees of cased UTF-8, with spaces between; a line stays a line."""
        buf = np.frombuffer(text, np.uint8)
        return encode.spaced(buf, self.transducer.words(buf), self.pretokenized)

    def labels(self, text: bytes) -> npt.NDArray[np.uint32]:
        """The labels of the words of cased UTF-8: `<unk>`'s for words the model does not know, 0 after each line."""
        buf = np.frombuffer(text, np.uint8)
        words = self.transducer.words(buf)
        return encode.labels(buf, words, self.model.symbols, self.lm.unknown, self.pretokenized)

    def _write(self, buf: npt.NDArray[np.uint8], words: Words, choice: npt.NDArray[np.uint32]) -> memoryview:
        return write(buf, words, choice, self.model.symbols, self.pretokenized, self.sentence_case)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def load(
    path: str | os.PathLike[str],
    *,
    engine: str = "fast",
    start_token: str = START_TOKEN,
    sentence_case: bool = False,
) -> Recaser:
    """The model in the file `path`, ready to recase. CapfstError if it cannot be used."""
    return Recaser(CapFst.open(path), engine=engine, start_token=start_token, sentence_case=sentence_case)
