"""The pictures drawn from pyproject.toml and from the tables of docs/research/figures.md are up to date."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAINTAIN = ROOT / "scripts" / "maintain"
SIZES = ROOT / "docs" / "images" / "sizes.svg"


def test_the_layers_are_those_of_the_contract():
    pytest.importorskip("tomllib")
    script = runpy.run_path(str(MAINTAIN / "draw_layers.py"))
    layers = script["layers"]((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {
        path.stem for path in (ROOT / "capfst").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {name for layer in layers for name in layer} == packages - {"__init__"}
    assert script["picture"](layers) == script["PICTURE"].read_text("utf-8"), "run scripts/maintain/draw_layers.py"


def test_the_sizes_are_those_of_the_tables():
    script = runpy.run_path(str(MAINTAIN / "draw_charts.py"))
    page = (ROOT / "docs" / "research" / "figures.md").read_text("utf-8")
    assert len(script["bundled"](page)) == 2
    assert len(script["benchmark"](page, "and context")) == len(script["benchmark"](page, "LM alone")) >= 3
    assert str(script["sizes"](page)) == SIZES.read_text("utf-8"), "run scripts/maintain/draw_charts.py"
