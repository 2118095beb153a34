"""Compare two texts line by line: count tokens and errors.

In: the lines of a reference and of a hypothesis. Out: int64[lines, COLUMNS], a row of counts per line. The measures of
`score` need only their sums: the rows of blocks and files can be added up, and `bootstrap` can resample them.

Tokens are separated by whitespace, as in the published figures, of any kind and length. Lines that are equal up to case
have the same tokens. If words may differ, as in the output of a recognizer or a translator, the words of each line are
aligned, regardless of case, with the fewest edits and, among such alignments, the most words in common. These edits are
those of the word error rate (WER); tokens are counted only among the words in common. Capitals are counted in whole
lines, so the capitals of a wrong word also count as errors. Memory is linear in the length of a line; so is time for a
bounded number of edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import shape_with
from capfst.evaluate.edit_distance import Capitals, align, code_points, count_edits
from capfst.exceptions import CorpusError, quantity
from capfst.kernels import kernel
from capfst.kernels.types import Array, I64Array, U8Array, U32Array, i64, u64
from capfst.system.hashing import hash_pair
from capfst.text import unicode as uni

SHAPE_NAMES = ("lower", "Capitalized", "UPPER", "mixed", "none")  # by `Shape`

# The columns of the counts. Tokens of the reference: TOKENS + shape, all of a shape; CORRECT + shape, those that are
# identical in the hypothesis; UNKNOWN, UNKNOWN_CORRECT, the same for tokens out of the vocabulary. PROPOSED: tokens of
# the hypothesis with an upper-case letter. CAPITALS: upper-case characters of the reference, followed by the edits that
# turn them into the hypothesis's. WORDS: the same for words, which have edits only if they are aligned.
TOKENS, CORRECT, UNKNOWN, UNKNOWN_CORRECT, PROPOSED = 0, 5, 10, 11, 12
CAPITALS, DELETIONS, INSERTIONS, SUBSTITUTIONS = 13, 14, 15, 16
WORDS, WORD_DELETIONS, WORD_INSERTIONS, WORD_SUBSTITUTIONS = 17, 18, 19, 20
COLUMNS = 21

NAMES = ("references", "hypotheses")
"""Names of the two texts in error messages: those of the arguments."""

LineCounts = npt.NDArray[np.int64]
"""int64[lines, COLUMNS]."""
Indices = npt.NDArray[np.int64]

BATCH = 1 << 18  # characters that are compared at once
MOST_WORDS = 1 << 18  # of a line that are aligned: a day of speech
_REMEMBERED = 1 << 20  # tokens whose vocabulary lookup is cached
_MISSING: Any = object()  # the counterpart of a line after the end of the shorter text

# A final sigma folds to sigma, because some Greek text is lowercased without regard to the ends of words.
FOLD = np.arange(uni.CODE_POINTS, dtype=np.uint32)
FOLD[: len(uni.TO_LOWER)] = uni.TO_LOWER
FOLD[uni.FINAL_SIGMA] = uni.TO_LOWER[uni.CAPITAL_SIGMA]

TOKEN = np.dtype(
    [
        ("exact", "u8"),  # hash
        ("folded", "u8"),  # hash of its lower case
        ("turkish", "u8"),  # the same if I is the capital of i or of ı, and İ of i, not of i̇
        ("line", "i4"),  # from 0
        ("start", "i4"),  # in the line
        ("end", "i4"),
        ("first_capital", "i4"),  # in the upper-case characters of the text
        ("n_capitals", "i4"),
        ("shape", "u1"),
        ("has_letter", "?"),
    ],
    align=True,
)
TokenArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(TOKEN)]


class TokenizedLines(NamedTuple):
    """Successive lines of one of the two texts, and their tokens."""

    lines: tuple[str, ...]
    tokens: TokenArray
    capitals: U32Array  # code points of the upper-case characters

    def words(self, chosen: Indices) -> list[str]:
        """Return tokens, by their indices."""
        columns = (self.tokens[name][chosen].tolist() for name in ("line", "start", "end"))
        return [self.lines[line][start:end] for line, start, end in zip(*columns, strict=True)]

    def chosen(self, indices: Indices) -> TokenArray:
        """Return the records of tokens, by their indices, which are ascending."""
        return self.tokens if len(indices) == len(self.tokens) else self.tokens.take(indices)

    def first_words(self) -> Indices:
        """Return the index of each line's first token with a letter, where there is one."""
        with_letter = np.flatnonzero(self.tokens["has_letter"])
        return with_letter[np.unique(self.tokens["line"][with_letter], return_index=True)[1]]

    def without_first(self) -> TokenizedLines:
        """Return the text without each line's first token with a letter."""
        return self._replace(tokens=np.delete(self.tokens, self.first_words()))

    def sizes(self) -> Indices:
        """Return the number of tokens of each line."""
        return np.bincount(self.tokens["line"], minlength=len(self.lines))


