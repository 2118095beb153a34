"""Analyze which words hypotheses get wrong, and which kinds of words these are (Beaufays & Strope 2013, §6.3).

In: references and hypotheses with the same words, as for `score`, which counts the same tokens and errors; and
optionally the model, whose vocabulary distinguishes kinds of words. Out: `ErrorAnalysis`: a confusion matrix of shapes,
tokens and errors by kind, and the most frequent wrong words with excerpts; as text, as JSON, and, by `error_page`, as
HTML.

A token is of the first of these kinds that applies. All kinds except the first apply if they fit any of the token's
words (as the model splits it; words without cased letters do not count):

* sentence-initial: a line's first token with a letter, which `--skip-first` leaves out;
* out of vocabulary: the model has no surface form of the word;
* unseen casing: the model has surface forms of the word, but not the reference's;
* ambiguous: the model has the reference's surface form and others;
* unambiguous: the model has only the reference's surface form. Also protected text such as URLs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shape_with
from capfst.evaluate.compare import (
    CORRECT,
    NAMES,
    SHAPE_NAMES,
    TOKENS,
    UNKNOWN,
    LineCounts,
    compare,
    has_letter,
    refuse_text,
)
from capfst.evaluate.lossy_counting import Excerpt, LossyCounter, WrongWord
from capfst.evaluate.score import aligned, grouped, percent, read_lines, show
from capfst.exceptions import quantity
from capfst.text.given import meant
from capfst.text.tokenizer import COMPOUND, NEWLINE, PROTECTED, tokenize
from capfst.text.unicode import INFO, IS_CASED, IS_UPPER
from capfst.text.utf8 import decoded, encoded

if TYPE_CHECKING:
    from capfst.recaser import Recaser

CASED_SHAPES = SHAPE_NAMES[: Shape.CASELESS]
KINDS = ("sentence-initial", "out of vocabulary", "unseen casing", "ambiguous", "unambiguous")
INITIAL, OOV, UNSEEN, AMBIGUOUS, UNAMBIGUOUS = range(5)
ELSEWHERE = "elsewhere"  # without a model: all kinds except the first

TOP = 30  # most frequent wrong words to show
EXCERPTS = 3  # per wrong word
_EXCERPT_SIDE = 60  # characters of an excerpt on either side of the word
_REMEMBERED = 1 << 20  # tokens whose kind is cached


class KindCounts(NamedTuple):
    """Counts of a kind of tokens: all of them, and those that differ from the reference."""

    tokens: int
    wrong: int


@dataclass(repr=False)
class ErrorAnalysis:
    """The errors of hypotheses. All counts are of tokens with cased letters."""

    kinds: tuple[str, ...]  # names of the kinds
    lines: int = 0
    confusion: npt.NDArray[np.int64] = field(  # [shape in the reference, shape in the hypothesis]
        default_factory=lambda: np.zeros((len(CASED_SHAPES), len(CASED_SHAPES)), np.int64)
    )
    wrong_shapes: npt.NDArray[np.int64] = field(  # wrong tokens, by shape in the reference
        default_factory=lambda: np.zeros(len(CASED_SHAPES), np.int64)
    )
    tokens: Counter[int] = field(default_factory=Counter)  # by kind, as an index into `kinds`
    errors: Counter[int] = field(default_factory=Counter)  # by kind
    wrong_words: LossyCounter = field(default_factory=LossyCounter)

    @property
    def signature(self) -> str:
        vocabulary = "yes" if len(self.kinds) == len(KINDS) else "no"
        return f"capfst-errors|v:{version('capfst')}|tok:space|vocabulary:{vocabulary}"

    @property
    def groups(self) -> dict[str, KindCounts]:
        """Counts of each kind, and of all kinds together."""
        groups = {name: KindCounts(self.tokens[k], self.errors[k]) for k, name in enumerate(self.kinds)}
        return groups | {"all": KindCounts(self.tokens.total(), self.errors.total())}

    def __str__(self) -> str:
        return self.text(TOP)

    def __repr__(self) -> str:
        tokens, wrong = map(grouped, self.groups["all"])
        return (
            f"<ErrorAnalysis {wrong} of {tokens} cased tokens wrong; {quantity(self.lines, 'line')}; {self.signature}>"
        )

    def to_dict(self, top: int = TOP) -> dict[str, Any]:
        """Return all counts and the `top` most frequent wrong words, for JSON."""
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
        """Return the cells of the confusion matrix: the reference's shapes down, the hypothesis's across."""
        rows = [["reference \\ hypothesis", *CASED_SHAPES, "all", "wrong", "error rate"]]
        for name, row, wrong in zip(CASED_SHAPES, self.confusion, self.wrong_shapes.tolist(), strict=True):
            whole = int(row.sum())
            rows.append([name, *map(grouped, [*row.tolist(), whole, wrong]), show(percent(wrong, whole))])
        return rows

    def kind_table(self) -> list[list[str]]:
        """Return the cells of a table of tokens and errors by kind."""
        rows = [["kind of word", "all", "wrong", "error rate", "share of errors"]]
        for name, (tokens, wrong) in self.groups.items():
            rates = show(percent(wrong, tokens)), show(percent(wrong, self.errors.total()))
            rows.append([name, grouped(tokens), grouped(wrong), *rates])
        return rows

    def note(self) -> str:
        """Return a sentence on the accuracy of the counts of wrong words; empty if they are exact."""
        missed = self.wrong_words.missed
        note = f"Too many different wrong words to count exactly: a count may be too low by up to {missed:,}."
        return note if missed else ""

    def text(self, top: int = TOP) -> str:
        """Format the analysis as lines of text, without a final newline."""
        parts = [aligned(self.shape_table()), aligned(self.kind_table())]
        if frequent := self.wrong_words.top(top):
            lines = ["most frequent wrong words: count, reference → hypothesis, kind", *filter(None, [self.note()])]
            for word, entry in frequent:
                name = self.kinds[word.kind]
                lines.append(f"{entry.count:>7,}  {word.reference} → {word.hypothesis}  ({name})")
                lines += (f"{'':9}{before}«{wrong}»{after}" for before, wrong, after in entry.excerpts)
            parts.append("\n".join(lines))
        return "\n\n".join([*parts, self.signature])


def analyze_errors(
    *,
    references: Iterable[str],
    hypotheses: Iterable[str],
    recaser: Recaser | None = None,
    names: tuple[str, str] = NAMES,
) -> ErrorAnalysis:
    """Analyze the errors of hypotheses against references that are equal up to case, in bounded memory.

    Args:
        references: lines of cased text, with or without their line ends.
        hypotheses: the same lines in another casing.
        recaser: the model whose vocabulary distinguishes kinds of words; without it, only sentence-initial words are
            distinguished from all others.
        names: names of the two texts in error messages.

    Raises:
        CorpusError: two lines differ in more than case, or one text has more lines.
        TypeError: a text is a single str, or a line is not a str.
    """
    analysis = ErrorAnalysis(KINDS if recaser else (KINDS[INITIAL], ELSEWHERE))
    kinds = _KindLookup(recaser)
    for lines, name in zip((references, hypotheses), names, strict=True):
        refuse_text(lines, name)
    ref_lines: list[str] = []
    hyp_lines: list[str] = []
    ref, hyp = _recorded(references, ref_lines, names[0]), _recorded(hypotheses, hyp_lines, names[1])
    for counts in compare(ref, hyp, names=names):
        _add_lines(analysis, counts, ref_lines, hyp_lines, kinds)
        ref_lines.clear()
        hyp_lines.clear()
    return analysis


def analyze_files(*, references: str | Path, hypotheses: str | Path, recaser: Recaser | None = None) -> ErrorAnalysis:
    """Analyze the errors of two files, each plain or compressed, as `analyze_errors` does those of lines."""
    names = (str(references), str(hypotheses))
    ref, hyp = read_lines(Path(references)), read_lines(Path(hypotheses))
    return analyze_errors(references=ref, hypotheses=hyp, recaser=recaser, names=names)


def _recorded(lines: Iterable[str], record: list[str], name: str) -> Iterator[str]:
    """Yield the lines, and append each to `record`."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, bytes):
            raise TypeError(f"{name}, line {number}: must be a str, not bytes. Decode it.")
        record.append(line)
        yield line


