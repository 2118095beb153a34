"""Figures in the README: a script's results go between `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

from pathlib import Path


def fill(readme: Path, name: str, text: str) -> None:
    """Puts the text in the place of what stands between the marks of this name."""
    before, rest = readme.read_text("utf-8").split(f"<!-- {name} -->")
    _, after = rest.split(f"<!-- /{name} -->")
    readme.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}", "utf-8")
