"""The base class of files of records: lines of plain text, rows of TSV and CSV, JSON lines, items of JSON.

Input: a file. Output: the text of each record; or the same file with only the case of these texts changed. A record
that violates its format, or is not UTF-8, is malformed: it fails its file, passes unchanged or is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise, takewhile
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CorpusError, OptionError, quantity
from capfst.io.alignments import OtherTexts, mismatch
from capfst.io.blocks import raw_pieces, refuse_foreign
from capfst.io.compression import OnRead
from capfst.io.encodings import advice
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import RunningText, Span
from capfst.io.text_file import FormatError, Part, TextFile
from capfst.text.markup import NONE, hide_text, markup_of, shown
from capfst.text.utf8 import decoded, encoded

_BLANK = re.compile(r"[ \t]").search
_NOT_UTF8 = re.compile("[\udc80-\udcff]").search
_line_ends = re.compile("\n").finditer
_NEAR = 1 << 12  # characters before and after a byte that is not UTF-8, by which its encoding is guessed


class Record(NamedTuple):
    """A record of a file."""

    text: str  # with its line end, and those in it
    positions: list[slice]  # of its texts; none if it has no text or is malformed
    is_malformed: bool
    others: list[OtherTexts]  # of its texts; none if they are not translations
    key: str | None  # the value that it shares with the records of its document


def _is_utf8(text: str) -> bool:
    """Return whether a text has no lone surrogates."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def ends_of_lines(data: str, is_last: bool) -> list[int]:
    """Return the ends of the lines of a text, of which only the last line of a file may lack its line end."""
    ends = [end.end() for end in _line_ends(data)]
    return [*ends, len(data)] if is_last and data[-1:] not in ("", "\n") else ends


