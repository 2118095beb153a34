"""The pictures drawn from the tables of docs/research/figures.md are up to date."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAINTAIN = ROOT / "scripts" / "maintain"
SIZES = ROOT / "docs" / "images" / "sizes.svg"


def test_the_sizes_are_those_of_the_tables():
    script = runpy.run_path(str(MAINTAIN / "draw_charts.py"))
    page = (ROOT / "docs" / "research" / "figures.md").read_text("utf-8")
    assert len(script["bundled"](page)) == 2
    assert len(script["benchmark"](page, "and context")) == len(script["benchmark"](page, "LM alone")) >= 3
    assert str(script["sizes"](page)) == SIZES.read_text("utf-8"), "run scripts/maintain/draw_charts.py"
