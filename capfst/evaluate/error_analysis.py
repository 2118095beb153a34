"""Analysis: which words a hypothesis gets wrong, and of what kind they are (Beaufays & Strope 2013, §6.3).

In: a reference and a hypothesis of the same words, as for `score`, whose tokens and errors these are; and the model,
if words are to be told apart by what it knows of them. Out: `Analysis`: a confusion matrix of shapes, words and
errors by kind of word, and the most frequent wrong words with contexts; as text, as JSON, and, by
`analysis_page`, as a page.

A token is of the first of these kinds that fits (of its words, as the model splits it, those with a cased letter
count; one decides):

* sentence-initial: a line's first token with a letter, as `--skip-first` leaves it out;
* out of vocabulary: a word in no form;
* unseen casing: a word in other forms than the reference's only;
* ambiguous: a word in the reference's form and others;
* unambiguous: all words in the reference's form only. Also URLs and the like, which pass through untouched.
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

from capfst.casing.shapes import Shape, shape_with
from capfst.evaluate.compare import CLASSES, CORRECT, TOKENS, UNKNOWN, Counts, compare
from capfst.evaluate.lossy_counting import Context, Frequent, Pair
from capfst.evaluate.score import aligned, grouped, percent, read_lines, show
from capfst.text.tokenizer import COMPOUND, NEWLINE, PROTECTED, tokenize
from capfst.text.unicode import CLASS, INFO, IS_CASED, IS_UPPER, LETTER

if TYPE_CHECKING:
    from capfst.recaser import Recaser

SHAPES = CLASSES[: Shape.CASELESS]
KINDS = ("sentence-initial", "out of vocabulary", "unseen casing", "ambiguous", "unambiguous")
INITIAL, OOV, UNSEEN, AMBIGUOUS, UNAMBIGUOUS = range(5)
ELSEWHERE = "elsewhere"  # all other kinds, where no model tells them apart

CONTEXTS = 3  # of a wrong word
_AROUND = 60  # characters of the context before and behind a word
_KNOWN = 1 << 20  # tokens whose kind is remembered


@dataclass
class Analysis:
    """The errors of a hypothesis. `kinds` names the rows of `words` and `errors`, which count tokens with letters that
    have case; confusion[r, h] counts those of shape r in the reference and h in the hypothesis."""

    kinds: tuple[str, ...]
    lines: int = 0
    confusion: Counts = field(default_factory=lambda: np.zeros((len(SHAPES), len(SHAPES)), np.int64))
    wrong_shapes: Counts = field(default_factory=lambda: np.zeros(len(SHAPES), np.int64))  # by the reference's
    words: Counter[int] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    wrong: Frequent = field(default_factory=Frequent)

    @property
    def signature(self) -> str:
        vocabulary = "yes" if len(self.kinds) == len(KINDS) else "no"
        return f"capfst-errors|v:{version('capfst')}|tok:space|vocabulary:{vocabulary}"

    @property
    def groups(self) -> dict[str, tuple[int, int]]:
        """(tokens, wrong ones) of each kind, and of all."""
        groups = {name: (self.words[kind], self.errors[kind]) for kind, name in enumerate(self.kinds)}
        return groups | {"all": (self.words.total(), self.errors.total())}

    def to_dict(self, top: int) -> dict[str, Any]:
        """For JSON: all counts, and the `top` most frequent wrong words."""
        return {
            "lines": self.lines,
            "confusion": {
                name: dict(zip(SHAPES, row, strict=True))
                for name, row in zip(SHAPES, self.confusion.tolist(), strict=True)
            },
            "kinds": {name: {"tokens": words, "wrong": wrong} for name, (words, wrong) in self.groups.items()},
            "wrong_words": [
                {
                    "reference": pair.reference,
                    "hypothesis": pair.hypothesis,
                    "kind": self.kinds[pair.kind],
                    "count": entry.count,
                    "contexts": [list(context) for context in entry.contexts],
                }
                for pair, entry in self.wrong.top(top)
            ],
            "missed": self.wrong.missed,
            "signature": self.signature,
        }

    def shape_table(self) -> list[list[str]]:
        """Rows of text: the reference's shapes down, the hypothesis's across."""
        rows = [["reference \\ hypothesis", *SHAPES, "all", "wrong", "error rate"]]
        for name, row, wrong in zip(SHAPES, self.confusion, self.wrong_shapes.tolist(), strict=True):
            whole = int(row.sum())
            rows.append([name, *map(grouped, [*row.tolist(), whole, wrong]), show(percent(wrong, whole))])
        return rows

    def kind_table(self) -> list[list[str]]:
        """Rows of text: tokens and errors of each kind."""
        rows = [["kind of word", "all", "wrong", "error rate", "share of errors"]]
        for name, (words, wrong) in self.groups.items():
            rates = show(percent(wrong, words)), show(percent(wrong, self.errors.total()))
            rows.append([name, grouped(words), grouped(wrong), *rates])
        return rows

    def note(self) -> str:
        """What the counts of the most frequent wrong words leave out; empty if nothing."""
        missed = self.wrong.missed
        return f"There are more than can be counted: a count may be too low by up to {missed:,}." if missed else ""

    def text(self, top: int) -> str:
        """For people: some lines of text, without a newline at the end."""
        parts = [aligned(self.shape_table()), aligned(self.kind_table())]
        frequent = self.wrong.top(top)
        if frequent:
            lines = ["most frequent wrong words: count, reference → hypothesis, kind", *filter(None, [self.note()])]
            for pair, entry in frequent:
                kind = self.kinds[pair.kind]
                lines.append(f"{entry.count:>7,}  {pair.reference} → {pair.hypothesis}  ({kind})")
                lines += (f"{'':9}{before}«{word}»{after}" for before, word, after in entry.contexts)
            parts.append("\n".join(lines))
        return "\n\n".join([*parts, self.signature])


def analyse_files(reference: str | Path, hypothesis: str | Path, recaser: Recaser | None = None) -> Analysis:
    """The errors of a file (plain, .gz or .zst) against another; arguments and errors as in `analyse`."""
    names = (str(reference), str(hypothesis))
    return analyse(read_lines(Path(reference)), read_lines(Path(hypothesis)), recaser, names)


def analyse(
    reference: Iterable[str],
    hypothesis: Iterable[str],
    recaser: Recaser | None = None,
    names: tuple[str, str] = ("the reference", "the hypothesis"),
) -> Analysis:
    """The errors of lines against others that are equal up to case; memory does not grow with them.

    Args:
        recaser: the model that knows words or not; without it, only sentence-initial words are told apart.
        names: what errors call the two texts.

    Raises:
        CapfstError: as `compare.compare`.
    """
    analysis = Analysis(KINDS if recaser else (KINDS[INITIAL], ELSEWHERE))
    kinds = _Kinds(recaser)
    ref_lines: list[str] = []
    hyp_lines: list[str] = []
    for counts in compare(_kept(reference, ref_lines), _kept(hypothesis, hyp_lines), names=names):
        _add(analysis, counts, ref_lines, hyp_lines, kinds)
        ref_lines.clear()
        hyp_lines.clear()
    return analysis


def _kept(lines: Iterable[str], kept: list[str]) -> Iterator[str]:
    for line in lines:
        kept.append(line)
        yield line


def _add(analysis: Analysis, counts: Counts, ref_lines: list[str], hyp_lines: list[str], kinds: _Kinds) -> None:
    """Adds a batch of lines; only those with an error are looked at word by word."""
    analysis.lines += len(counts)
    lines = list(map(str.split, ref_lines))
    first = [next((k for k, token in enumerate(line) if _has_letter(token)), -1) for line in lines]
    tokens = Counter(chain.from_iterable(lines))
    initial = Counter(line[k] for line, k in zip(lines, first, strict=True) if k >= 0)
    kinds.learn(tokens)
    for token, count in tokens.items():
        if shape(token) != Shape.CASELESS:
            analysis.words[INITIAL] += initial[token]
            analysis.words[kinds[token]] += count - initial[token]
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
    different = _differences(list({error[1:3]: None for error in errors}))
    for kind, ref, hyp, refs, k in errors:
        for before, word, other, after in different[ref, hyp]:
            entry = analysis.wrong.add(Pair(kind, word, other))
            if len(entry.contexts) < CONTEXTS:
                context = _context(refs, k, before, word, after)
                if context not in entry.contexts:
                    entry.contexts.append(context)


def _context(tokens: list[str], k: int, before: str, word: str, after: str) -> Context:
    """The word, a part of token k, with what stands around it."""
    left = " ".join([*tokens[max(0, k - _AROUND) : k], before])
    right = " ".join([after, *tokens[k + 1 : k + 1 + _AROUND]])
    if len(left) > _AROUND:
        left = "…" + left[-_AROUND:]
    if len(right) > _AROUND:
        right = right[:_AROUND] + "…"
    return Context(left, word, right)


@lru_cache(1 << 16)
def shape(token: str) -> int:
    """The class of a token, as `compare` has it."""
    flags = [flag for flag in map(INFO.__getitem__, map(ord, token)) if flag & IS_CASED]
    upper = [flag & IS_UPPER != 0 for flag in flags]
    return int(shape_with.py_func(len(upper), sum(upper), upper[:1] == [True]))


@lru_cache(1 << 16)
def _has_letter(token: str) -> bool:
    return any(INFO[ord(c)] & CLASS == LETTER or INFO[ord(c)] & IS_CASED for c in token)


def _differences(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, str, str, str]]]:
    """The words in which two casings of a token differ: what stands before it, both words, what stands behind it."""
    found = {}
    spans = zip(*(_spans(tokens) for tokens in zip(*pairs, strict=True)), strict=True) if pairs else ()
    for pair, (ref_spans, hyp_spans) in zip(pairs, spans, strict=True):
        ref, hyp = (token.encode() for token in pair)
        parts = []
        for (start, end), (hyp_start, hyp_end) in zip(ref_spans, hyp_spans, strict=True):
            if ref[start:end] != hyp[hyp_start:hyp_end]:
                different = ref[:start], ref[start:end], hyp[hyp_start:hyp_end], ref[end:]
                parts.append(tuple(part.decode() for part in different))
        found[pair] = parts
    return found  # type: ignore[return-value]


def _spans(tokens: Sequence[str]) -> list[list[tuple[int, int]]]:
    """The byte offsets of each token's words; a hyphenated word is one."""
    found = tokenize("".join(f"{token}\n" for token in tokens).encode())
    spans: list[list[tuple[int, int]]] = []
    words: list[tuple[int, int]] = []
    begin = covered = 0
    for start, end, kind in zip(*(array.tolist() for array in found), strict=True):
        if kind == NEWLINE:
            spans.append(words)
            words, begin = [], end
        elif start >= covered:
            words.append((start - begin, end - begin))
            covered = end if kind == COMPOUND else 0
    return spans