Batch: TypeAlias = tuple[int, TokenizedLines, TokenizedLines]
"""The number of the first line, and successive lines of the reference and of the hypothesis."""


def compare(
    references: Iterable[str | bytes],
    hypotheses: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    aligns: bool = False,
    names: tuple[str, str] = NAMES,
) -> Iterator[LineCounts]:
    """Yield the counts of all lines, in blocks of successive lines. Arguments and errors are those of `score.score`;
    aligns: the words may differ; names: of the two texts in error messages."""
    is_known = in_vocabulary and lru_cache(_REMEMBERED)(in_vocabulary)
    for first, *texts in (batches if aligns else same_words)(references, hypotheses, names):
        ref, hyp = (text.without_first() if skip_first else text for text in texts)
        pairs = _in_common(ref, hyp, first, names) if aligns else (np.arange(len(ref.tokens)),) * 2
        yield count(ref, hyp, *pairs, is_known)


def same_words(
    references: Iterable[str | bytes], hypotheses: Iterable[str | bytes], names: tuple[str, str]
) -> Iterator[Batch]:
    """Yield the batches of two texts that are equal up to case; CorpusError if they are not."""
    for first, ref, hyp in batches(references, hypotheses, names):
        if (line := _first_difference(ref, hyp)) >= 0:
            number, word, other = _first_words(ref, hyp, line)
            raise CorpusError(
                f"{names[1]}, line {first + line}: differs from {names[0]} in more than case: word {number} is"
                f" {word[:40]!r} in the reference and {other[:40]!r} in the hypothesis. Recase the text of the"
                " reference, or use `score` with `align=True`, which allows different words."
            )
        yield first, ref, hyp


def batches(
    references: Iterable[str | bytes], hypotheses: Iterable[str | bytes], names: tuple[str, str]
) -> Iterator[Batch]:
    """Yield batches of about `BATCH` characters of two texts."""
    lines: list[tuple[str, str]] = []
    size, first, error = 0, 1, None
    for text, name in zip((references, hypotheses), names, strict=True):
        if isinstance(text, (str, bytes)):
            raise TypeError(f"{name} must be lines, not one {type(text).__name__}. Split it, or put it in a list.")
    for number, pair in enumerate(zip_longest(references, hypotheses, fillvalue=_MISSING), 1):
        if _MISSING in pair:
            ended, other = names if pair[0] is _MISSING else names[::-1]
            error = f"{ended}: fewer lines ({number - 1:,}) than {other}. Write an empty line where a text is missing."
            break
        ref, hyp = (_text(line, name, number) for line, name in zip(pair, names, strict=True))
        lines.append((ref, hyp))
        size += max(len(ref), len(hyp)) + 1
        if size >= BATCH:
            yield _batch(first, lines)
            lines, size, first = [], 0, number + 1
    if lines:  # an error in an earlier line locates a lost line more precisely
        yield _batch(first, lines)
    if error:
        raise CorpusError(error)


def _text(line: object, name: str, number: int) -> str:
    if isinstance(line, str):
        return line
    if not isinstance(line, bytes):
        raise TypeError(f"{name}, line {number}: must be a str, not {type(line).__name__}.")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{name}, line {number}: not UTF-8 at byte {error.start} ({error.reason}). Convert the text to UTF-8."
        ) from error


def _batch(first: int, lines: list[tuple[str, str]]) -> Batch:
    ref, hyp = zip(*lines, strict=True)
    return first, tokenized(ref), tokenized(hyp)


