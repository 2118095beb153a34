"""The text in a file: lines, columns, fields of JSON, cues of subtitles, words with times.

A `RunningText` joins the spans of text in a part of a file to a text that can be recased as a whole, and writes the
part again with the recased spans. All other characters stay. If the spans have times, the text has the pauses between
them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, pairwise
from typing import NamedTuple
from unicodedata import combining, normalize

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CapfstError
from capfst.io.alignments import OtherTexts, joined_texts
from capfst.io.protocol import Recase, RecaseCounts
from capfst.text.utf8 import decoded, encoded

_CAPITALS = 0.8  # of the letters of a text in capitals; more than of NASA's
_WINDOW = 24  # words that one text may lack of another before they are unrelated
_INSERTED, _REMOVED = ",.?", ",.:;?!…"  # marks that restoring punctuation may insert and, on request, remove
_BEFORE_REMARK = "\n) "  # no sentence begins after a closing bracket
_LINE_ENDS = {"\n", "\n\n"}  # before spans that are lines of their own
_plain_words = re.compile(r"""(?<!\S)["“”'‘’(¿¡-]*[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:?!…"”'’)]*(?!\S)""").sub
_no_letters = re.compile(r"[^\w\u0307]+|_+").sub
_words = re.compile(r"\S+").finditer
_line_ends = re.compile(r"\n").finditer
_tokens = re.compile(r"\S+|\s+").findall
_letter = re.compile(r"\W*([^\W\d_])").match


class Span(NamedTuple):
    """Text at the characters start … end − 1 of a file."""

    start: int
    end: int
    value: str
    before: str = ""  # in the running text, before it: a space, a line break, or a character that has no case


Times = dict[int, tuple[float, float]]
"""Begin and end, in seconds, of spans that have times, by their start in the file."""


class Pauses(NamedTuple):
    """Pauses between words of a text: after the byte `ends[k]`, `seconds[k]` until the next word."""

    ends: npt.NDArray[np.int64]  # [n], ascending
    seconds: npt.NDArray[np.float64]  # [n]

    def between(self, begin: int, end: int) -> Pauses:
        """Return those of a part of the text, from one byte to another."""
        first, last = np.searchsorted(self.ends, (begin, end))
        return Pauses(self.ends[first:last] - begin, self.seconds[first:last])


NO_PAUSES = Pauses(np.empty(0, np.int64), np.empty(0, np.float64))


class SpokenText(bytes):
    """Running text in UTF-8 of a part of a file."""

    running: RunningText


class Copy(NamedTuple):
    """Spans with the words of other spans, which they follow in their case."""

    spans: list[Span]
    of: list[Span]


class Remarks(NamedTuple):
    """Remarks, such as sounds, each of which is recased on its own."""

    spans: list[list[Span]]  # of each
    are_capitalized: bool  # their first words

    def lines(self) -> Iterator[Span]:
        """Yield the spans as lines of running text. The capital of a first word is no evidence, nor are those of a
        remark in Title Case; those in capitals are none in any line."""
        for spans in self.spans:
            text = " ".join([span.value for span in spans])
            first, *others = text.split()
            is_title = not any(map(str.islower, others))
            for k, span in enumerate(spans):
                value = span.value
                if not text.isupper():
                    value = value.lower() if is_title else value.replace(first, first.lower(), k == 0)
                yield span._replace(value=value, before=span.before if k else _BEFORE_REMARK)

    def cased(self, recased: Iterable[str]) -> Iterator[str]:
        """Yield the spans as they are to be written, given those of `lines` recased."""
        values = iter(recased)
        for spans in self.spans:
            for k, span in enumerate(spans):
                value = next(values)
                value = value if len(value) == len(span.value) else with_case_of(span.value, value)  # without marks
                letter = _letter(value) if self.are_capitalized and k == 0 else None
                if letter and letter[1].islower():
                    i = letter.start(1)
                    own = span.value[i]  # it may be İ
                    value = value[:i] + (own if own.isupper() else _raised(letter[1])) + value[i + 1 :]
                yield value


NO_REMARKS = Remarks([], False)


@dataclass(eq=False)
class RunningText:
    """A part of a file and its running text."""

    data: str  # the part
    spans: list[Span]  # of its running text, in the order of this text, without overlaps; then those of remarks
    copies: Sequence[Copy] = ()  # further spans, and those of `spans`, or of earlier copies; spans may be in both
    escape: Callable[[str, str], str] = lambda old, new: new  # a span, and recased text → as it is written
    records: int = 0  # of the part: lines, objects or cues
    malformed: int = 0  # of these
    extra_lines: int = 0  # of the running text, which are not lines of the texts
    times: Callable[[], Times] = dict  # of spans or cues
    are_cues: bool = False  # what the times are of: pauses between cues do not count
    others: Sequence[OtherTexts] = ()  # the other texts of each span, if the spans are translations
    remarks: Remarks = NO_REMARKS  # recased with the running text, as lines of their own after it

    def __post_init__(self) -> None:
        self._n_text, self.spans = len(self.spans), [*self.spans, *self.remarks.lines()]
        text = "".join([span.before + span.value for span in self.spans])
        self._text = f"{text}\n" if self.spans else ""

    @property
    def text(self) -> SpokenText:
        """The running text: whole lines in UTF-8."""
        text = SpokenText(encoded(self._text))
        text.running = self
        return text

    @property
    def n_lines(self) -> int:
        """The number of line ends of the part."""
        return self.data.count("\n")

    def recased(self, recase: Recase, line: int, head: bytes | None = None) -> tuple[bytes, RecaseCounts]:
        """Return the part with its running text recased, and what was counted. line: the first of the part in the file,
        from 0. head: as in `Recase`."""
        recased, counts = recase(self.text, *joined_texts(self.others), head=head)
        counts = counts.at(lambda of_part: line + of_part)
        return self.written(recased), counts + RecaseCounts(self.records, self.malformed, -self.extra_lines)

    def place(self, offset: int) -> tuple[int, float | None]:
        """Return the line, from 0, and the time, in seconds, of a byte of the running text."""
        ends, starts, times, line_ends = self._places
        span = self.spans[min(bisect_right(ends, offset), len(ends) - 1)]
        k = bisect_right(starts, span.start) - 1
        return bisect_left(line_ends, span.start), times[starts[k]][0] if k >= 0 else None

    @cached_property
    def _places(self) -> tuple[list[int], list[int], Times, list[int]]:
        """The byte after each span of the running text; the times, by where they begin in the file; and its line ends,
        which are not counted again for each place."""
        ends = accumulate([len(encoded(span.before + span.value)) for span in self.spans])
        times = self.times()
        return list(ends), sorted(times), times, [end.start() for end in _line_ends(self.data)]

    def pauses(self) -> Pauses:
        """Return the pauses between the spans, or those of a copy that is as many words, if more of its spans have
        times. Few need them, and they take some time to find."""
        times = {} if self.are_cues else self.times()
        if not times:
            return NO_PAUSES
        views, n_words = [self.spans, *(copy.spans for copy in self.copies)], len(self._text.split())
        views = [spans for spans in views if sum(len(span.value.split()) for span in spans) == n_words]
        timed = max(views, key=lambda spans: sum(span.start in times for span in spans), default=[])
        return _pauses_between(timed, times, self._text)

    def written(self, recased: bytes | memoryview) -> bytes:
        """Return the part of the file with its running text recased.

        Raises:
            CapfstError: the recased text has other words, or what is between the spans would be lost.
        """
        spans, n = self.spans, self._n_text
        values = self.values(recased)
        if self.copies or self.remarks.spans:
            spans = [*spans[:n], *chain.from_iterable(self.remarks.spans)]
            changed = dict(zip(spans, [*values[:n], *self.remarks.cased(values[n:])], strict=True))
            waiting = list(self.copies)
            while waiting:
                for copy in waiting:
                    if all(span in changed for span in copy.of):
                        changed.update(_followed(copy, changed))
                left = [copy for copy in waiting if copy.spans[0] not in changed]
                waiting = left if len(left) < len(waiting) else []
            spans, values = list(changed), list(changed.values())
        parts, end = [], 0
        for (start, stop, old, _), value in sorted(zip(spans, values, strict=True)):  # as they are in the file
            if value != old:
                parts += [self.data[end:start], self.escape(self.data[start:stop], value)]
                end = stop
        return "".join([*parts, self.data[end:]]).encode("utf-8", "surrogateescape")

    def values(self, text: bytes | memoryview) -> list[str]:
        """Return the spans of the recased text; CapfstError as `written`."""
        spans, recased = self.spans, decoded(text)
        if {span.before for span in spans[1:]} <= _LINE_ENDS and {span.before for span in spans[:1]} <= {"", "\n"}:
            if recased.count("\n") != self._text.count("\n"):
                raise misfit(self._text)
            lines = iter(recased.split("\n"))
            if spans and spans[0].before:
                next(lines)
            found = []
            for _, _, value, before in spans:
                if before == "\n\n":
                    next(lines)
                n_more = value.count("\n")
                found.append("\n".join(islice(lines, n_more + 1)) if n_more else next(lines))
            return found
        lengths = chain.from_iterable([(len(span.before), len(span.value)) for span in spans])
        parts = divided(self._text, recased, accumulate(lengths, initial=0))
        if any(
            part != span.before and _bare(part) != _bare(span.before)
            for part, span in zip(parts[::2], spans, strict=True)
        ):
            raise misfit(self._text)
        return parts[1::2]


def spans_between(
    data: str,
    start: int,
    last: int,
    marks: Iterable[re.Match[str]],
    before: str = "",
    instead: Callable[[re.Match[str]], str] = lambda mark: "",
) -> tuple[list[Span], str]:
    """Return the texts between marks in data[start:last], and what is before the next one.

    before: of the first one; instead: what a mark is in the running text.
    """
    spans: list[Span] = []
    for mark in chain(marks, [None]):
        end = mark.start() if mark else last
        if data[start:end].strip():
            spans.append(Span(start, end, data[start:end], before))
            before = ""
        else:
            before += data[start:end]
        if mark:
            before += instead(mark)
            start = mark.end()
    return spans, before


def _pauses_between(spans: list[Span], times: Times, text: str) -> Pauses:
    """Return the pauses after spans of one word, given those of all words of a text. (Longer spans are segments: they
    often end where the next one begins, even if there is a pause.)"""
    tokens = _tokens(text)
    ends = list(accumulate(len(encoded(token)) for token in tokens))[text[:1].isspace() :: 2]  # of each word
    sizes = [len(span.value.split()) for span in spans]
    timed = [
        (ends[n - 1], max(0, times[after.start][0] - times[span.start][1]))
        for n, size, (span, after) in zip(accumulate(sizes), sizes, pairwise(spans), strict=False)
        if size == 1 and span.start in times and after.start in times and after.before != "\n"
    ]
    return Pauses(np.array([end for end, _ in timed], np.int64), np.array([pause for _, pause in timed], np.float64))


def divided(text: str, recased: str, bounds: Iterable[int]) -> list[str]:
    """Return the parts of a recased text that correspond to the parts of the text between these bounds, from 0 on.

    Raises:
        CapfstError: it is not the same text, apart from case, diacritics and marks.
    """
    if _in_place(text, recased):
        return [recased[start:end] for start, end in pairwise(bounds)]
    words, recased_words = _tokens(text), _tokens(recased)
    is_strict = len(words) != len(recased_words)
    if is_strict:  # a mark was inserted after a control character, which is white space here
        words, recased_words = [text], [recased]
    by_character: list[str] = []
    for old, new in zip(words, recased_words, strict=True):
        by_character += new if _in_place(old, new) else _by_character(old, new, is_strict or new.isascii())
    return ["".join(by_character[start:end]) for start, end in pairwise(bounds)]


def _in_place(old: str, new: str) -> bool:
    """Return whether only case differs, and each character is where it was. (İ is the only letter whose lower case is
    two characters, i and a dot above.)"""
    return len(new) == len(old) and new.lower() == old.lower() and "İ" not in old and "İ" not in new


def _by_character(old: str, new: str, is_strict: bool) -> list[str]:
    """Return for each character of a word what it has become in the recased word: the character in either case, and the
    mark that the word has got after it; or nothing, if it is a mark that the word has lost.

    Raises:
        CapfstError: it is another word, and `is_strict`: it has not got diacritics.
    """
    if new and new[-1] in _INSERTED and _in_place(old, new[:-1]):  # nearly always
        return [*new[: len(old) - 1], new[len(old) - 1 :]]
    parts, end, same = [""], 0, True  # the first part: of marks before the word
    lost = 0  # accents of the last letter that it does not have any more, as i with a dot above when it becomes İ
    for i, character in enumerate(old):
        wanted = "" if character in _REMOVED else _base(character)
        while wanted and end < len(new) and new[end] in _INSERTED:
            parts[-1] += new[end]
            end += 1
        start, found = end, ""
        if character in _REMOVED:
            end += new[end : end + 1] in (character, *_INSERTED)
        elif wanted:
            while len(found) < len(wanted) and end < len(new):
                found += _base(new[end])
                end += 1
            more = _n_accents(new, end) - _n_accents(old, i + 1)
            end, lost = end + max(more, 0), max(-more, 0)
        elif lost:
            lost -= 1
        else:
            end += end < len(new) and not _base(new[end])
        same &= found == wanted
        parts.append(new[start:end])
    if is_strict and (not same or new[end:].strip(_INSERTED)):
        raise misfit(old)
    parts[-1] += new[end:]
    return [parts[0] + parts[1], *parts[2:]]


def _n_accents(word: str, start: int) -> int:
    """Return how many accents that are characters of their own follow each other there."""
    end = start
    while end < len(word) and not _base(word[end]):
        end += 1
    return end - start


@lru_cache(1 << 12)
def _base(character: str) -> str:
    """Return the letter of a character without its case and accents; nothing for an accent of its own."""
    decomposed = normalize("NFD", character.lower())
    base = "".join([part for part in decomposed if not combining(part)])
    return {"ς": "σ", "ı": "i"}.get(base, base)


def _bare(text: str) -> str:
    """Return a text without its case, its accents, and the marks that it may get or lose."""
    return "".join([_base(character) for character in text if character not in _REMOVED])


def misfit(text: str) -> CapfstError:
    """Return the error for a recased text that is not this text."""
    return CapfstError(f"the recased text is not that of the file: {text.strip()[:40]!r}. Report this as a bug.")


def _followed(copy: Copy, changed: dict[Span, str]) -> Iterator[tuple[Span, str]]:
    """Yield the spans of a copy with their new values, given those of the spans that they repeat."""
    values = [changed.get(span, span.value) for span in copy.spans]
    own = "".join([span.before + span.value for span in copy.spans])
    text = "".join([span.before + value for span, value in zip(copy.spans, values, strict=True)])
    before = "".join([span.before + span.value for span in copy.of])
    after = "".join([span.before + changed[span] for span in copy.of])
    cased = with_case_of(text, after)
    if not (_in_place(before, after) and _in_place(own, text)):
        cased = _with_marks(cased, own, before, after)
    lengths = chain.from_iterable(
        [(len(span.before), len(value)) for span, value in zip(copy.spans, values, strict=True)]
    )
    return zip(copy.spans, divided(text, cased, accumulate(lengths, initial=0))[1::2], strict=True)


def _with_marks(text: str, own: str, before: str, after: str) -> str:
    """Return a text with the marks and accents that the same words of another text have got or lost. own: the text
    without any change."""
    tokens, own_words, old_words, new_words = _tokens(text), own.split(), before.split(), after.split()
    words = tokens[text[:1].isspace() :: 2]
    if len(words) != len(own_words) or len(old_words) != len(new_words):
        return text
    pairs: Iterable[tuple[int, int]] = enumerate(range(len(words)))
    if len(words) != len(old_words):
        pairs = _same_words(list(map(letters_of, own_words)), list(map(letters_of, old_words)))
    for i, j in pairs:
        word, own_word, old, new = words[i], own_words[i], old_words[j], new_words[j]
        if own_word == old or own_word.lower() == old.lower():
            words[i] = new
        else:
            word = with_case_of(own_word, word) if _inserted(own_word, word) else word
            words[i] = word if word[-1] in _REMOVED else word + _inserted(old, new)
    tokens[text[:1].isspace() :: 2] = words
    return "".join(tokens)


def _inserted(old: str, new: str) -> str:
    """Return the mark that a word has got, or nothing."""
    old, new = old.lower(), new.lower()
    if len(new) != len(old) + 1:
        return ""
    mark = next((b for a, b in zip(old, new, strict=False) if a != b), new[-1])
    return mark if mark in _INSERTED else ""


def in_capitals(text: str) -> bool:
    """Return whether most letters of a text are capitals."""
    if text.isupper() or text.islower():
        return text.isupper()
    return are_capitals(sum(map(str.isupper, text)), sum(map(str.islower, text)))


def are_capitals(n_upper: int, n_lower: int) -> bool:
    """Return whether most of so many letters are capitals."""
    return n_upper > _CAPITALS * (n_upper + n_lower)


def upper(text: str) -> str:
    """Return a text with its words in capitals; not of URLs, escapes and the like."""
    return _plain_words(lambda word: _raised(word[0]), text)


def _raised(word: str) -> str:
    raised = word.upper()
    # A combining iota is not the iota that its capital becomes.
    return raised if len(raised) == len(word) and raised.lower() == word.lower() else word


def apart_in_capitals(spans: list[Span]) -> list[Span]:
    """Return spans, of which those in capitals, with more than one word, are apart from the others."""
    apart: list[Span] = []
    was_upper = False
    for span in spans:
        if " " in span.value.strip() and ((is_upper := in_capitals(span.value)) or was_upper):
            value = upper(span.value) if is_upper else span.value
            span = span._replace(value=value, before="\n" if apart and is_upper != was_upper else span.before)
            was_upper = is_upper
        apart.append(span)
    return apart


def letters_of(text: str) -> str:
    """Return the letters and digits of a text in lower case; the dot above the i of İ distinguishes it."""
    return _no_letters("", text.lower())


def with_case_of(text: str, cased: str) -> str:
    """Return a text in the case of another text with the same words; words that only it has stay as they are."""
    if text.lower() == cased.lower():
        return cased
    if letters_of(text) == letters_of(cased):
        letters = filter(str.isalnum, cased)
        in_case = "".join([next(letters) if character.isalnum() else character for character in text])
        return in_case.replace("İ\u0307", "İ")  # which the text has as i and a dot above
    words, others = list(_words(text)), [word[0] for word in _words(cased)]
    parts, end = [], 0
    for i, j in _same_words([letters_of(word[0]) for word in words], list(map(letters_of, others))):
        parts += [text[end : words[i].start()], with_case_of(words[i][0], others[j])]
        end = words[i].end()
    return "".join([*parts, text[end:]])


def _same_words(words: list[str], others: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the indices of the same words in two similar lists; after a difference, the nearest two same words."""
    i = j = 0
    while i < len(words) and j < len(others):
        if words[i] == others[j]:
            yield i, j
            i, j = i + 1, j + 1
            continue
        near = (
            (i + n - k, j + k)
            for n in range(1, _WINDOW)
            for k in range(n + 1)
            if words[i + n - k : i + n - k + 2] == others[j + k : j + k + 2] != []
        )
        i, j = next(near, (i + 1, j + 1))
