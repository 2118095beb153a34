"""Analyze which words hypotheses get wrong, and which kinds of words these are (Beaufays & Strope 2013, §6.3).

In: references and hypotheses with the same words, as for `score`, which counts the same tokens and errors; and
optionally the model, whose vocabulary distinguishes kinds of words. Out: `ErrorAnalysis`: a confusion matrix of shapes,
tokens and errors by kind, and the most frequent wrong words with excerpts; as text, as JSON and as HTML.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.evaluate.compare import NAMES, SHAPE_NAMES, TokenizedLines, same_words, tokenized
from capfst.evaluate.lossy_counting import Excerpt, LossyCounter, WrongWord
from capfst.evaluate.score import aligned, grouped, lines_of_files, percent, show
from capfst.exceptions import quantity
from capfst.io.html_page import html_page
from capfst.text.given import meant
from capfst.text.tokenizer import COMPOUND, NEWLINE, PROTECTED, tokenize
from capfst.text.utf8 import decoded, encoded
from capfst.version import __version__

if TYPE_CHECKING:
    from capfst.recaser import Recaser

CASED_SHAPES = SHAPE_NAMES[: Shape.CASELESS]
KINDS = ("sentence-initial", "out of vocabulary", "unseen casing", "ambiguous", "unambiguous")
INITIAL, OOV, UNSEEN, AMBIGUOUS, UNAMBIGUOUS = range(5)
ELSEWHERE = "elsewhere"  # without a model: all kinds except the first

TOP = 30  # most frequent wrong words to show
EXCERPTS = 3  # per wrong word
_EXCERPT_SIDE = 60  # characters of an excerpt on either side of the word

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 70em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: .5em 0 2em }
th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top }
th { font-weight: 600 }
th:first-child, .text { text-align: left }
.text { overflow-wrap: anywhere }
.context { color: #666 }
mark { background: #fe9 }
footer { color: #666; font-size: 85% }
"""


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
        return f"capfst-errors|v:{__version__}|tok:space|vocabulary:{vocabulary}"

    @property
    def groups(self) -> dict[str, KindCounts]:
        """Counts of each kind, and of all kinds together."""
        groups = {name: KindCounts(self.tokens[k], self.errors[k]) for k, name in enumerate(self.kinds)}
        return groups | {"all": KindCounts(self.tokens.total(), self.errors.total())}

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

    __str__ = text

    def html(self, names: tuple[str, str], top: int = TOP) -> str:
        """Return a page of HTML that needs no other file. names: of the references and the hypotheses."""
        title = escape(f"Case errors in {names[1]}, compared with {names[0]}")
        content = f"""<h2>Shapes: reference (rows) and hypothesis (columns)</h2>
{_table(self.shape_table())}
<h2>Kinds of words</h2>
{_table(self.kind_table())}
<h2>Most frequent wrong words</h2>
{_wrong_words(self, top)}
<footer>{escape(self.signature)}</footer>"""
        return html_page(title, _STYLE, content)


def analyze_errors(
    *,
    references: Iterable[str | bytes],
    hypotheses: Iterable[str | bytes],
    recaser: Recaser | None = None,
    names: tuple[str, str] = NAMES,
) -> ErrorAnalysis:
    """Analyze the errors of hypotheses against references that are equal up to case, in bounded memory.

    Args:
        references: lines of cased text, with or without their line ends; bytes are UTF-8.
        hypotheses: the same lines in another casing.
        recaser: the model whose vocabulary distinguishes kinds of words; without it, only sentence-initial words are
            distinguished from all others.
        names: names of the two texts in error messages.

    Raises:
        CorpusError: two lines differ in more than case, a line is not UTF-8, or one text has more lines.
        TypeError: a text is a single str or bytes, or a line is neither str nor bytes.
    """
    analysis = ErrorAnalysis(KINDS if recaser else (KINDS[INITIAL], ELSEWHERE))
    for _, ref, hyp in same_words(references, hypotheses, names):
        _add_lines(analysis, ref, hyp, recaser)
    return analysis


def analyze_files(*, references: str | Path, hypotheses: str | Path, recaser: Recaser | None = None) -> ErrorAnalysis:
    """Analyze the errors of two files, each plain or compressed, as `analyze_errors` does those of lines."""
    return analyze_errors(**lines_of_files(references, hypotheses), recaser=recaser)


def _add_lines(analysis: ErrorAnalysis, ref: TokenizedLines, hyp: TokenizedLines, recaser: Recaser | None) -> None:
    """Add lines to the analysis."""
    shapes = ref.tokens["shape"]
    _, index, numbers = np.unique(ref.tokens["exact"], return_index=True, return_inverse=True)
    kinds = _kinds(ref.words(index), recaser)[numbers]
    kinds[ref.first_words()] = INITIAL
    is_cased, wrong = shapes < Shape.CASELESS, ref.tokens["exact"] != hyp.tokens["exact"]
    analysis.lines += len(ref.lines)
    np.add.at(analysis.confusion, (shapes[is_cased], hyp.tokens["shape"][is_cased]), 1)
    analysis.wrong_shapes += np.bincount(shapes[wrong], minlength=len(CASED_SHAPES))
    analysis.tokens.update(kinds[is_cased].tolist())
    analysis.errors.update(kinds[wrong].tolist())
    places = np.flatnonzero(wrong)
    pairs = list(zip(ref.words(places), hyp.words(places), strict=True))
    differences = _differences(list(dict.fromkeys(pairs)))
    for k, kind, pair in zip(places.tolist(), kinds[wrong].tolist(), pairs, strict=True):
        for before, word, other, after in differences[pair]:
            entry = analysis.wrong_words.add(WrongWord(kind, word, other))
            if len(entry.excerpts) < EXCERPTS:
                excerpt = _excerpt(ref, k, before, word, after)
                if excerpt not in entry.excerpts:
                    entry.excerpts.append(excerpt)


