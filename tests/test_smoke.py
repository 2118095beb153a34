"""Each command, public name and route has an example in .ci/smoke.py, which uses them where a wheel is installed."""

import runpy
from pathlib import Path

import pytest

import capfst
from capfst.cli import COMMANDS
from capfst.options import ServeOptions

EXAMPLES = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "smoke.py"))


def test_each_command_and_public_name():
    assert {*EXAMPLES["COMMANDS"]} == {*COMMANDS}
    assert {*EXAMPLES["NAMES"]} == {*capfst.__all__}


def test_each_route(monkeypatch):
    pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    from capfst.serve.app import application  # noqa: PLC0415
    from capfst.serve.service import Service  # noqa: PLC0415

    service = Service({"en": capfst.load()}, ServeOptions())
    served = application(service, True)._routes
    assert {route.partition("?")[0] for route in EXAMPLES["ROUTES"]} == served
    monkeypatch.setattr("capfst.serve.service.stop_all", lambda: None)  # it would stop all later work of this process
    assert service.close(60)