def tokenized(lines: tuple[str, ...]) -> TokenizedLines:
    """Find the tokens of lines."""
    codes, ends = code_points("".join(lines)), np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)))
    tokens, capitals = np.empty((len(codes) + len(lines)) // 2, TOKEN), np.empty(len(codes), np.uint32)
    return TokenizedLines(lines, tokens[: _read_tokens(codes, ends, uni.INFO, FOLD, tokens, capitals)], capitals)


@kernel
def _read_tokens(
    codes: U32Array, ends: I64Array, info: U8Array, fold: U32Array, tokens: TokenArray, capitals: U32Array
) -> i64:
    """Fill in tokens and capitals of lines, given the end of each line in `codes`. Return the number of tokens."""
    n, i, begin, n_capitals = 0, 0, 0, 0
    for line in range(ends.size):
        end = ends[line]
        while i < end:
            if info[codes[i]] & uni.CLASS == uni.SPACE:
                i += 1
                continue
            token = tokens[n]
            token.line, token.start, token.first_capital = line, i - begin, n_capitals
            cased, first, has_letter, is_plain, start = 0, False, False, True, i
            folded = u64(0)
            while i < end and info[codes[i]] & uni.CLASS != uni.SPACE:
                code, flags = codes[i], info[codes[i]]
                is_cased, is_upper = flags & uni.IS_CASED != 0, flags & uni.IS_UPPER != 0
                folded = hash_pair(folded, u64(fold[code]))
                if code == uni.DOTTED_CAPITAL_I:
                    folded = hash_pair(folded, u64(uni.DOT_ABOVE))
                is_plain = is_plain and code == fold[code] and code != uni.DOTLESS_I
                has_letter = has_letter or is_cased or flags & uni.CLASS == uni.LETTER
                first = first or (cased == 0 and is_cased and is_upper)
                cased += is_cased
                capitals[n_capitals] = code
                n_capitals += is_upper
                i += 1
            exact, turkish = folded, folded
            if not is_plain:
                exact, turkish = u64(0), u64(0)
                for code in codes[start:i]:
                    is_i = code == uni.DOTTED_CAPITAL_I or code == uni.DOTLESS_I
                    exact = hash_pair(exact, u64(code))
                    turkish = hash_pair(turkish, u64(ord("i") if is_i else fold[code]))
            token.exact, token.folded, token.turkish = exact, folded, turkish
            token.end, token.has_letter, token.n_capitals = i - begin, has_letter, n_capitals - token.first_capital
            token.shape = shape_with(cased, i64(token.n_capitals), first)
            n += 1
        begin = end
    return n


def _first_difference(ref: TokenizedLines, hyp: TokenizedLines) -> int:
    """Return the first line whose texts differ in more than case, in Turkish or in any other language, or −1."""
    other_sizes = np.flatnonzero(ref.sizes() != hyp.sizes()).tolist()
    lines = ref.tokens["line"]
    n = int(np.searchsorted(lines, other_sizes[0])) if other_sizes else len(lines)
    in_any, in_turkish = (
        set(lines[:n][ref.tokens[folded][:n] != hyp.tokens[folded][:n]].tolist()) for folded in ("folded", "turkish")
    )
    return min([*(in_any & in_turkish), *other_sizes], default=-1)


def _first_words(ref: TokenizedLines, hyp: TokenizedLines, line: int) -> tuple[int, str, str]:
    """Return the number of the first word in which both texts of a line differ in more than case, and it in both, from
    shortly before they differ."""
    one, other = (text.tokens[text.tokens["line"] == line] for text in (ref, hyp))
    n = min(len(one), len(other))
    k = max(int(np.argmax(np.append(one[name][:n] != other[name][:n], True))) for name in ("folded", "turkish"))
    word, counterpart = ([*text.lines[line].split(), ""][k] for text in (ref, hyp))  # str.split and INFO agree
    shorter = min(len(word), len(counterpart))
    differs = next((i for i in range(shorter) if word[i].lower() != counterpart[i].lower()), shorter)
    begin = max(0, differs - 20)
    return k + 1, word[begin:], counterpart[begin:]


def words_in_common(reference: Sequence[str], hypothesis: Sequence[str]) -> Indices:
    """Return the positions in both texts of their n words in common, regardless of case: int64[n, 2]. Words have no
    white space."""
    ref, hyp = (tokenized((" ".join(words),)) for words in (reference, hypothesis))
    return np.stack(_in_common(ref, hyp, 1, NAMES), 1)


def _in_common(ref: TokenizedLines, hyp: TokenizedLines, first: int, names: tuple[str, str]) -> tuple[Indices, Indices]:
    """Return the indices in both texts of the words in common of each line."""
    sizes = np.stack([ref.sizes(), hyp.sizes()])
    for text, line in np.argwhere(sizes > MOST_WORDS)[:1].tolist():
        raise CorpusError(
            f"{names[text]}, line {first + line}: {quantity(int(sizes[text, line]), 'word')}, but at most"
            f" {MOST_WORDS:,} can be aligned. Put each sentence, or each speaker's turn, on its own line."
        )
    hashes = np.concatenate([ref.tokens["folded"], hyp.tokens["folded"]])
    numbers = np.unique(hashes, return_inverse=True)[1].astype(np.uint32)
    of_ref, of_hyp = numbers[: len(ref.tokens)], numbers[len(ref.tokens) :]
    partners = np.full(len(ref.tokens), -1)
    align(of_ref, of_hyp, np.cumsum(sizes, axis=1).T.copy(), partners)
    paired = np.flatnonzero(partners >= 0)
    return paired, partners[paired]


def count(
    ref: TokenizedLines,
    hyp: TokenizedLines,
    ref_pairs: Indices,
    hyp_pairs: Indices,
    is_known: Callable[[str], bool] | None,
) -> LineCounts:
    """Return the counts of lines: of pairs of tokens, given their indices in both texts, int64[pairs] each, ascending;
    and of all words and capitals, and their edits."""
    n, tokens, counterparts = len(ref.lines), ref.chosen(ref_pairs), hyp.chosen(hyp_pairs)
    row, shapes, same = tokens["line"] * COLUMNS, tokens["shape"], tokens["exact"] == counterparts["exact"]
    cells = [row + TOKENS + shapes, (row + CORRECT + shapes)[same], (row + PROPOSED)[counterparts["n_capitals"] > 0]]
    if is_known:
        _, index, numbers = np.unique(tokens["exact"], return_index=True, return_inverse=True)
        unknown = ~np.fromiter(map(is_known, ref.words(ref_pairs[index])), np.bool_)[numbers]
        cells += [(row + UNKNOWN)[unknown], (row + UNKNOWN_CORRECT)[unknown & same]]
    counts = np.bincount(np.concatenate(cells), minlength=n * COLUMNS).reshape(n, COLUMNS)

    # A segment is the beginning of a line, or a pair, and the unpaired tokens after it.
    first_segments = np.arange(n) + np.searchsorted(tokens["line"], np.arange(n))
    unpaired, capitals = [], []
    for text, paired in ((ref, ref_pairs), (hyp, hyp_pairs)):
        is_paired = np.zeros(len(text.tokens), np.bool_)
        is_paired[paired] = True
        segments = np.cumsum(is_paired) + text.tokens["line"]
        unpaired.append(np.bincount(segments[~is_paired], minlength=n + len(paired)))
        capitals.append(_capitals(text, segments))
    substitutions = np.minimum(*unpaired)
    edits = np.stack([unpaired[0] - substitutions, unpaired[1] - substitutions, substitutions], 1)
    counts[:, WORDS], counts[:, WORD_DELETIONS:] = ref.sizes(), np.add.reduceat(edits, first_segments)
    of_capitals = np.zeros((n, WORDS - CAPITALS), np.int64)
    count_edits(capitals[0], capitals[1], of_capitals)
    counts[:, CAPITALS:WORDS] = of_capitals
    return counts


def _capitals(text: TokenizedLines, segments: Indices) -> Capitals:
    """Return the upper-case characters of a text, whose tokens are in these segments."""
    sizes = text.tokens["n_capitals"].astype(np.int64)
    ends = np.cumsum(sizes)
    chosen = np.arange(sizes.sum()) + np.repeat(text.tokens["first_capital"] - (ends - sizes), sizes)
    of_lines = np.append(0, ends)[np.cumsum(text.sizes())]
    return Capitals(text.capitals[chosen], np.repeat(segments, sizes), of_lines)
