r"""Translations of programs (GNU gettext's .po): `msgstr` is text.

In: blocks of a file. Out: their running text (running_text.py), each translation as a line of its own. Keywords,
`msgid`, contexts, comments, the header and escapes stay. The strings of a translation continue each other; `\n` ends a
line of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from capfst.io.blocks import joined
from capfst.io.lines import BLOCK
from capfst.io.protocol import RecaseCounts
from capfst.io.running_text import RunningText, Span

_strings = re.compile(r'(?m)^[ \t\ufeff]*(?:(msg\w{2,9})(?:\[\d+\])?[ \t]*)?"((?:[^"\\\n]|\\.)*)"').finditer
_escapes = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)").finditer
_CHARACTERS = {r"\n": "\n", r"\r": " ", r"\t": " ", r"\"": '"', r"\\": "\\"}


class Po:
    """Reads a file of translations."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._keyword = ""
        self._is_header = False

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file that is given in blocks of whole lines."""
        held = b""
        for block in chain(joined(blocks, BLOCK), [b""]):
            whole = max(block.rfind(b"\n\n"), block.rfind(b"\n\r\n")) + 1  # after it, entries may be incomplete
            whole = whole or len(block)
            data, held = (held + block[:whole]).decode(), block[whole:]
            spans: list[Span] = []
            before, n_texts = "", 0
            for string in _strings(data):
                keyword = string[1]
                if keyword == "msgid":
                    self._is_header = True
                if keyword:
                    self._keyword = keyword
                    before = "\n" if spans else ""
                    n_texts += keyword == "msgstr"
                if self._keyword == "msgid":
                    self._is_header &= not string[2]
                if self._keyword != "msgstr" or self._is_header:
                    continue
                start, last = string.span(2)
                for escape in _escapes(data, start, last):
                    before = _add(spans, data, start, escape.start(), before) + _CHARACTERS.get(escape[0], "")
                    start = escape.end()
                before = _add(spans, data, start, last, before)
            yield RunningText(data, spans, counts=RecaseCounts(records=n_texts))


def _add(spans: list[Span], data: str, start: int, end: int, before: str) -> str:
    """Add a span if it is not empty; return what is before the next one."""
    if start == end:
        return before
    spans.append(Span(start, end, data[start:end], before))
    return ""
