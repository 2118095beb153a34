"""Draw docs/images/layers.svg, the layers of the package, from the import-linter contract in pyproject.toml.

    python scripts/maintain/draw_layers.py

Needs Python 3.11 or later (tomllib).
"""

from __future__ import annotations

from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "layers.svg"
WIDTH, MARGIN, GAP, HEIGHT = 560, 10, 8, 30  # of the picture and of a box, in pixels
ARROW = 50  # width of the column with the arrow
BLUE, PALE, GRAY = "#303f9f", "#e8eaf6", "#616161"


def main() -> None:
    PICTURE.write_text(picture(layers((ROOT / "pyproject.toml").read_text("utf-8"))), "utf-8")


def layers(pyproject: str) -> list[list[str]]:
    """Return the packages and modules of each layer of the contract, from the top."""
    (contract,) = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    return [[name.strip(" ()") for name in layer.replace(":", "|").split("|")] for layer in contract["layers"]]


def picture(layers: list[list[str]]) -> str:
    """Return an SVG with a row of boxes for each layer."""
    height = 2 * MARGIN + len(layers) * (HEIGHT + GAP) - GAP
    x, bottom = WIDTH - ARROW / 2, height - MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="14" text-anchor="middle">',
        "<title>The layers of capfst: each imports only from those below</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    width_of_rows = WIDTH - MARGIN - ARROW
    for row, names in enumerate(layers):
        y = MARGIN + row * (HEIGHT + GAP)
        width = (width_of_rows - GAP * (len(names) - 1)) / len(names)
        for k, name in enumerate(names):
            left = MARGIN + k * (width + GAP)
            lines.append(
                f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" rx="4" fill="{PALE}"'
                f' stroke="{BLUE}"/>'
            )
            lines.append(f'<text x="{left + width / 2:.1f}" y="{y + HEIGHT / 2 + 5}" fill="{BLUE}">{name}</text>')
    lines += [
        f'<path d="M{x},{MARGIN} V{bottom - 8}" stroke="{GRAY}" stroke-width="1.5"/>',
        f'<path d="M{x - 5},{bottom - 10} L{x},{bottom} L{x + 5},{bottom - 10} Z" fill="{GRAY}"/>',
        f'<text transform="translate({x + 16},{height / 2}) rotate(-90)" fill="{GRAY}">imports</text>',
    ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    main()
