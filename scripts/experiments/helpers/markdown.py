"""Format tables in Markdown, and write them into documents, between `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from capfst.exceptions import CorpusError


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Format a table: the first `texts` columns are aligned to the left, the others (numbers) to the right."""
    rule = ["---"] * texts + ["--:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def with_interval(value: float, low: float, high: float, form: str = ".1f") -> str:
    """Format a cell with its interval: "48.2 (47.1–49.0)"."""
    return f"{value:{form}} ({low:{form}}–{high:{form}})"


def show(text: str, name: str, document: Path | None) -> None:
    """Print a text, and write it into a document, if there is one, between the marks of this name."""
    click.echo(text)
    if document:
        fill(document, name, text)


def fill(document: Path, name: str, text: str) -> None:
    """Replace the text between the marks of this name.

    Raises:
        CorpusError: the document lacks the marks.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = document.read_text("utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise CorpusError(f"{document}: no marks for the table {name}. Add the lines {begin} and {end}.")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")