class _WrongToken(NamedTuple):
    """A token of a hypothesis that differs from the reference."""

    kind: int
    reference: str
    hypothesis: str
    line: list[str]  # the tokens of the reference's line
    position: int  # in the line


def _add_lines(
    analysis: ErrorAnalysis, counts: LineCounts, ref_lines: list[str], hyp_lines: list[str], kinds: _KindLookup
) -> None:
    """Add a batch of lines to the analysis; only lines with an error are compared token by token."""
    lines = list(map(str.split, ref_lines))
    first = [next((k for k, token in enumerate(line) if has_letter(token)), -1) for line in lines]
    analysis.lines += len(counts)
    _count_tokens(analysis, lines, first, kinds)
    correct = counts[:, CORRECT:UNKNOWN]
    analysis.confusion += np.diag(correct.sum(0)[: Shape.CASELESS])
    has_error = counts[:, TOKENS:CORRECT].sum(1) > correct.sum(1)
    wrong = [
        _WrongToken(INITIAL if k == first[line] else kinds[ref], ref, hyp, lines[line], k)
        for line in np.flatnonzero(has_error).tolist()
        for k, (ref, hyp) in enumerate(zip(lines[line], hyp_lines[line].split(), strict=True))
        if ref != hyp
    ]
    _count_wrong_tokens(analysis, wrong)
    _count_wrong_words(analysis, wrong)


def _count_tokens(analysis: ErrorAnalysis, lines: list[list[str]], first: list[int], kinds: _KindLookup) -> None:
    """Count the tokens of lines by kind. first: index of each line's first token with a letter, or −1."""
    tokens = Counter(chain.from_iterable(lines))
    initial = Counter(line[k] for line, k in zip(lines, first, strict=True) if k >= 0)
    kinds.look_up(tokens)
    for token, count in tokens.items():
        if shape(token) != Shape.CASELESS:
            analysis.tokens[INITIAL] += initial[token]
            analysis.tokens[kinds[token]] += count - initial[token]


