"""Progress: a bar on a terminal, few lines elsewhere, nothing when quiet."""

import io
import subprocess
import sys

import pytest

from capfst.system import progress as module
from capfst.system.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with progress(4_000_000, "reading") as advance:
        for _ in range(40):
            now[0] += 1
            advance(100_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reading: 1.0 MB of 4.0 MB (25 %), 100.0 kB/s, 0:00:30 left"
    assert lines[1].startswith("reading: 1.3 MB of 4.0 MB")
    assert lines[-1] == "reading: 4.0 MB, 100.0 kB/s, done in 0:00:40"
    assert len(lines) == 7  # after 10, 13, 17, 22, 28 and 35 s, and at the end


def test_unknown_total(capsys):
    with progress(0, "counting", unit="lines") as advance:
        advance(12)
    assert capsys.readouterr().err.startswith("counting: 12 lines, ")


def test_failure_is_not_called_done(capsys):
    with pytest.raises(KeyError), progress(9, "reading"):
        raise KeyError
    assert capsys.readouterr().err == ""


def test_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress(2_000, "reading") as advance:
        advance(2_000)
    assert "reading" in terminal.getvalue()
    assert "2.0 kB" in terminal.getvalue()


def test_quiet(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(2_000, "reading", quiet=True) as advance:
        advance(2_000)
    assert terminal.getvalue() == ""


def test_rich_is_imported_only_for_a_bar():
    code = (
        "import sys, capfst.system.progress as p\nwith p.progress(1, 'x') as a: a(1)\nassert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
