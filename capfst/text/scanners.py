"""Scanners of HTML and Markdown, which find what is not text.

In: successive pieces of a file. Out: the spans to hide in each piece (markup.py).

HTML is scanned by the states of its standard's tokenizer. Markdown is read line by line as CommonMark does, for its
blocks; links, code and tags inside a paragraph are found when it is complete.

The time is proportional to the length, whatever the text is. Each line is read once. An opening that nothing closes is
remembered by its kind, so that the next one of this kind does not search the text again. A pattern that is tried at an
opening stops at the next opening of its kind, or matches. What a pattern repeats has limits, so that none of its calls
takes long: signals and other threads wait for it.
"""

from __future__ import annotations

import re

TAG, CODE, BREAK = range(3)
"""Kinds of what is hidden: a tag, a comment or the like; code that stands for a word; a tag that separates lines."""
Span = tuple[int, int, int]
"""Start, end and kind."""

_LONGEST = 1 << 16  # bytes of a paragraph, which are scanned at once

# ---- HTML

_OPENS = re.compile(
    rb"<(?:(?P<short>!---?>)|(?P<comment>!--)|(?P<data>!\[CDATA\[)|(?P<instruction>\?)|(?P<other>!|/(?![A-Za-z>]))"
    rb"|(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*))"
)
_ENDS = {"short": b"", "comment": b"-->", "data": b"]]>", "instruction": b"?>", "other": b">"}
_IN_TAG = re.compile(rb"=\s*([\"'])?|>")
_AFTER_EQUAL = re.compile(rb"\s*([\"'])?")
_RAW = frozenset(b"script style textarea xmp iframe noembed noframes".split())
_CODE = frozenset(b"pre code kbd samp var tt listing".split())
_BLOCKS = (
    b"address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl"
    b" dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend"
    b" li link main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td"
    b" tfoot th thead title tr track ul"
).split()
_SEPARATES = frozenset([*_BLOCKS, b"br", b"pre"])


class Html:
    """Scans HTML. Its state is what is open at the end of the lines so far."""

    def __init__(self) -> None:
        self.until = b""  # a comment or the like, or a value in quotes, ends with this
        self.raw = b""  # script or style, which ends with its end tag
        self.in_tag = False
        self.after_equal = False
        self.name = b""  # of the open tag
        self.is_end = False
        self.code = b""  # element whose text is code
        self.depth = 0  # of elements of that name

    @property
    def is_block(self) -> bool:
        """Whether a block of Markdown may not end here, also where CommonMark ends it."""
        return bool((self.until and not self.in_tag) or self.raw or self.code == b"pre")

    @property
    def is_text(self) -> bool:
        """Whether text may follow."""
        return not (self.until or self.raw or self.in_tag or self.code)

    def scan(self, data: bytes, is_last: bool = False) -> tuple[list[Span], int]:
        """Return the spans to hide in data, and its length."""
        spans: list[Span] = []
        i = 0
        while i < len(data):
            start, kind = i, TAG
            if self.until:
                end = data.find(self.until, i)
                i, self.until = (end + len(self.until), b"") if end >= 0 else (len(data), self.until)
            elif self.in_tag:
                i = self._in_tag(data, i)
            elif self.raw:
                tag = re.compile(rb"(?i)</" + self.raw + rb"(?=[\s/>])").search(data, i)
                i, self.raw = (tag.start(), b"") if tag else (len(data), self.raw)
            else:
                opening = _OPENS.search(data, i)
                start = opening.start() if opening else len(data)
                if self.code:
                    spans.append((i, start, TAG if self.code == b"pre" else CODE))
                i = start
                if opening:
                    i = opening.end()
                    self._open(opening)
                    kind = BREAK if self.in_tag and self.name in _SEPARATES and not self.code else TAG
            spans.append((start, i, kind))
        return spans, len(data)

    def _open(self, opening: re.Match[bytes]) -> None:
        self.until = _ENDS.get(opening.lastgroup or "", b"")
        if opening["name"]:
            self.name, self.is_end, self.in_tag = opening["name"].lower(), bool(opening["end"]), True
            if self.code and self.code != b"pre" and self.is_end and self.name in _BLOCKS:
                self.code = b""

    def _in_tag(self, data: bytes, i: int) -> int:
        """Scan the rest of a tag up to its end, or to a value in quotes. Return the offset after it."""
        found = (_AFTER_EQUAL.match if self.after_equal else _IN_TAG.search)(data, i)
        self.after_equal = False
        if not found:
            return len(data)
        if found[0] == b">":
            self.in_tag = False
            if data[found.start() - 1 : found.start()] != b"/":
                self._end_tag()
        elif found[1]:
            self.until = found[1]
        else:
            self.after_equal = found.end() == len(data)
        return found.end()

    def _end_tag(self) -> None:
        """Handle the end of a tag that does not end with />."""
        if self.code:
            self.depth += (-1 if self.is_end else 1) if self.name == self.code else 0
            self.code = self.code if self.depth else b""
        elif not self.is_end:
            self.raw = self.name if self.name in _RAW else b""
            if self.name in _CODE:
                self.code, self.depth = self.name, 1