class _Kinds(dict[str, int]):
    """token → what the model knows of it: 1 … 4 of KINDS; always 1 (ELSEWHERE) without a model."""

    def __init__(self, recaser: Recaser | None) -> None:
        super().__init__()
        self._recaser = recaser

    def learn(self, tokens: Iterable[str]) -> None:
        """Makes these tokens' kinds known."""
        if len(self) > _KNOWN:
            self.clear()
        new = [token for token in tokens if token not in self]
        if self._recaser is None:
            self.update(dict.fromkeys(new, 1))
            return
        text = "".join(f"{token}\n" for token in new).encode()
        words = self._recaser.transducer.words(np.frombuffer(text, np.uint8))
        # Not only <unk>'s, but any label outside the word's own range stands for an unseen form.
        place = self._recaser.labels(text).astype(np.int64) - words.first_labels
        unseen = (place < 0) | (place >= words.n_forms)
        known = np.where(words.n_forms > 1, AMBIGUOUS, UNAMBIGUOUS)
        kinds = np.where(words.n_forms == 0, OOV, np.where(unseen, UNSEEN, known))
        kinds[words.token_types == PROTECTED] = UNAMBIGUOUS
        found = UNAMBIGUOUS
        tokens = iter(new)
        for start, end, kind, what in zip(
            words.starts.tolist(), words.ends.tolist(), words.token_types.tolist(), kinds.tolist(), strict=True
        ):
            if kind == NEWLINE:
                self[next(tokens)] = found
                found = UNAMBIGUOUS
            elif what < found and shape(text[start:end].decode()) != Shape.CASELESS:
                found = what
