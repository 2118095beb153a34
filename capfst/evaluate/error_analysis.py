"""Error analysis: which words a hypothesis gets wrong, and of what kind they are (Beaufays & Strope 2013, §6.3).

In: a reference and a hypothesis of the same words, as for `score`, which has the same tokens and errors; and the model,
if the kinds of words are to be told by what it knows of them. Out: `Analysis`: a confusion matrix of shapes, tokens and
errors by kind, and the most frequent wrong words with excerpts; as text, as JSON, and, by `error_page`, as HTML.

A token is of the first of these kinds that fits it or, but for the first kind, any one of its words (as the model
splits it; words without cased letters do not count):

* sentence-initial: a line's first token with a letter, which `--skip-first` leaves out;
* out of vocabulary: the model has no surface form of the word;
* unseen casing: the model has surface forms of the word, but not the reference's;
* ambiguous: the model has the reference's surface form and others;
* unambiguous: the model has the reference's surface form only. Also URLs and the like, which pass through untouched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shape_with
from capfst.evaluate.compare import CORRECT, SHAPE_NAMES, TOKENS, UNKNOWN, LineCounts, compare, refuse_text
from capfst.evaluate.lossy_counting import Excerpt, LossyCounter, WrongWord
from capfst.evaluate.score import aligned, grouped, percent, read_lines, show
from capfst.text.tokenizer import COMPOUND, NEWLINE, PROTECTED, tokenize
from capfst.text.unicode import CLASS, INFO, IS_CASED, IS_UPPER, LETTER

if TYPE_CHECKING:
    from capfst.recaser import Recaser

CASED_SHAPES = SHAPE_NAMES[: Shape.CASELESS]
KINDS = ("sentence-initial", "out of vocabulary", "unseen casing", "ambiguous", "unambiguous")
INITIAL, OOV, UNSEEN, AMBIGUOUS, UNAMBIGUOUS = range(5)
ELSEWHERE = "elsewhere"  # without a model: all kinds but the first

TOP = 30  # the most frequent wrong words that are shown
EXCERPTS = 3  # of a wrong word
_EXCERPT_SIDE = 60  # characters of an excerpt before and behind the word
_REMEMBERED = 1 << 20  # tokens whose kind is remembered


@dataclass(repr=False)
class Analysis:
    """The errors of a hypothesis. All counts are of tokens with cased letters."""

    kinds: tuple[str, ...]  # their names
    lines: int = 0
    confusion: npt.NDArray[np.int64] = field(  # [shape in the reference, shape in the hypothesis]
        default_factory=lambda: np.zeros((len(CASED_SHAPES), len(CASED_SHAPES)), np.int64)
    )
    wrong_shapes: npt.NDArray[np.int64] = field(  # wrong tokens, by shape in the reference
        default_factory=lambda: np.zeros(len(CASED_SHAPES), np.int64)
    )
    tokens: Counter[int] = field(default_factory=Counter)  # by kind, an index into `kinds`
    errors: Counter[int] = field(default_factory=Counter)  # by kind
    wrong_words: LossyCounter = field(default_factory=LossyCounter)

    @property
    def signature(self) -> str:
        vocabulary = "yes" if len(self.kinds) == len(KINDS) else "no"
        return f"capfst-errors|v:{version('capfst')}|tok:space|vocabulary:{vocabulary}"

    @property
    def groups(self) -> dict[str, tuple[int, int]]:
        """(tokens, wrong ones) of each kind, and of all."""
        groups = {name: (self.tokens[k], self.errors[k]) for k, name in enumerate(self.kinds)}
        return groups | {"all": (self.tokens.total(), self.errors.total())}

    def __str__(self) -> str:
        return self.text(TOP)

    def __repr__(self) -> str:
        tokens, wrong = map(grouped, self.groups["all"])
        return f"<Analysis {wrong} of {tokens} cased tokens wrong; {grouped(self.lines)} lines; {self.signature}>"

    def to_dict(self, top: int = TOP) -> dict[str, Any]:
        """For JSON: all counts, and the `top` most frequent wrong words."""
        return {
            "lines": self.lines,
            "confusion": {
                name: dict(zip(CASED_SHAPES, row, strict=True))
                for name, row in zip(CASED_SHAPES, self.confusion.tolist(), strict=True)
            },
            "kinds": {name: {"tokens": tokens, "wrong": wrong} for name, (tokens, wrong) in self.groups.items()},
            "wrong_words": [
                {
                    "reference": word.reference,
                    "hypothesis": word.hypothesis,
                    "kind": self.kinds[word.kind],
                    "count": entry.count,
                    "contexts": [list(excerpt) for excerpt in entry.excerpts],
                }
                for word, entry in self.wrong_words.top(top)
            ],
            "missed": self.wrong_words.missed,
            "signature": self.signature,
        }

    def shape_table(self) -> list[list[str]]:
        """Rows of text: the reference's shapes down, the hypothesis's across."""
        rows = [["reference \\ hypothesis", *CASED_SHAPES, "all", "wrong", "error rate"]]
        for name, row, wrong in zip(CASED_SHAPES, self.confusion, self.wrong_shapes.tolist(), strict=True):
            whole = int(row.sum())
            rows.append([name, *map(grouped, [*row.tolist(), whole, wrong]), show(percent(wrong, whole))])
        return rows

    def kind_table(self) -> list[list[str]]:
        """Rows of text: tokens and errors of each kind."""
        rows = [["kind of word", "all", "wrong", "error rate", "share of errors"]]
        for name, (tokens, wrong) in self.groups.items():
            rates = show(percent(wrong, tokens)), show(percent(wrong, self.errors.total()))
            rows.append([name, grouped(tokens), grouped(wrong), *rates])
        return rows

    def note(self) -> str:
        """What the counts of the most frequent wrong words leave out; empty if nothing."""
        missed = self.wrong_words.missed
        return f"There are more than can be counted: a count may be too low by up to {missed:,}." if missed else ""

    def text(self, top: int = TOP) -> str:
        """For people: some lines of text, without a newline at the end."""
        parts = [aligned(self.shape_table()), aligned(self.kind_table())]
        if frequent := self.wrong_words.top(top):
            lines = ["most frequent wrong words: count, reference → hypothesis, kind", *filter(None, [self.note()])]
            for word, entry in frequent:
                name = self.kinds[word.kind]
                lines.append(f"{entry.count:>7,}  {word.reference} → {word.hypothesis}  ({name})")
                lines += (f"{'':9}{before}«{wrong}»{after}" for before, wrong, after in entry.excerpts)
            parts.append("\n".join(lines))
        return "\n\n".join([*parts, self.signature])


def analyse_files(reference: str | Path, hypothesis: str | Path, recaser: Recaser | None = None) -> Analysis:
    """The errors of a file (plain or compressed) against another; arguments and errors as in `errors`."""
    names = (str(reference), str(hypothesis))
    return errors(read_lines(Path(reference)), read_lines(Path(hypothesis)), recaser, names)


def errors(
    reference: Iterable[str],
    hypothesis: Iterable[str],
    recaser: Recaser | None = None,
    names: tuple[str, str] = ("the reference", "the hypothesis"),
) -> Analysis:
    """The errors of lines against others that are equal up to case; memory does not grow with them.

    Args:
        reference: lines of cased text, with or without their ends.
        hypothesis: the same lines in another casing.
        recaser: the model by which to tell the kinds of words; without it, there are sentence-initial words and others.
        names: what error messages call the two texts.

    Raises:
        CapfstError: a line that is not the other text's line in another casing, or that the other text does not have.
        TypeError: a single str, or a line that is no str.
    """
    analysis = Analysis(KINDS if recaser else (KINDS[INITIAL], ELSEWHERE))
    kinds = _Kinds(recaser)
    for lines, name in zip((reference, hypothesis), names, strict=True):
        refuse_text(lines, name)
    ref_lines: list[str] = []
    hyp_lines: list[str] = []
    for counts in compare(_kept(reference, ref_lines), _kept(hypothesis, hyp_lines), names=names):
        _add(analysis, counts, ref_lines, hyp_lines, kinds)
        ref_lines.clear()
        hyp_lines.clear()
    return analysis


def _kept(lines: Iterable[str], kept: list[str]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, bytes):
            raise TypeError("a line must be a str, not bytes: decode it first")
        kept.append(line)
        yield line


def _add(analysis: Analysis, counts: LineCounts, ref_lines: list[str], hyp_lines: list[str], kinds: _Kinds) -> None:
    """Adds a batch of lines; only those with an error are compared word by word."""
    analysis.lines += len(counts)
    lines = list(map(str.split, ref_lines))
    first = [next((k for k, token in enumerate(line) if _has_letter(token)), -1) for line in lines]
    tokens = Counter(chain.from_iterable(lines))
    initial = Counter(line[k] for line, k in zip(lines, first, strict=True) if k >= 0)
    kinds.learn(tokens)
    for token, count in tokens.items():
        if shape(token) != Shape.CASELESS:
            analysis.tokens[INITIAL] += initial[token]
            analysis.tokens[kinds[token]] += count - initial[token]
    correct = counts[:, CORRECT:UNKNOWN]
    wrong_lines = np.flatnonzero(counts[:, TOKENS:CORRECT].sum(1) > correct.sum(1)).tolist()
    analysis.confusion += np.diag(correct.sum(0)[: Shape.CASELESS])
    errors = []
    for line in wrong_lines:
        for k, (ref, hyp) in enumerate(zip(lines[line], hyp_lines[line].split(), strict=True)):
            if ref != hyp:
                errors.append((INITIAL if k == first[line] else kinds[ref], ref, hyp, lines[line], k))
    for (kind, ref, hyp), count in Counter(error[:3] for error in errors).items():
        analysis.confusion[shape(ref), shape(hyp)] += count
        analysis.wrong_shapes[shape(ref)] += count
        analysis.errors[kind] += count
    wrong_words = _wrong_words(list({error[1:3]: None for error in errors}))
    for kind, ref, hyp, refs, k in errors:
        for before, word, other, after in wrong_words[ref, hyp]:
            entry = analysis.wrong_words.add(WrongWord(kind, word, other))
            if len(entry.excerpts) < EXCERPTS:
                excerpt = _excerpt(refs, k, before, word, after)
                if excerpt not in entry.excerpts:
                    entry.excerpts.append(excerpt)


def _excerpt(tokens: list[str], k: int, before: str, word: str, after: str) -> Excerpt:
    """The word, a part of token k, with what stands around it."""
    left = " ".join([*tokens[max(0, k - _EXCERPT_SIDE) : k], before])
    right = " ".join([after, *tokens[k + 1 : k + 1 + _EXCERPT_SIDE]])
    if len(left) > _EXCERPT_SIDE:
        left = "…" + left[-_EXCERPT_SIDE:]
    if len(right) > _EXCERPT_SIDE:
        right = right[:_EXCERPT_SIDE] + "…"
    return Excerpt(left, word, right)


@lru_cache(1 << 16)
def shape(token: str) -> int:
    """The `Shape` of a token, as in `compare`."""
    flags = [flag for flag in map(INFO.__getitem__, map(ord, token)) if flag & IS_CASED]
    upper = [flag & IS_UPPER != 0 for flag in flags]
    return int(shape_with.py_func(len(upper), sum(upper), upper[:1] == [True]))


@lru_cache(1 << 16)
def _has_letter(token: str) -> bool:
    return any(INFO[ord(c)] & CLASS == LETTER or INFO[ord(c)] & IS_CASED for c in token)


def _wrong_words(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, str, str, str]]]:
    """The words in which two casings of a token differ.

    (reference's token, hypothesis's token) → for each such word (the token up to the word, the reference's word, the
    hypothesis's word, the rest of the token).
    """
    different = {}
    spans = zip(*(_spans(tokens) for tokens in zip(*pairs, strict=True)), strict=True) if pairs else ()
    for pair, (ref_spans, hyp_spans) in zip(pairs, spans, strict=True):
        ref, hyp = map(_utf8, pair)
        parts = []
        for (start, end), (hyp_start, hyp_end) in zip(ref_spans, hyp_spans, strict=True):
            if ref[start:end] != hyp[hyp_start:hyp_end]:
                word = ref[:start], ref[start:end], hyp[hyp_start:hyp_end], ref[end:]
                parts.append(tuple(part.decode("utf-8", "surrogatepass") for part in word))
        different[pair] = parts
    return different  # type: ignore[return-value]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate is a character like others


def _spans(tokens: Sequence[str]) -> list[list[tuple[int, int]]]:
    """(start, end) of each token's words, in bytes; a hyphenated word is one."""
    words_of_all = tokenize(_utf8("".join(f"{token}\n" for token in tokens)))
    spans: list[list[tuple[int, int]]] = []
    words: list[tuple[int, int]] = []
    begin = covered = 0
    for start, end, token_type in zip(*(array.tolist() for array in words_of_all), strict=True):
        if token_type == NEWLINE:
            spans.append(words)
            words, begin = [], end
        elif start >= covered:
            words.append((start - begin, end - begin))
            covered = end if token_type == COMPOUND else 0
    return spans


class _Kinds(dict[str, int]):
    """token → its kind by what the model knows of it: OOV … UNAMBIGUOUS; always 1 (ELSEWHERE) without a model."""

    def __init__(self, recaser: Recaser | None) -> None:
        super().__init__()
        self._recaser = recaser

    def learn(self, tokens: Iterable[str]) -> None:
        """Adds these tokens."""
        if len(self) > _REMEMBERED:
            self.clear()
        new = [token for token in tokens if token not in self]
        if self._recaser is None:
            self.update(dict.fromkeys(new, 1))
            return
        text = _utf8("".join(f"{token}\n" for token in new))
        words = self._recaser.pipeline.loaded.transducer.words(np.frombuffer(text, np.uint8))
        # A form is unseen if its label is <unk>'s or any other outside the range of the word's forms.
        form = self._recaser.pipeline.loaded.labels(text).astype(np.int64) - words.first_labels
        unseen = (form < 0) | (form >= words.n_forms)
        seen = np.where(words.n_forms > 1, AMBIGUOUS, UNAMBIGUOUS)
        kinds = np.where(words.n_forms == 0, OOV, np.where(unseen, UNSEEN, seen))
        kinds[words.token_types == PROTECTED] = UNAMBIGUOUS
        lowest = UNAMBIGUOUS  # of the token's words by now
        tokens = iter(new)
        for start, end, token_type, kind in zip(
            words.starts.tolist(), words.ends.tolist(), words.token_types.tolist(), kinds.tolist(), strict=True
        ):
            if token_type == NEWLINE:
                self[next(tokens)] = lowest
                lowest = UNAMBIGUOUS
            elif kind < lowest and shape(text[start:end].decode("utf-8", "surrogatepass")) != Shape.CASELESS:
                lowest = kind
