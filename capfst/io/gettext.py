r"""Translations of programs (GNU gettext's .po): `msgstr` is text.

In: a file. Out: its running text (running_text.py), each translation as a line of its own. Keywords,
`msgid`, contexts, comments, the header and escapes stay. The strings of a translation continue each other; `\n` ends a
line of it.
"""

from __future__ import annotations

import re

from capfst.io.running_text import RunningText, Span, spans_between
from capfst.io.text_file import Part, SpeechFile

_strings = re.compile(r'(?m)^[ \t\ufeff]*(?:(msg\w{2,9})(?:\[\d+\])?[ \t]*)?"((?:[^"\\\n]|\\.)*)"').finditer
_escapes = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)").finditer
_CHARACTERS = {r"\n": "\n", r"\r": " ", r"\t": " ", r"\"": '"', r"\\": "\\"}


class Po(SpeechFile):
    _keyword = ""
    _is_header = False

    def whole(self, data: str) -> int:
        return max(data.rfind("\n\n"), data.rfind("\n\r\n")) + 1  # after it, entries may be incomplete

    def running(self, part: Part) -> RunningText:
        data = part.data
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
            escapes = _escapes(data, *string.span(2))
            found, before = spans_between(data, *string.span(2), escapes, before, _character)
            spans += found
        return RunningText(data, spans, records=n_texts)


def _character(escape: re.Match[str]) -> str:
    return _CHARACTERS.get(escape[0], "")
