r"""How texts in some formats begin, whatever the names of their files: the content of stdin and of files is recognized.

In: the first bytes of a text. Out: the name of its format (`--format`), or None for plain text. The signs are such that
no prose has them: a sentence may begin with a bracket or a brace, but not with `{"name":` or `[ti:…]`.
"""

from __future__ import annotations

import re
from functools import cache

HEAD = 1 << 16
"""Bytes of a text that show its format."""
JSON, TEXT, TRANSCRIPT = "json", "text", "transcript"
"""JSON whose fields nobody named; plain text, whatever it looks like; JSON of a recognizer."""

_TIME = r"\d{1,3}:\d\d"
_SIGNS = {
    JSON: r'(?:\[\s*)*\{\s*(?:"(?:[^"\\\n]|\\.){0,200}"\s*:|\}|\Z)',
    "vtt": r"WEBVTT(?!\w)",
    "srt": rf"(?:\d+[ \t]*\r?\n)?{_TIME}:\d\d[,.]\d+[ \t]*-->",
    "sbv": rf"{_TIME}:\d\d\.\d+,{_TIME}:\d\d\.\d+[ \t\r]*(?:\n|\Z)",
    "ass": r"\[(?:Script Info|Events)\]|Dialogue:[ \t]*\d+,\d+:\d\d:",
    "ttml": r"(?:<\?[^<>]*>\s*|<!--[^<>]*>\s*)*<(?:\w{1,20}:)?(?:tt|timedtext|transcript)(?=[\s>])"
            r"|<(?:\w{1,20}:)?p\s+begin=",
    "lrc": (
        r"\[(?:ti|ar|al|au|lr|by|re|ve|tool|la|id|offset|length|#)[ \t]*:[^\[\]\n]*\][ \t\r]*(?:\n|\Z)"
        rf"|\[{_TIME}(?:\.\d+\]|(?::\d\d)?\](?=\S))"
    ),
    "po": r'(?:#[^\n]*(?:\n|\Z)|\s)*(?:msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)[ \t]+"',
    "textgrid": (
        r'File type[ \t]*=[ \t]*"ooText|Object class[ \t]*=[ \t]*"|x(?:min|max)[ \t]*=[ \t]*-?[\d.]|tiers\?[ \t]*<'
        r'|(?:text|mark|class)[ \t]*=[ \t]*"|name[ \t]*=[ \t]*"[^"\n]*"\s*\Z'
        r"|(?:number|time|size)[ \t]*=[ \t]*[\d.]+\s*\Z"
        r"|(?:intervals|points|item)[ \t]*\[\d*\]:|(?:intervals|points):[ \t]*size[ \t]*="
    ),
}  # fmt: skip
_STARTS = tuple(
    b"{ [ < # WEBVTT Dialogue: msg File Object x tiers? text mark class name number time size intervals points item"
    b" 0 1 2 3 4 5 6 7 8 9".split()
)
"""What a text begins with that may have a sign. Most texts have none of these, so that nothing is searched in them."""


def recognized(head: bytes) -> str | None:
    """Return the format of a text that begins so (HEAD bytes, or all of it); None if it is plain."""
    head = head[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(_STARTS):
        return None
    found = _signs()(head.decode(errors="replace"))
    return found.lastgroup if found else None


@cache
def _signs():  # type: ignore[no-untyped-def]
    return re.compile("|".join(f"(?P<{name}>{sign})" for name, sign in _SIGNS.items()), re.ASCII).match
