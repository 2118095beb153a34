"""Figures in the documentation: a script's table stands between `<!-- name -->` and `<!-- /name -->` of a document."""

from __future__ import annotations

from pathlib import Path


def fill(document: Path, name: str, text: str) -> None:
    """Replaces what stands between the marks of this name."""
    before, rest = document.read_text("utf-8").split(f"<!-- {name} -->")
    _, after = rest.split(f"<!-- /{name} -->")
    document.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}", "utf-8")
