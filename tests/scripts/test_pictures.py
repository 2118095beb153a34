"""The pictures drawn from the tables of docs/research/figures.md are up to date."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAINTAIN = ROOT / "scripts" / "maintain"
SIZES = ROOT / "docs" / "images" / "sizes.svg"


def test_the_sizes_are_those_of_the_tables():
    script = runpy.run_path(str(MAINTAIN / "draw_charts.py"))
    page = (ROOT / "docs" / "research" / "figures.md").read_text("utf-8")
    (size, f1), (twin_size, twin_f1) = script["bundled"](page)
    assert f"| `en` | {size:.0f} |" in page and size < twin_size
    (twin,) = (line for line in page.splitlines() if f"| {twin_size:.0f} |" in line)
    assert twin.startswith("| the same text, unpruned (") and f" / {twin_f1} / " in twin and f1 < twin_f1
    chart = str(script["sizes"](page.replace(f"| {twin_size:.0f} |", "| – |")))
    assert "bundled model<" in chart and "unpruned" not in chart
    assert len(script["benchmark"](page, "and context")) == len(script["benchmark"](page, "LM alone")) >= 3
    assert str(script["sizes"](page)) == SIZES.read_text("utf-8"), "run scripts/maintain/draw_charts.py"