def _count_wrong_tokens(analysis: ErrorAnalysis, wrong: list[_WrongToken]) -> None:
    """Count wrong tokens by shape and by kind."""
    for (kind, ref, hyp), count in Counter((token.kind, token.reference, token.hypothesis) for token in wrong).items():
        analysis.confusion[shape(ref), shape(hyp)] += count
        analysis.wrong_shapes[shape(ref)] += count
        analysis.errors[kind] += count


def _count_wrong_words(analysis: ErrorAnalysis, wrong: list[_WrongToken]) -> None:
    """Count the wrong words of wrong tokens, and keep their first excerpts."""
    differences = _differences(list(dict.fromkeys((token.reference, token.hypothesis) for token in wrong)))
    for token in wrong:
        for word in differences[token.reference, token.hypothesis]:
            entry = analysis.wrong_words.add(WrongWord(token.kind, word.reference, word.hypothesis))
            if len(entry.excerpts) < EXCERPTS:
                excerpt = _excerpt(token, word)
                if excerpt not in entry.excerpts:
                    entry.excerpts.append(excerpt)


def _excerpt(token: _WrongToken, word: _Difference) -> Excerpt:
    """Return a wrong word of a token, with the text around it."""
    left = " ".join([*token.line[max(0, token.position - _EXCERPT_SIDE) : token.position], word.before])
    right = " ".join([word.after, *token.line[token.position + 1 : token.position + 1 + _EXCERPT_SIDE]])
    if len(left) > _EXCERPT_SIDE:
        left = "…" + left[-_EXCERPT_SIDE:]
    if len(right) > _EXCERPT_SIDE:
        right = right[:_EXCERPT_SIDE] + "…"
    return Excerpt(left, word.reference, right)


@lru_cache(1 << 16)
def shape(token: str) -> int:
    """Return the `Shape` of a token, as in `compare`."""
    flags = [flag for flag in map(INFO.__getitem__, map(ord, token)) if flag & IS_CASED]
    upper = [flag & IS_UPPER != 0 for flag in flags]
    return int(shape_with.py_func(len(upper), sum(upper), upper[:1] == [True]))


class _Difference(NamedTuple):
    """A word in which two casings of a token differ."""

    before: str  # the reference's token up to the word
    reference: str
    hypothesis: str
    after: str  # the rest of the reference's token


def _differences(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[_Difference]]:
    """Find the differing words of each pair (reference's token, hypothesis's token)."""
    differences = {}
    spans = zip(*(_spans(tokens) for tokens in zip(*pairs, strict=True)), strict=True) if pairs else ()
    for pair, (ref_spans, hyp_spans) in zip(pairs, spans, strict=True):
        ref, hyp = map(encoded, pair)
        differences[pair] = [
            _Difference(*map(decoded, (ref[:start], ref[start:end], hyp[hyp_start:hyp_end], ref[end:])))
            for (start, end), (hyp_start, hyp_end) in zip(ref_spans, hyp_spans, strict=True)
            if ref[start:end] != hyp[hyp_start:hyp_end]
        ]
    return differences


def _spans(tokens: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Return the (start, end) of each token's words, in bytes; a hyphenated word is one word."""
    words_of_all = tokenize(encoded("".join(f"{token}\n" for token in tokens)))
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


class _KindLookup(dict[str, int]):
    """Cache of kinds: token → OOV … UNAMBIGUOUS, by the model's vocabulary; always 1 (ELSEWHERE) without a model."""

    def __init__(self, recaser: Recaser | None) -> None:
        super().__init__()
        self._recaser = recaser

    def look_up(self, tokens: Iterable[str]) -> None:
        """Add the kinds of these tokens."""
        if len(self) > _REMEMBERED:
            self.clear()
        new = [token for token in tokens if token not in self]
        if self._recaser is None:
            self.update(dict.fromkeys(new, 1))
            return
        text = meant(encoded("".join(f"{token}\n" for token in new)))
        loaded = self._recaser.pipeline.loaded
        words = loaded.transducer.words(np.frombuffer(text, np.uint8))
        # A form is unseen if its label, such as that of <unk>, is outside the range of the labels of the word's forms.
        form = loaded.labels(text).astype(np.int64) - words.first_labels
        unseen = (form < 0) | (form >= words.n_forms)
        seen = np.where(words.n_forms > 1, AMBIGUOUS, UNAMBIGUOUS)
        kinds = np.where(words.n_forms == 0, OOV, np.where(unseen, UNSEEN, seen))
        kinds[words.token_types == PROTECTED] = UNAMBIGUOUS
        lowest = UNAMBIGUOUS  # kind of the token's words so far
        tokens = iter(new)
        for start, end, token_type, kind in zip(
            words.starts.tolist(), words.ends.tolist(), words.token_types.tolist(), kinds.tolist(), strict=True
        ):
            if token_type == NEWLINE:
                self[next(tokens)] = lowest
                lowest = UNAMBIGUOUS
            elif kind < lowest and shape(decoded(text[start:end])) != Shape.CASELESS:
                lowest = kind