def _kinds(tokens: list[str], recaser: Recaser | None) -> npt.NDArray[np.int64]:
    """Return the kinds of tokens, OOV … UNAMBIGUOUS, by the model's vocabulary; always 1 (ELSEWHERE) without a
    model."""
    if recaser is None:
        return np.ones(len(tokens), np.int64)
    text = meant(encoded("".join(f"{token}\n" for token in tokens)))
    loaded = recaser.pipeline.loaded
    words = loaded.transducer.words(np.frombuffer(text, np.uint8))
    # A form is unseen if its label, such as that of <unk>, is outside the range of the labels of the word's forms.
    form = loaded.labels(text).astype(np.int64) - words.first_labels
    unseen = (form < 0) | (form >= words.n_forms)
    seen = np.where(words.n_forms > 1, AMBIGUOUS, UNAMBIGUOUS)
    kinds = np.where(words.n_forms == 0, OOV, np.where(unseen, UNSEEN, seen))
    kinds[words.token_types == PROTECTED] = UNAMBIGUOUS
    spelled = (decoded(text[start:end]) for start, end in zip(words.starts, words.ends, strict=True))
    of_words = tokenized(tuple(spelled)).tokens
    cased = of_words["line"][of_words["shape"] < Shape.CASELESS]
    lowest = np.full(len(tokens), UNAMBIGUOUS)
    np.minimum.at(lowest, np.cumsum(words.token_types == NEWLINE)[cased], kinds[cased])
    return lowest


def _excerpt(text: TokenizedLines, k: int, before: str, word: str, after: str) -> Excerpt:
    """Return a word of token k, which consists of these parts, with the text around it."""
    tokens, token = text.tokens, text.tokens[k]
    line = text.lines[token["line"]]
    first, last = tokens[max(0, k - _EXCERPT_SIDE)], tokens[min(k + _EXCERPT_SIDE, len(tokens) - 1)]
    begin = first["start"] if first["line"] == token["line"] else 0
    end = last["end"] if last["line"] == token["line"] else None
    left = " ".join([*line[begin : token["start"]].split(), before])
    right = " ".join([after, *line[token["end"] : end].split()])
    if len(left) > _EXCERPT_SIDE:
        left = "…" + left[-_EXCERPT_SIDE:]
    if len(right) > _EXCERPT_SIDE:
        right = right[:_EXCERPT_SIDE] + "…"
    return Excerpt(left, word, right)


def _differences(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    """Find the differing words of each pair (reference's token, hypothesis's token), of which a hyphenated one is one:
    the reference's token up to the word, the word in both, and the rest of the reference's token."""
    found: dict[tuple[str, str], list[tuple[str, ...]]] = {pair: [] for pair in pairs}
    ref, hyp = (encoded("".join(f"{pair[text]}\n" for pair in pairs)) for text in (0, 1))
    words = (zip(*(array.tolist() for array in tokenize(text)), strict=True) for text in (ref, hyp))
    begin = covered = k = 0  # of pair k
    for (start, end, token_type), (hyp_start, hyp_end, _) in zip(*words, strict=True):
        if token_type == NEWLINE:
            begin, k = end, k + 1
        elif start >= covered:
            covered = end if token_type == COMPOUND else 0
            if ref[start:end] != hyp[hyp_start:hyp_end]:
                parts = ref[begin:start], ref[start:end], hyp[hyp_start:hyp_end], ref[end : ref.index(b"\n", end)]
                found[pairs[k]].append(tuple(map(decoded, parts)))
    return found


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = ["<table>", f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    for first, *cells in body:
        lines.append(f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    return "\n".join([*lines, "</table>"])


def _wrong_words(analysis: ErrorAnalysis, top: int) -> str:
    head = "<th>count</th>" + "".join(f'<th class="text">{name}</th>' for name in ("reference", "hypothesis", "kind"))
    note = f"<p>{analysis.note()}</p>\n" if analysis.note() else ""
    rows = [f'{note}<table>\n<tr>{head}<th class="text">context in the reference</th></tr>']
    for word, entry in analysis.wrong_words.top(top):
        texts = (word.reference, word.hypothesis, analysis.kinds[word.kind])
        cells = "".join(f'<td class="text">{escape(text)}</td>' for text in texts)
        excerpts = "<br>".join(
            f"{escape(before)}<mark>{escape(wrong)}</mark>{escape(after)}" for before, wrong, after in entry.excerpts
        )
        rows.append(f'<tr><td>{entry.count:,}</td>{cells}<td class="text context">{excerpts}</td></tr>')
    return "\n".join([*rows, "</table>"])
