"""Draw docs/images/peers.svg, accuracy against speed, from the benchmark table in docs/figures.md.

python scripts/maintain/draw_peers.py
"""

from __future__ import annotations

import re
from pathlib import Path

from chart import BLUE, GRAY, Chart

DOCS = Path(__file__).parents[2] / "docs"
PICTURE = DOCS / "images" / "peers.svg"
LABELS = {  # the beginning of a row of the table: label
    r"capfst, the (?:ready|bundled) model": "capfst, bundled model",
    r"capfst, 20 M n-grams, and context": "capfst, 20 M n-grams",
    r"capfst, 20 M n-grams, LM alone": "capfst, LM alone",
    r"capfst, dictionary only[^|]*": "capfst, dictionary",
    r"truecase \(own model\)": "truecase",
    r"sacremoses truecase[^|]*": "sacremoses",
}
LEFT_OF_POINT = {"capfst, 20 M n-grams", "capfst, LM alone"}
"""Labels that would touch the next one on the right of their points."""


def main() -> None:
    PICTURE.write_text(picture((DOCS / "figures.md").read_text("utf-8")), "utf-8")


def picture(page: str) -> str:
    """Return the SVG of a page with the benchmark table."""
    table = page.partition("<!-- bench -->")[2].partition("<!-- /bench -->")[0]
    chart = Chart(
        "F1 against tokens per second: capfst and other truecasers",
        "tokens per second, one core",
        330,
        (50_000, 50_000_000),
        [(100_000, "100,000"), (1_000_000, "1 million"), (10_000_000, "10 million")],
        (50, 100),
        range(50, 101, 10),
    )
    for row, label in LABELS.items():
        cells = re.search(rf"^\| {row} \| 1 \|(.*)\|$", table, re.MULTILINE)
        if not cells:
            raise SystemExit(f"docs/figures.md: the benchmark table has no row {row!r} for 1 core.")
        values = [cell.strip() for cell in cells[1].split("|")]
        rate, f1 = float(values[0].replace(",", "")), float(values[-1])
        color = BLUE if label.startswith("capfst") else GRAY
        chart.point(rate, f1, color, 6)
        beside, anchor = (-12, "end") if label in LEFT_OF_POINT else (12, "start")
        chart.text(chart.x(rate) + beside, chart.y(f1) + 4, label, color, anchor)
    return chart.svg()


if __name__ == "__main__":
    main()
