"""Compiled kernels on the disk: where they are kept, when they are compiled again, and that nothing about it fails."""

import os
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from support.command_line import TIMEOUT, run_process

import capfst
from capfst import grammars
from capfst.system import kernel_cache
from capfst.system.compilation import KEPT

SCRIPT = """
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
from capfst.text.unicode import lower
assert lower("ÉÀ") == "éà"
print(len(compiled))
"""


def compilations(package: Path | None = None, **variables: str) -> int:
    """How many kernels a process compiles that needs a few."""
    command, environment = _process(package, variables)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT, check=False)
    assert done.stderr == ""
    return int(done.stdout)


def _process(package: Path | None, variables: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | variables
    path = str(package.parent if package else Path(capfst.__file__).parent.parent)
    # The current folder comes first: that of the package, whatever is installed.
    return [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r})\n{SCRIPT}"], environment


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, as it is installed, without anything compiled."""
    copy = tmp_path / "site" / "capfst"
    ignored = shutil.ignore_patterns("__pycache__", "*.fst")
    shutil.copytree(Path(capfst.__file__).parent, copy, ignore=ignored)
    shutil.copytree(Path(grammars.__file__).parent, copy / "grammars", ignore=ignored, dirs_exist_ok=True)
    return copy


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """The user's cache folder and that of temporary files."""
    for name in "cache", "temporary":
        (tmp_path / name).mkdir()
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")}


def block(path: Path) -> None:
    """No folder can be made there, not even by root."""
    path.write_bytes(b"")


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


@pytest.mark.slow
def test_compiled_once(tmp_path):
    assert compilations(NUMBA_CACHE_DIR=str(tmp_path)) > 0
    assert kept(tmp_path)
    assert compilations(NUMBA_CACHE_DIR=str(tmp_path)) == 0


@pytest.mark.slow
def test_nothing_can_be_written():
    assert compilations(NUMBA_CACHE_DIR="/dev/null/cache") > 0


@pytest.mark.slow
def test_the_first_folder_that_can_be_written(package, places, tmp_path):
    assert compilations(package, **places) > 0
    assert kept(package / "__pycache__")
    shutil.rmtree(package / "__pycache__")
    block(package / "__pycache__")
    assert compilations(package, **places) > 0
    assert kept(tmp_path / "cache" / "capfst")
    assert compilations(package, **places) == 0
    shutil.rmtree(tmp_path / "cache")
    block(tmp_path / "cache")
    assert compilations(package, **places) > 0
    (private,) = (tmp_path / "temporary").iterdir()
    assert kept(private)
    assert private.stat().st_mode & 0o777 == 0o700
    assert compilations(package, **places) == 0
    private.chmod(0o777)  # others could have put files there
    assert compilations(package, **places) > 0


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"damaged", None])
def test_damaged_files_are_made_again(tmp_path, damage):
    compilations(NUMBA_CACHE_DIR=str(tmp_path))
    for path in kept(tmp_path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content) if damage is None else damage)
    assert compilations(NUMBA_CACHE_DIR=str(tmp_path)) > 0
    assert compilations(NUMBA_CACHE_DIR=str(tmp_path)) == 0


@pytest.mark.slow
def test_a_change_in_another_file_is_noticed(package, places):
    compilations(package, **places)
    before = kept(package)
    with (package / "system" / "binary_search.py").open("a") as file:
        file.write("# changed\n")
    assert compilations(package, **places) > 0
    assert not any(path.exists() for path in before)
    with (package / "cli" / "common.py").open("a") as file:
        file.write("# changed\n")
    assert compilations(package, **places) == 0


def test_no_kernels_where_changes_are_not_looked_for():
    from capfst.system.kernel_cache import _PACKAGE, _WITHOUT_KERNELS  # noqa: PLC0415

    for folder in _WITHOUT_KERNELS:
        for path in (_PACKAGE / folder).rglob("*.py"):
            assert "system.kernels" not in path.read_text("utf-8")


@pytest.mark.slow
def test_several_processes_at_once(tmp_path):
    command, environment = _process(None, {"NUMBA_CACHE_DIR": str(tmp_path)})
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    for process in processes:
        process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0
    assert compilations(NUMBA_CACHE_DIR=str(tmp_path)) == 0
    assert all(path.suffix == ".kernel" for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.slow
def test_the_first_run_says_what_it_waits_for(tmp_path, contextual_model):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-m", "capfst", "recase", "--lm", str(contextual_model)]
    for expected in f"capfst: {KEPT}\n", "":
        done = subprocess.run(
            command, input="new york\n", capture_output=True, text=True, env=environment, timeout=TIMEOUT, check=True
        )
        assert done.stderr == expected


def test_a_folder_that_others_made_meanwhile_is_not_used(tmp_path, monkeypatch):
    """What is in it would be run."""
    ours, theirs = tmp_path / "ours" / "kernels", tmp_path / "theirs" / "kernels"
    monkeypatch.setattr(kernel_cache, "_folders", lambda: [theirs, ours])
    theirs.mkdir(parents=True)
    theirs.chmod(0o777)
    assert kernel_cache.writable.__wrapped__() == ours


def test_compile_needs_a_folder(monkeypatch):
    done = run_process("compile", code=1, env=os.environ | {"NUMBA_CACHE_DIR": "/dev/null/cache"})
    assert done.stderr.decode().startswith("capfst: error: no folder to keep compiled kernels in can be written")


@pytest.mark.slow
def test_compile_then_recase_at_once(tmp_path, contextual_model):
    bytecode = Path(cache_from_source(capfst.version.__file__))
    bytecode.unlink(missing_ok=True)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run_process("compile", env=environment)
    assert bytecode.is_file()
    assert done.stderr.decode().startswith(f"capfst: compiled kernels are in {tmp_path}")
    before = kept(tmp_path)
    for options in [], ["--nbest", "2"], ["--confidence"], ["--sentence-case"], ["--no-context"]:
        line = "new york. über 1,000 o'neills (a 'well-known' name): see example.com!\n"
        run_process("recase", "--lm", contextual_model, *options, stdin=line, env=environment)
    assert kept(tmp_path) == before
