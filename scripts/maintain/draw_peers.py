"""Draw docs/images/peers.svg, accuracy against speed, from the benchmark table in docs/figures.md.

python scripts/maintain/draw_peers.py
"""

from __future__ import annotations

import math
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PICTURE = DOCS / "images" / "peers.svg"
WIDTH, HEIGHT = 720, 330
LEFT, RIGHT, TOP, BOTTOM = 60, 700, 20, 270  # of the plot, in pixels
SLOWEST, FASTEST = 50_000, 50_000_000  # tokens per second
WORST, BEST = 50, 100  # F1
BLUE, GRAY = "#3949ab", "#616161"
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
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="13">',
        "<title>F1 against tokens per second: capfst and other truecasers</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for f1 in range(WORST, BEST + 1, 10):
        lines.append(f'<path d="M{LEFT},{_y(f1):.1f} H{RIGHT}" stroke="#dddddd"/>')
        lines.append(_text(LEFT - 8, _y(f1) + 4, str(f1), GRAY, "end"))
    for rate, name in (100_000, "100,000"), (1_000_000, "1 million"), (10_000_000, "10 million"):
        lines.append(f'<path d="M{_x(rate):.1f},{TOP} V{BOTTOM}" stroke="#dddddd"/>')
        lines.append(_text(_x(rate), BOTTOM + 18, name, GRAY, "middle"))
    lines.append(_text((LEFT + RIGHT) / 2, BOTTOM + 42, "tokens per second, one core", GRAY, "middle"))
    lines.append(_text(LEFT + 6, TOP + 18, "F1", GRAY, "start"))
    for row, label in LABELS.items():
        cells = re.search(rf"^\| {row} \| 1 \|(.*)\|$", table, re.MULTILINE)
        if not cells:
            raise SystemExit(f"docs/figures.md: the benchmark table has no row {row!r} for 1 core.")
        values = [cell.strip() for cell in cells[1].split("|")]
        x, y = _x(float(values[0].replace(",", ""))), _y(float(values[-1]))
        color = BLUE if label.startswith("capfst") else GRAY
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{color}"/>')
        beside, anchor = (-12, "end") if label in LEFT_OF_POINT else (12, "start")
        lines.append(_text(x + beside, y + 4, label, color, anchor))
    return "\n".join([*lines, "</svg>", ""])


def _x(rate: float) -> float:
    """Return the horizontal position of a rate, on a logarithmic axis."""
    return LEFT + (RIGHT - LEFT) * math.log(rate / SLOWEST) / math.log(FASTEST / SLOWEST)


def _y(f1: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (f1 - WORST) / (BEST - WORST)


def _text(x: float, y: float, text: str, color: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{text}</text>'


if __name__ == "__main__":
    main()
