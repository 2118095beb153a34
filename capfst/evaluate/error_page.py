"""Format an error analysis as a self-contained HTML page, without scripts, fonts or images.

In: an `ErrorAnalysis`. Out: the page as text; names and words are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from capfst.evaluate.error_analysis import ErrorAnalysis
from capfst.io.html_page import html_page

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


def page(analysis: ErrorAnalysis, top: int, names: tuple[str, str]) -> str:
    """Return the page, with the `top` most frequent wrong words. names: of the references and the hypotheses."""
    title = escape(f"Case errors in {names[1]}, compared with {names[0]}")
    content = f"""<h2>Shapes: reference (rows) and hypothesis (columns)</h2>
{_table(analysis.shape_table())}
<h2>Kinds of words</h2>
{_table(analysis.kind_table())}
<h2>Most frequent wrong words</h2>
{_wrong_words(analysis, top)}
<footer>{escape(analysis.signature)}</footer>"""
    return html_page(title, _STYLE, content)


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
