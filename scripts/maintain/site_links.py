"""A hook of MkDocs: on the site, a link to docs/research/, which is not part of it, becomes the name of the file."""

from __future__ import annotations

import re
from typing import Any

_LINK = re.compile(r"\[([^\]]*)\]\((research/[\w.-]+)(?:#[\w-]+)?\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the text of a page as the site shows it."""
    return _LINK.sub(r"\1 (`docs/\2`)", markdown)
