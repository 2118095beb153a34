"""An explanation as a page of HTML that needs no other file: the picture, the n best casings, and the words.

In: an `Explanation`. Out: the page as text; words are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from capfst.explain.explanation import ExplainedWord, Explanation
from capfst.explain.picture import svg
from capfst.explain.table import heading, notes, printable, shown_forms, strongest, used_parts
from capfst.io.html_page import html_page

_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; padding: 0 1em; max-width: 75em }
.picture { overflow-x: auto; background: #fff; border-radius: .5em; padding: .5em }
.tables { overflow-x: auto }
table { border-collapse: collapse; margin: .5em 0 2em }
th, td { padding: .2em .7em; border-bottom: 1px solid #8885; text-align: right; vertical-align: top }
th { font-weight: 600 }
.text { text-align: left; overflow-wrap: anywhere }
"""

Cell = tuple[str, bool]
"""A cell, and whether it is text, not a number."""


def html(explanation: Explanation) -> str:
    """Return the page. CapfstError as for `picture.svg`."""
    title = _escaped(explanation.text)
    drawn = svg(explanation)
    noted = "".join(f"<p>{_escaped(line)}</p>\n" for line in notes(explanation))
    content = f"""{noted}<div class="picture">
{drawn[drawn.index("<svg") :]}</div>
<div class="tables">
<h2>Best casings</h2>
{_casings(explanation)}
<h2>Words</h2>
{_words(explanation)}
</div>"""
    return html_page(title, _STYLE, content)


def _casings(explanation: Explanation) -> str:
    parts = used_parts(explanation)
    head = [("casing", True), ("cost", False), *((heading(part), False) for part in parts)]
    rows = (
        [
            (casing.text, True),
            *((f"{cost:.2f}", False) for cost in (casing.cost, *(casing.parts[part] for part in parts))),
        ]
        for casing in explanation.casings
    )
    return _table(head, rows)


def _words(explanation: Explanation) -> str:
    parts = used_parts(explanation)
    numbers = ("log-odds", "costs more", *(heading(part) for part in parts))
    head = [("word", True), ("casing", True), *((name, False) for name in numbers)]
    head += [("n-gram", True), ("the context model holds against it", True)]
    return _table(head, (row for word in explanation.words for row in _rows(word, parts)))


def _rows(word: ExplainedWord, parts: list[str]) -> Iterable[Sequence[Cell]]:
    log_odds = "∞" if word.log_odds == math.inf else f"{word.log_odds:.2f}"
    for k, form in enumerate(shown_forms(word) or word.forms[:1]):
        numbers = [f"{cost:+.2f}" if k else "" for cost in (form.margin, *(form.differences[part] for part in parts))]
        reasons = ", ".join(f"{each.text} {each.cost:+.1f}" for each in strongest(form.reasons)) if k else ""
        yield [
            ("" if k else word.given, True), (form.text, True), ("" if k else log_odds, False),
            *((number, False) for number in numbers), (str(form.ngram), True), (reasons, True),
        ]  # fmt: skip


def _table(head: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    lines = ["<table>", _row(head, "th"), *(_row(row, "td") for row in rows), "</table>"]
    return "\n".join(lines)


def _row(cells: Sequence[Cell], tag: str) -> str:
    kinds = (' class="text"' if is_text else "" for _, is_text in cells)
    made = (f"<{tag}{kind}>{_escaped(cell)}</{tag}>" for kind, (cell, _) in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(made)}</tr>"


def _escaped(text: str) -> str:
    return escape(printable(text))
