"""Draw docs/images/sizes.svg, accuracy against model size, from the tables in docs/research/figures.md.

    python scripts/maintain/draw_sizes.py

The size of a model of the benchmark is its number of n-grams times the bytes of each.
"""

from __future__ import annotations

import re
from pathlib import Path

from chart import BLUE, GRAY, ORANGE, Chart

DOCS = Path(__file__).parents[2] / "docs"
PICTURE = DOCS / "images" / "sizes.svg"
Points = list[tuple[float, float]]
"""(MB, F1) of models."""


def main() -> None:
    PICTURE.write_text(picture((DOCS / "research" / "figures.md").read_text("utf-8")), "utf-8")


def picture(page: str) -> str:
    """Return the SVG of a page with the tables."""
    series = [
        ("bundled model, and the same text unpruned", BLUE, -12, bundled(page)),
        ("all English text: LM and context", ORANGE, 18, benchmark(page, "and context")),
        ("all English text: LM alone", GRAY, 18, benchmark(page, "LM alone")),
    ]
    chart = Chart(
        "F1 on WikiText-2 against the size of the model",
        "size of the model, MB",
        320,
        (15, 1200),
        [(tick, str(tick)) for tick in (20, 50, 100, 200, 500, 1000)],
        (84, 96),
        range(84, 97, 2),
    )
    for label, color, offset, points in series:
        path = " L".join(f"{chart.x(size):.1f},{chart.y(f1):.1f}" for size, f1 in points)
        chart.lines.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        for size, f1 in points:
            chart.point(size, f1, color, 5)
        size, f1 = points[len(points) // 2] if len(points) > 2 else points[0]
        chart.text(chart.x(size), chart.y(f1) + offset, label, color)
    return chart.svg()


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


if __name__ == "__main__":
    main()
