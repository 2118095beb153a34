"""Figures in the documentation: a script's table stands between `<!-- name -->` and `<!-- /name -->` of a document."""

from __future__ import annotations

from pathlib import Path

from capfst.exceptions import CapfstError


def fill(document: Path, name: str, text: str) -> None:
    """Replaces what stands between the marks of this name.

    Raises:
        CapfstError: a document without them.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = document.read_text("utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise CapfstError(f"{document}: it has no place for the table: put the lines {begin} and {end} there")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")
