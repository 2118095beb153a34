"""Draw docs/images/sizes.svg, accuracy against model size, from the tables in docs/figures.md.

    python scripts/maintain/draw_sizes.py

The size of a model of the benchmark is its number of n-grams times the bytes of each.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PICTURE = DOCS / "images" / "sizes.svg"
WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 60, 700, 20, 260  # of the plot, in pixels
SMALLEST, LARGEST = 15, 1000  # MB
WORST, BEST = 84, 95  # F1
BLUE, GRAY, ORANGE = "#3949ab", "#616161", "#e65100"

Points = list[tuple[float, float]]
"""(MB, F1) of models."""


def main() -> None:
    PICTURE.write_text(picture((DOCS / "figures.md").read_text("utf-8")), "utf-8")


def picture(page: str) -> str:
    """Return the SVG of a page with the tables."""
    series = [
        ("bundled model, and the same text unpruned", BLUE, -12, bundled(page)),
        ("all English text: LM and context", ORANGE, 18, benchmark(page, "and context")),
        ("all English text: LM alone", GRAY, 18, benchmark(page, "LM alone")),
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="13">',
        "<title>F1 on WikiText-2 against the size of the model</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for tick in range(WORST, BEST + 1, 2):
        lines.append(f'<path d="M{LEFT},{_y(tick):.1f} H{RIGHT}" stroke="#dddddd"/>')
        lines.append(_text(LEFT - 8, _y(tick) + 4, str(tick), GRAY, "end"))
    for tick in 20, 50, 100, 200, 500, 1000:
        lines.append(f'<path d="M{_x(tick):.1f},{TOP} V{BOTTOM}" stroke="#dddddd"/>')
        lines.append(_text(_x(tick), BOTTOM + 18, str(tick), GRAY, "middle"))
    lines.append(_text((LEFT + RIGHT) / 2, BOTTOM + 42, "size of the model, MB", GRAY, "middle"))
    lines.append(_text(LEFT + 6, TOP + 14, "F1", GRAY, "start"))
    for label, color, offset, points in series:
        path = " L".join(f"{_x(size):.1f},{_y(f1):.1f}" for size, f1 in points)
        lines.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        lines += [f'<circle cx="{_x(size):.1f}" cy="{_y(f1):.1f}" r="5" fill="{color}"/>' for size, f1 in points]
        size, f1 = points[len(points) // 2] if len(points) > 2 else points[0]
        lines.append(_text(_x(size), _y(f1) + offset, label, color, "start"))
    return "\n".join([*lines, "</svg>", ""])


def bundled(page: str) -> Points:
    """Return the points of the bundled model and of the unpruned one of the same text."""
    rows = re.findall(r"^\| (?:`en`|unpruned[^|]*) \| (\d+) \| [\d.]+ / ([\d.]+) /", page, re.MULTILINE)
    return [(float(size), float(f1)) for size, f1 in rows]


def benchmark(page: str, parts: str) -> Points:
    """Return the points of the models of the benchmark that use these parts."""
    table = page.split("<!-- bench -->")[1].split("<!-- /bench -->", maxsplit=1)[0]
    points = []
    for row in re.findall(rf"^\| capfst, (\d+) M n-grams,? {parts} \| 1 \|(.*)\|$", table, re.MULTILINE):
        cells = [cell.strip() for cell in row[1].split("|")]
        points.append((float(row[0]) * float(cells[-3]), float(cells[-1])))
    return points


def _x(size: float) -> float:
    """Return the horizontal position of a size in MB, on a logarithmic axis."""
    return LEFT + (RIGHT - LEFT) * math.log(size / SMALLEST) / math.log(LARGEST / SMALLEST)


def _y(f1: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (f1 - WORST) / (BEST - WORST)


def _text(x: float, y: float, text: str, color: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{text}</text>'


if __name__ == "__main__":
    main()
