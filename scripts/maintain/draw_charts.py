"""Draw docs/images/peers.svg, F1 against speed, and docs/images/sizes.svg, F1 against the size of the model, from the
tables in docs/research/leaderboard.md and figures.md.

    python scripts/maintain/draw_charts.py

The size of a model of the benchmark is its number of n-grams times the bytes of each.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BLUE, GRAY, ORANGE = "#3949ab", "#616161", "#e65100"
WIDTH, LEFT, RIGHT, TOP, BELOW = 720, 60, 700, 20, 60  # in pixels; BELOW: from the bottom of the plot to the picture's
TEXT = "wikipedia_wikitext2_test"
LEFT_OF_POINT = {"capfst, LM alone", "capfst, multi", "character BiLSTM"}
"""Labels that would touch the next one on the right of their points."""
SAME_TEXT = "0.8 M words"
Points = list[tuple[float, float]]
"""(MB, F1) of models."""


@dataclass
class Chart:
    """A chart of F1, whose horizontal axis, with a label and names of ticks, is logarithmic; as SVG."""

    title: str
    label: str
    height: int
    x_range: tuple[float, float]
    x_ticks: dict[int, str]
    f1_ticks: range
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bottom = self.height - BELOW
        self.lines += [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}"'
            f' height="{self.height}" font-family="Helvetica, Arial, sans-serif" font-size="13">',
            f"<title>{self.title}</title>",
            f'<rect width="{WIDTH}" height="{self.height}" fill="white"/>',
        ]
        for tick in self.f1_ticks:
            self.lines.append(f'<path d="M{LEFT},{self.y(tick):.1f} H{RIGHT}" stroke="#dddddd"/>')
            self.text(LEFT - 8, self.y(tick) + 4, str(tick), GRAY, "end")
        for value, name in self.x_ticks.items():
            self.lines.append(f'<path d="M{self.x(value):.1f},{TOP} V{self.bottom}" stroke="#dddddd"/>')
            self.text(self.x(value), self.bottom + 18, name, GRAY, "middle")
        self.text((LEFT + RIGHT) / 2, self.bottom + 42, self.label, GRAY, "middle")
        self.text(LEFT + 6, TOP + 18, "F1", GRAY)

    def x(self, value: float) -> float:
        least, greatest = self.x_range
        return LEFT + (RIGHT - LEFT) * math.log(value / least) / math.log(greatest / least)

    def y(self, f1: float) -> float:
        worst, best = self.f1_ticks[0], self.f1_ticks[-1]
        return self.bottom - (self.bottom - TOP) * (f1 - worst) / (best - worst)

    def text(self, x: float, y: float, text: str, color: str, anchor: str = "start") -> None:
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{text}</text>')

    def point(self, value: float, f1: float, color: str, radius: int, is_filled: bool = True) -> None:
        look = f'fill="{color if is_filled else "white"}" stroke="{color}" stroke-width="2"'
        self.lines.append(f'<circle cx="{self.x(value):.1f}" cy="{self.y(f1):.1f}" r="{radius}" {look}/>')

    def __str__(self) -> str:
        return "\n".join([*self.lines, "</svg>", ""])


def peers(page: str) -> Chart:
    """Draw the rows of the leaderboard's first table: as circles those that were trained on other text."""
    title = "F1 against tokens per second: capfst and other truecasers"
    ticks = {10_000: "10,000", 100_000: "100,000", 1_000_000: "1 million", 10_000_000: "10 million"}
    label = "tokens per second, one core: faster to the right"
    chart = Chart(title, label, 400, (1_500, 30_000_000), ticks, range(70, 101, 5))
    table = page.partition("<!-- leaderboard -->\n")[2].partition("\n\n")[0]
    head, _, *rows = ([cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines())
    for name, *cells in rows:
        row = dict(zip(head[1:], cells, strict=True))
        rate, f1 = float(row["tokens/s"].replace(",", "")), float(row[TEXT].split(" / ")[1])
        color = BLUE if name.startswith("capfst") else GRAY
        chart.point(rate, f1, color, 6, row["trained on"] == SAME_TEXT)
        beside, anchor = (-12, "end") if name in LEFT_OF_POINT else (12, "start")
        chart.text(chart.x(rate) + beside, chart.y(f1) + 4, name, color, anchor)
    for y, legend, is_filled in (
        (98, f"trained on the same {SAME_TEXT} of Wikipedia", True),
        (96, "trained on other, more text", False),
    ):
        chart.point(3_000, y, GRAY, 6, is_filled)
        chart.text(chart.x(3_000) + 12, chart.y(y) + 4, legend, GRAY)
    return chart


def sizes(page: str) -> Chart:
    """Draw the bundled model and the models of the benchmark."""
    title, ticks = "F1 on WikiText-2 against the size of the model", (20, 50, 100, 200, 500, 1000)
    chart = Chart(title, "size of the model, MB", 320, (15, 1400), {t: str(t) for t in ticks}, range(84, 97, 2))
    own = bundled(page)
    for label, color, offset, points in (
        ("bundled model" + ", and the same text unpruned" * (len(own) > 1), BLUE, -12, own),
        ("all English text: LM and context", ORANGE, 18, benchmark(page, "and context")),
        ("all English text: LM alone", GRAY, 18, benchmark(page, "LM alone")),
    ):
        path = " L".join(f"{chart.x(size):.1f},{chart.y(f1):.1f}" for size, f1 in points)
        chart.lines.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        for size, f1 in points:
            chart.point(size, f1, color, 5)
        size, f1 = points[len(points) // 2] if len(points) > 2 else points[0]
        chart.text(chart.x(size), chart.y(f1) + offset, label, color)
    return chart


def bundled(page: str) -> Points:
    """Return the point of the bundled model, and that of the unpruned one of the same text, which is in the row after
    it; a row without a measured size is left out."""
    rows = re.findall(r"^\| `en` \|.*\n\| the same text, unpruned.*$", page, re.MULTILINE)
    points = re.findall(r"^\|[^|]*\| (\d+) \| \S+ / ([\d.]+) /", "\n".join(rows), re.MULTILINE)
    return [(float(size), float(f1)) for size, f1 in points]


def benchmark(page: str, parts: str) -> Points:
    """Return the points of the models of the benchmark that use these parts."""
    table = page.split("<!-- bench -->")[1].split("<!-- /bench -->", maxsplit=1)[0]
    points = []
    for millions, row in re.findall(rf"^\| capfst, (\d+) M n-grams,? {parts} \| 1 \|(.*)\|$", table, re.MULTILINE):
        cells = [cell.strip() for cell in row.split("|")]
        points.append((float(millions) * float(cells[-3]), float(cells[-1])))
    return points


CHARTS = {"peers": (peers, "leaderboard"), "sizes": (sizes, "figures")}
"""The function that draws each picture, and the page that has its tables."""


def main() -> None:
    for name, (draw, page) in CHARTS.items():
        text = (DOCS / "research" / f"{page}.md").read_text("utf-8")
        (DOCS / "images" / f"{name}.svg").write_text(str(draw(text)), "utf-8")


if __name__ == "__main__":
    main()