class LineFormat(TextFile):
    """A format of records. A subclass defines the positions of texts in a record (`find`); `escape` and `unescape`, if
    a text may have escapes; `names`, if the parts of a record have names; `begin`, if the file has a header; and
    `record_ends` and `splittable`, if a record may have several lines."""

    splittable = True  # whether each line end ends a record, so that parts of a file can be recased separately
    longest = 4 << 20  # characters of a text that are recased at once, to bound the additional memory
    least_lines: ClassVar[int] = 1  # the number of lines of a record without a line end

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self.markup = markup_of("", options.markup)
        self.on_error = options.on_error
        self.remedy = options.remedy
        names = [name for name in (options.source, options.align) if name is not None]
        self.others = [self.other(options.selecting(name)) for name in names]
        """Formats of this file that select the source and the alignment of each record."""
        self.by_document = options.document is not None
        self.document = self.other(options.selecting(options.document)) if options.document else None
        """Format of this file that selects the value that the records of a document share."""
        if self.by_document or self.transcoding:
            self.splittable = False

    def other(self, options: TextOptions) -> LineFormat:
        """Return a format of this file that selects another text of its records."""
        return type(self)(self.path, options)

    def record_ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:  # as `ends`
        return ends_of_lines(data, is_last)

    def begin(self, header: str) -> None:
        """Read the file's first record, before any other."""

    def names(self, data: str) -> list[str]:
        """Return the names of a record's parts (fields or columns). data: the file's beginning, with its first
        record."""
        raise NotImplementedError

    def selected(self, part: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the texts of a record, its fields or columns; OptionError if there is none."""
        if not names:
            head = b"".join(islice(raw_pieces(self.path, None, self.transcoding), 8))
            known = ", ".join(self.names(head.decode(errors="replace")))[:200] or "none"
            known += ", or a number from 1" if part == "column" else ""
            raise OptionError(
                f"{self.path}: no {part} is chosen for the text. Use `{part}` with one of these {part}s: {known}."
            )
        return names

    def find(self, record: str, number: int) -> list[slice | None]:
        """Return the positions of the texts in a record, in order; None for a text that is null. The record includes
        its line end; `number` is that of its first line.

        Raises:
            FormatError: the record violates the format.
        """
        raise NotImplementedError

    def key(self, record: str, number: int) -> str | None:
        """Return the text of a record in the form in which the records of a document share it; None if it has none."""
        texts = [self.unescape(record[position]) for position in self.find(record, number) if position is not None]
        return "\t".join(texts) if texts else None

    def unescape(self, raw: str) -> str:
        """Return the text of the part of a record that `find` selects."""
        return raw

    def escape(self, old: str, recased: str) -> str:
        """Return recased text as it is written instead of `old`."""
        return recased

    def ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        """Return the ends of records, without those of the last document, which may continue; a document as long as a
        part ends with it."""
        ends = self.record_ends(data, is_first, is_last)
        if is_first and ends:
            header = data[: ends[0]].encode(errors="surrogateescape").decode(errors="replace")
            for file_format in (self, *self.others, *([self.document] if self.document else [])):
                file_format.begin(header)
        n = len(ends)
        if self.document and not is_last:
            bounds = [0, *ends]
            keys = (self._key(data[bounds[k] : bounds[k + 1]], is_first and k == 0) for k in reversed(range(n)))
            key = next(keys, None)
            n -= 1 + sum(1 for _ in takewhile(lambda other: key is not None and other == key, keys))
        return ends[:n] or ends

    def _key(self, record: str, is_first: bool) -> str | None:
        """Return the value that a record shares with those of its document; None if there is none, or the record is
        malformed."""
        try:
            return self.document.key(record, 1 if is_first else 2) if self.document else None
        except FormatError:
            return None

    def pieces(self, on_read: OnRead) -> Iterator[Any]:
        pieces = raw_pieces(self.path, on_read, self.transcoding)
        first = next(pieces, b"")
        refuse_foreign(first, str(self.path))
        return self.cut(chain([first], pieces))

    def records(self, part: Part) -> Iterator[Record]:
        """Yield the records of a part with the positions of their texts.

        Raises:
            CorpusError: a record is malformed, which fails the file.
        """
        after = part.line
        has_bad = not _is_utf8(part.data)
        for start, end in pairwise([0, *part.ends]):
            text = part.data[start:end]
            number, after = after, after + (text.count("\n") or self.least_lines)
            positions: list[slice | None] = []
            others: list[OtherTexts] = []
            is_malformed, key = False, None
            try:
                if has_bad and (bad := _NOT_UTF8(text)):
                    raise FormatError(f"not UTF-8, 0x{ord(bad[0]) - 0xDC00:02x} after {text[: bad.start()][-20:]!r}")
                positions = self.find(text, number)
                if self.others and positions:
                    others = self._others(text, number, positions)
                if self.document and positions:
                    key = self.document.key(text, number)
            except FormatError as error:
                positions, is_malformed = [], True
                if self.on_error == "fail":
                    near = part.data[max(0, start - _NEAR) : start + _NEAR].encode(errors="surrogateescape")
                    convert = f"{advice(near)}. " if has_bad and _NOT_UTF8(text) else ""
                    raise CorpusError(
                        f"{self.path}, line {number}: {error}. {convert}{self.remedy}".rstrip()
                    ) from error
            found = [each for each in positions if each is not None] if None in positions else positions
            yield Record(text, found, is_malformed, others, key)  # type: ignore[arg-type]

    def _others(self, record: str, number: int, positions: list[slice | None]) -> list[OtherTexts]:
        """Return the other texts of each text of a record; FormatError if they do not fit it."""
        found = [other.find(record, number) for other in self.others]
        if any(len(each) != len(positions) for each in found):
            counts = ", ".join(str(len(each)) for each in found)
            raise FormatError(f"it has {quantity(len(positions), 'text')}, but {counts} sources or alignments")
        others: list[OtherTexts] = []
        for position, *there in zip(positions, *found, strict=True):
            if position is None:
                continue
            pairs = zip(self.others, there, strict=True)
            texts = [other.unescape(record[each]) if each is not None else "" for other, each in pairs]
            if why := mismatch(self.unescape(record[position]), texts):
                raise FormatError(why)
            others.append(tuple(encoded(text) for text in texts))
        return others

    def texts(self, on_read: OnRead) -> Iterator[str]:
        for part in self.pieces(on_read):
            for record in self.records(part):
                for position in record.positions:
                    yield self.unescape(record.text[position])

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        return chain.from_iterable(map(self.running, self.cut(blocks)))

    def recased(self, part: Part, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        output, counts, first = [], RecaseCounts(), part.line - 1
        for running in self.running(part):
            recased, more = running.recased(recase, first)
            output.append(recased)
            counts += more
            first += running.data.count("\n")
        return b"".join(output), counts

    def running(self, part: Part) -> Iterator[RunningText]:
        """Yield a part, usually as one, with the text of its records, each on lines of its own. A text that begins a
        document is after a blank line."""
        kept: list[str] = []
        spans: list[Span] = []
        others: list[OtherTexts] = []  # of the spans
        hidden: dict[str, npt.NDArray[np.uint8]] = {}  # by what is written
        hides = self.markup != NONE
        key_before: str | None = None
        size = n_records = n_malformed = n_extra = 0  # n_extra: lines of the running text that are not lines of texts

        def show(old: str, recased: str) -> str:
            text = shown(encoded(recased), hidden[old])
            return self.escape(old, decoded(text))

        def running() -> RunningText:
            if spans:
                spans[0] = spans[0]._replace(before=spans[0].before[1:])
            escape, counts = show if hides else self.escape, (n_records, n_malformed, n_extra)
            return RunningText("".join(kept), spans, (), escape, *counts, others=others)

        for text, found, is_malformed, its_others, key in self.records(part):
            n_records += 1
            n_malformed += is_malformed
            if is_malformed and self.on_error == "drop":
                continue
            before = "\n"
            if self.by_document and found and (key is None or key != key_before):
                before = "\n\n"
                n_extra += 1
            key_before = key if found else key_before
            others += its_others
            is_long = len(text) > self.longest and found and not its_others  # a source is not cut
            for piece, positions, is_whole in _cut(text, found, self.longest) if is_long else [(text, found, True)]:
                for position in positions:
                    raw = piece[position]
                    value = self.unescape(raw)
                    if hides:
                        masked, hidden[raw] = hide_text(encoded(value), self.markup)
                        n_extra += masked.count(b"\n") - value.count("\n")
                        value = decoded(masked)
                    spans.append(Span(size + position.start, size + position.stop, value, before))
                    before = "\n"
                kept.append(piece)
                size += len(piece)
                n_extra += not is_whole
                if size >= self.longest:
                    yield running()
                    kept, spans, others, size = [], [], [], 0
                    n_records = n_malformed = n_extra = 0
        yield running()


def _cut(text: str, positions: list[slice], longest: int) -> Iterator[tuple[str, list[slice], bool]]:
    """Yield pieces of a record with one text each, its position in the piece, and whether the piece ends the text: a
    longer text is cut after blanks."""
    start = 0
    for number, position in enumerate(positions, 1):
        begin = position.start
        while position.stop - begin > longest and (blank := _BLANK(text, begin + longest, position.stop)):
            yield text[start : blank.end()], [slice(begin - start, blank.end() - start)], False
            start = begin = blank.end()
        end = len(text) if number == len(positions) else position.stop
        yield text[start:end], [slice(begin - start, position.stop - start)], True
        start = end
