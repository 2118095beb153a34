"""The frame of a page of HTML that needs no other file: its head, its style and its title.

In: a title and the content of the body, both escaped, and CSS. Out: the page as text.
"""

from __future__ import annotations


def html_page(title: str, style: str, content: str) -> str:
    """Return the page, whose first heading is its title. style: CSS."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{content}
</body>
</html>
"""
