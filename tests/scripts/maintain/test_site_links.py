"""scripts/maintain/site_links.py: links of pages of the site to docs/research/."""

from pathlib import Path

import pytest
import site_links

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[Figures](research/figures.md)", "Figures (`docs/research/figures.md`)"),
        ("[the data](research/figures.md#data)", "the data (`docs/research/figures.md`)"),
        ("[Measure](measure.md#scores)", "[Measure](measure.md#scores)"),
        ("![sizes](images/sizes.svg)", "![sizes](images/sizes.svg)"),
    ],
)
def test_links(link, shown):
    assert site_links.on_page_markdown(f"See {link}.", page=None, config={}) == f"See {shown}."


def test_no_page_of_the_site_leads_to_research():
    pages = [page.read_text("utf-8") for page in DOCS.glob("*.md")]
    assert sum("](research/" in page for page in pages) == 2  # Accuracy and speed, Contributing
    assert not any("](research/" in site_links.on_page_markdown(page) for page in pages)
