"""Progress: a bar on a terminal, few lines elsewhere, nothing when quiet."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import click
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


def test_a_failure_is_not_reported_as_done(capsys):
    with pytest.raises(KeyError), progress(9, "reading"):
        raise KeyError
    assert capsys.readouterr().err == ""


def test_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(2_000, "reading") as advance:
        advance(2_000)
    lines = terminal.getvalue().split("\r")
    assert lines[1].startswith("reading |") and lines[1].endswith("| 0 B of 2.0 kB (0 %), 0 B/s, ? left")
    assert "#| 2.0 kB, " in lines[-1] and lines[-1].rstrip(" \n").endswith("/s, 00:00 left")
    assert lines[-1].endswith("\n") and {len(line.rstrip()) for line in lines[1:]} == {79}


def test_bar_of_an_unknown_total(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(0, "counting", "lines") as advance:
        advance(12)
    assert "\rcounting: 12 lines, " in terminal.getvalue()
    assert "left" not in terminal.getvalue()


def test_a_bar_ends_its_line_when_the_block_fails(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(KeyError), progress(2_000, "reading") as advance:
        advance(500)
        raise KeyError
    assert sys.stderr is terminal
    last = terminal.getvalue().split("\r")[-1]
    assert last.startswith("reading |") and "500 B of 2.0 kB (25 %)" in last and last.endswith("\n")


def test_text_is_printed_above_the_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(2_000, "reading") as advance:
        print("first", "note", file=sys.stderr)
        click.echo("second", err=True)
        print("a part", end="", file=sys.stderr)
        advance(2_000)
    written = terminal.getvalue().split("\r")
    lines = [line for line in written if line.strip() and not line.startswith("reading |")]
    assert lines == ["first note\n", "second\n"]
    assert [written[written.index(line) - 1].strip() for line in lines] == ["", ""]
    assert written[-1].endswith("left\na part")


def test_threads_may_share_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with progress(80_000, "reading") as advance, ThreadPoolExecutor(8) as pool:
            for _ in range(8):
                pool.submit(lambda: [advance(1) for _ in range(10_000)])
    finally:
        sys.setswitchinterval(interval)
    assert "| 80.0 kB, " in terminal.getvalue().split("\r")[-1]


def test_quiet(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(2_000, "reading", quiet=True) as advance:
        advance(2_000)
    assert terminal.getvalue() == ""


def test_tqdm_is_imported_only_for_a_bar():
    code = (
        "import sys, capfst.system.progress as p\nwith p.progress(1, 'x') as a: a(1)\nassert 'tqdm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