# ---- Markdown

_FRONT = {b"---": re.compile(rb"(?m)^(?:---|\.\.\.)[ \t]*\r?$"), b"+++": re.compile(rb"(?m)^\+\+\+[ \t]*\r?$")}
_LONGEST_FRONT = 1 << 16
_FENCE = re.compile(rb"(`{3,})[^`]*$|(~{3,})|(\$\$)\s*$")
_ATX = re.compile(rb"#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(rb"(?:=+|-+)[ \t]*$")
_ITEM = re.compile(rb"([-+*]|(\d{1,9})[.)])(?: |$)")
_ATTRIBUTES = rb"(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?){0,999}"
_TAG = rb"<[A-Za-z][A-Za-z0-9-]*" + _ATTRIBUTES + rb"\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>"
_HTML_RAW = re.compile(rb"(?i)<(?:(?:script|pre|style|textarea)(?=[\s>]|$)|!--|\?|![A-Za-z]|!\[CDATA\[)")
_HTML_BLOCK = re.compile(rb"(?i)</?(?:" + b"|".join(_BLOCKS) + rb")(?=\s|/?>|$)")
_HTML_LINE = re.compile(rb"(?:" + _TAG + rb")\s*$")

_SPACES = re.compile(rb" *")
_DEEPEST = 100  # containers in one another

_OPENING = re.compile(rb"\\(?=[!-/:-@\[-`{-~])|`|<|\](?=[(\[])|\$(?=\$)|\[(?=\^)")
_INLINE = re.compile(
    rb"\\."
    rb"|(?P<ticks>`+)"
    rb"|(?P<auto><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>|<[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+>)"
    rb"|(?P<tag>" + _TAG + rb"|<!---?>)"
    rb"|(?P<other><!--|<\?|<![A-Za-z]|<!\[CDATA\[)"
    rb"|\]\(\s*(?P<target><[^<>\n]*>|[^\s()<][^\s()]*(?:\([^\s()]*\)[^\s()]*){0,999})"
    rb"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
    rb"|\](?P<label>\[[^\[\]\n]*\])"
    rb"|(?P<math>\$\$[^$]+\$\$)"
    rb"|(?P<note>\[\^[^\[\]\s]+\]:?)",
    re.DOTALL,
)
"""What is tried at an opening. Code and what `other` opens extend to their closers."""
_CLOSERS = {b"<!--": re.compile(b"-->"), b"<?": re.compile(rb"\?>"), b"<![CDATA[": re.compile(rb"\]\]>")}
_CLOSER = re.compile(b">")  # of other openings
_DEFINITION = re.compile(
    rb"(?m)^[ >]{0,12}(\[(?!\^)(?:[^\[\]\\\n]|\\.){1,999}\]:[ \t]*(?:<[^<>\n]*>|\S+))(?=[ \t]*$|[ \t]+[\"'(])"
)
_TICKS = re.compile(rb"`+")
_NAME = re.compile(rb"<([A-Za-z]+)")
_END_TAGS = {name: re.compile(rb"(?i)</" + name + rb"\s*>") for name in _CODE | _RAW}


def _is_break(text: bytes) -> bool:
    """Return whether a line that begins with this text is a thematic break."""
    mark = text[:1]
    return mark in (b"*", b"-", b"_") and not text.rstrip().rstrip(b" \t" + mark) and text.count(mark) >= 3


def _end_of_spaces(line: bytes, i: int) -> int:
    return _SPACES.match(line, i).end()  # type: ignore[union-attr]


class _Closers:
    """Finds what closes openings in data[:end], which are given in their order."""

    def __init__(self, data: bytes, end: int) -> None:
        self._data, self._end = data, end
        self._missing: set[re.Pattern[bytes]] = set()  # what does not occur any more
        self._last_ticks: dict[int, int] | None = None  # by their number: where the last ones are

    def find(self, closer: re.Pattern[bytes], i: int) -> re.Match[bytes] | None:
        """Return the next closer from i on."""
        found = None if closer in self._missing else closer.search(self._data, i, self._end)
        if not found:
            self._missing.add(closer)
        return found

    def ticks(self, size: int, i: int) -> re.Match[bytes] | None:
        """Return so many ticks, and no more, after i."""
        if self._last_ticks is None:
            self._last_ticks = {len(t[0]): t.start() for t in _TICKS.finditer(self._data, i, self._end)}
        if self._last_ticks.get(size, -1) < i:
            return None
        return next(t for t in _TICKS.finditer(self._data, i, self._end) if len(t[0]) == size)


class Markdown:
    """Scans Markdown. Its state is what is open at the start of a line."""

    def __init__(self) -> None:
        self.is_start = True
        self.front = 0  # bytes of front matter that has not ended yet
        self.held = 0  # bytes of a paragraph that has not ended yet, whose lines have been read
        self.containers: list[int] = []  # indentation of the content of items of lists; 0: a quotation
        self.fence = b""  # the characters that opened it
        self.html: Html | None = None
        self.until_blank = False  # the block of HTML ends with a blank line
        self.in_paragraph = False

    def scan(self, data: bytes, is_last: bool) -> tuple[list[Span], int]:
        """Return the spans to hide in data[:n], and n: the rest must be scanned again together with what follows it.
        is_last: nothing follows, so n is the length."""
        spans: list[Span] = []
        i, paragraph = self.held, 0 if self.held else -1  # the paragraph's start
        if self.is_start:
            end = self._front(data, is_last)
            if end < 0:
                return [], 0
            self.is_start = False
            if end:
                spans.append((0, end, TAG))
                i = end
        while i < len(data):
            newline = data.find(b"\n", i)
            end = len(data) if newline < 0 else newline
            kind = self._line(data[i:end].removesuffix(b"\r").expandtabs(4), data[i:end], i, spans)
            if paragraph >= 0 and (kind != _CONTINUED or end - paragraph > _LONGEST):
                self._inline(data, paragraph, i, spans)
                paragraph = -1
            if kind in (_PARAGRAPH, _CONTINUED) and paragraph < 0:
                paragraph = i
            if kind == _TEXT:
                self._inline(data, i, end, spans)
            i = end + 1
        if is_last and paragraph >= 0:
            self._inline(data, paragraph, len(data), spans)
            paragraph = -1
        n = paragraph if paragraph >= 0 else len(data)
        self.held = len(data) - n
        return spans, n

    def _front(self, data: bytes, is_last: bool) -> int:
        """Return the end of the front matter; 0 if there is none, −1 if more of the file is needed."""
        first = data[: data.find(b"\n") + 1].removeprefix(b"\xef\xbb\xbf").rstrip()
        if first not in _FRONT:
            return 0
        end = _FRONT[first].search(data, max(self.front, data.find(b"\n") + 1))
        if not end and not is_last and len(data) <= _LONGEST_FRONT:
            self.front = len(data)
            return -1
        return end.end() if end and end.end() <= _LONGEST_FRONT else 0

    def _line(self, line: bytes, raw: bytes, start: int, spans: list[Span]) -> int:
        """Read a line; return its kind. line: with tabs expanded; raw: as it is, at the offset `start`."""
        whole = (start, start + len(raw), TAG)
        at, first, n = 0, -1, 0  # the end of the marks of containers, and of the spaces after them
        for n, container in enumerate([*self.containers, None]):  # noqa: B007
            first = first if first >= at else _end_of_spaces(line, at)
            if container is None:
                break
            if container:
                if first < len(line) and first - at < container:
                    break
                at = min(at + container, len(line))
            elif first - at < 4 and line.startswith(b">", first):
                at = first + 1 + line.startswith(b" ", first + 1)
            else:
                break
        is_open = n == len(self.containers)
        rest = line[at:]
        if self.fence:
            if is_open:
                spans.append(whole)
                stripped = rest.strip()
                closes = stripped.startswith(self.fence) and not stripped.strip(self.fence[:1])
                if closes and len(rest) - len(rest.lstrip(b" ")) < 4:
                    self.fence = b""
                return _CODE_LINE
            self.fence = b""
        if self.html:
            if is_open and (rest.strip() or not self.until_blank or self.html.is_block):
                self._in_html(raw, start, spans)
                return _CODE_LINE
            self.html = None
        was_paragraph = self.in_paragraph
        if not rest.strip():
            if not is_open and self.containers[n] == 0:
                del self.containers[n:]
            self.in_paragraph = False
            return _CODE_LINE
        opened = self.containers[:n]
        while first - at < 4 and len(opened) < _DEEPEST:
            if line.startswith(b">", first):
                opened.append(0)
                at = first + 1 + line.startswith(b" ", first + 1)
            elif (item := _ITEM.match(line, first)) and not _is_break(line[first:]):
                content = _end_of_spaces(line, item.end(1))
                is_empty = content == len(line)
                if was_paragraph and is_open and (is_empty or item[2] not in (None, b"1")):
                    break
                blanks = content - item.end(1)
                end = item.end(1) + (1 if is_empty or blanks > 4 else blanks)
                opened.append(end - at)
                at = min(end, len(line))
            else:
                break
            was_paragraph = False
            first = _end_of_spaces(line, at)
        text = line[at:].strip()
        is_new = not was_paragraph
        leaf = self._leaf(text, first - at, is_new)
        if leaf == _PARAGRAPH and was_paragraph:
            return _CONTINUED  # also where the marks of containers are missing
        self.containers = opened
        self.in_paragraph = leaf == _PARAGRAPH
        if leaf == _CODE_LINE and not self.html:
            spans.append(whole)
        if self.html:
            self._in_html(raw, start, spans)
        return leaf

    def _leaf(self, text: bytes, indent: int, is_new: bool) -> int:
        """Return the kind of a line without the marks of containers. is_new: it does not follow a line of a
        paragraph."""
        if not text:
            return _TEXT
        if indent >= 4:
            return _CODE_LINE if is_new else _PARAGRAPH
        if fence := _FENCE.match(text):
            self.fence = fence[1] or fence[2] or fence[3]
            return _CODE_LINE
        if _HTML_RAW.match(text):
            self.html, self.until_blank = Html(), False
            return _CODE_LINE
        if _HTML_BLOCK.match(text) or (is_new and _HTML_LINE.match(text)):
            self.html, self.until_blank = Html(), True
            return _CODE_LINE
        if _ATX.match(text) or _is_break(text) or (not is_new and _UNDERLINE.match(text)):
            return _TEXT
        return _PARAGRAPH

    def _in_html(self, raw: bytes, start: int, spans: list[Span]) -> None:
        assert self.html
        found, _ = self.html.scan(raw + b"\n")
        spans += [(start + first, min(start + last, start + len(raw)), kind) for first, last, kind in found]
        if self.html.is_text and not self.until_blank:
            self.html = None

    def _inline(self, data: bytes, start: int, end: int, spans: list[Span]) -> None:
        """Find code, tags and targets in data[start:end], a paragraph or heading."""
        for definition in _DEFINITION.finditer(data, start, end):
            spans.append((*definition.span(1), TAG))
        closers = _Closers(data, end)
        i = start
        while opening := _OPENING.search(data, i, end):
            i = opening.end()
            found = _INLINE.match(data, opening.start(), end)
            if not found:
                continue
            start, i = found.start(), opening.end() if found["other"] else found.end()
            if found["other"]:
                if close := closers.find(_CLOSERS.get(found["other"], _CLOSER), found.end()):
                    i = close.end()
                    spans.append((start, i, TAG))
            elif found["ticks"]:
                if close := closers.ticks(len(found["ticks"]), i):
                    i = close.end()
                    spans.append((start, i, CODE))
            elif found["tag"]:
                spans.append((start, i, TAG))
                name = _NAME.match(found["tag"])
                end_tag = _END_TAGS.get(name[1].lower()) if name and not found["tag"].endswith(b"/>") else None
                if end_tag and (close := closers.find(end_tag, i)):
                    spans.append((i, close.start(), CODE))
                    i = close.start()
            elif group := found.lastgroup:
                spans.append((*found.span(group), CODE if group in ("auto", "math") else TAG))


_CODE_LINE, _TEXT, _PARAGRAPH, _CONTINUED = range(4)
"""Kinds of lines: code or blank, a heading or the like, the first line of a paragraph, a later one."""
