"""A chart of F1 on a logarithmic axis, as SVG: the frame that the pictures of docs/ share."""

from __future__ import annotations

import math
from collections.abc import Iterable

WIDTH = 720
LEFT, RIGHT, TOP, BELOW = 60, 700, 20, 60  # of the plot, in pixels; BELOW: from its bottom to that of the picture
BLUE, GRAY, ORANGE = "#3949ab", "#616161", "#e65100"


class Chart:
    """A chart with axes.

    Args:
        title, label: of the picture, and of the horizontal axis.
        height: of the picture, in pixels.
        x_range: the least and the greatest value of the horizontal axis.
        x_ticks: (value, name) of its ticks.
        f1_ticks: the ticks of the vertical axis.
        f1_range: its least and greatest value.
    """

    def __init__(
        self,
        title: str,
        label: str,
        height: int,
        x_range: tuple[float, float],
        x_ticks: Iterable[tuple[float, str]],
        f1_range: tuple[float, float],
        f1_ticks: Iterable[int],
    ) -> None:
        self.bottom = height - BELOW
        self.x_range, self.f1_range = x_range, f1_range
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' font-family="Helvetica, Arial, sans-serif" font-size="13">',
            f"<title>{title}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        ]
        for tick in f1_ticks:
            self.lines.append(f'<path d="M{LEFT},{self.y(tick):.1f} H{RIGHT}" stroke="#dddddd"/>')
            self.text(LEFT - 8, self.y(tick) + 4, str(tick), GRAY, "end")
        for value, name in x_ticks:
            self.lines.append(f'<path d="M{self.x(value):.1f},{TOP} V{self.bottom}" stroke="#dddddd"/>')
            self.text(self.x(value), self.bottom + 18, name, GRAY, "middle")
        self.text((LEFT + RIGHT) / 2, self.bottom + 42, label, GRAY, "middle")
        self.text(LEFT + 6, TOP + 18, "F1", GRAY, "start")

    def x(self, value: float) -> float:
        """Return the horizontal position of a value, on a logarithmic axis."""
        least, greatest = self.x_range
        return LEFT + (RIGHT - LEFT) * math.log(value / least) / math.log(greatest / least)

    def y(self, f1: float) -> float:
        worst, best = self.f1_range
        return self.bottom - (self.bottom - TOP) * (f1 - worst) / (best - worst)

    def text(self, x: float, y: float, text: str, color: str, anchor: str = "start") -> None:
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{text}</text>')

    def point(self, value: float, f1: float, color: str, radius: int) -> None:
        self.lines.append(f'<circle cx="{self.x(value):.1f}" cy="{self.y(f1):.1f}" r="{radius}" fill="{color}"/>')

    def svg(self) -> str:
        return "\n".join([*self.lines, "</svg>", ""])
