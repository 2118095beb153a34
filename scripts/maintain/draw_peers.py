"""Draw docs/images/peers.svg, accuracy against speed, from the leaderboard in docs/research/leaderboard.md.

python scripts/maintain/draw_peers.py
"""

from __future__ import annotations

from pathlib import Path

from chart import BLUE, GRAY, Chart

DOCS = Path(__file__).parents[2] / "docs"
PICTURE = DOCS / "images" / "peers.svg"
TEXT = "wikipedia_wikitext2_test"
LEFT_OF_POINT = {"capfst, LM alone", "capfst, multi", "character BiLSTM"}
"""Labels that would touch the next one on the right of their points."""


def main() -> None:
    PICTURE.write_text(picture((DOCS / "research" / "leaderboard.md").read_text("utf-8")), "utf-8")


def picture(page: str) -> str:
    """Return the SVG of a page with the leaderboard."""
    chart = Chart(
        "F1 against tokens per second: capfst and other truecasers",
        "tokens per second, one core",
        400,
        (1_500, 30_000_000),
        [(10_000, "10,000"), (100_000, "100,000"), (1_000_000, "1 million"), (10_000_000, "10 million")],
        (70, 100),
        range(70, 101, 5),
    )
    for title, rate, f1 in points(page):
        color = BLUE if title.startswith("capfst") else GRAY
        chart.point(rate, f1, color, 6)
        beside, anchor = (-12, "end") if title in LEFT_OF_POINT else (12, "start")
        chart.text(chart.x(rate) + beside, chart.y(f1) + 4, title, color, anchor)
    return chart.svg()


def points(page: str) -> list[tuple[str, float, float]]:
    """Return the title, the tokens per second and the F1 of each row of the leaderboard's first table."""
    table = page.partition("<!-- leaderboard -->\n")[2].partition("\n\n")[0]
    head, _, *rows = ([cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines())
    rate, f1 = head.index("tokens/s"), head.index(TEXT)
    return [(row[0], float(row[rate].replace(",", "")), float(row[f1].split(" / ")[1])) for row in rows]


if __name__ == "__main__":
    main()
