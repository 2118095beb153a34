"""system/verified.py: validated models are remembered, and no other file is taken for one of them."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.models import tiny

from capfst import __version__
from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.system import verified as checked

NGRAMS = tiny().ngrams
OTHERS = (9, 9)  # of no model here: can come only from the memory
FIELDS = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a new memory, which also remembers files that have just changed; return its path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(checked, "MIN_AGE", 0)
    return tmp_path / "cache" / "capfst" / "checked.json"


@pytest.fixture
def model(tmp_path: Path, memory: Path) -> Path:
    """A validated model."""
    tiny().save(tmp_path / "cap.fst")
    time.sleep(0.05)  # longer than the tick of the clock for file times
    CapFst.open(tmp_path / "cap.fst")
    return tmp_path / "cap.fst"


def key(path: Path) -> list[int]:
    return [getattr(path.stat(), field) for field in FIELDS]


def put(memory: Path, key: list[int], version: str = __version__) -> None:
    """Store OTHERS for this file in the memory."""
    memory.write_text(json.dumps({"version": version, "models": [[key, OTHERS]]}))


def test_remembers(model: Path, memory: Path) -> None:
    assert json.loads(memory.read_bytes()) == {"version": __version__, "models": [[key(model), list(NGRAMS)]]}
    put(memory, key(model))
    assert CapFst.open(model).ngrams == OTHERS


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_memory_that_others_can_write_is_not_trusted(model: Path, memory: Path, mode: int) -> None:
    put(memory, key(model))
    memory.chmod(mode)
    assert CapFst.open(model).ngrams == NGRAMS
    assert memory.stat().st_mode & 0o777 == 0o600
    assert json.loads(memory.read_bytes())["models"] == [[key(model), list(NGRAMS)]]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_memory_of_another_user_is_not_trusted(model: Path, memory: Path) -> None:
    put(memory, key(model))
    os.chown(memory, 12345, 12345)
    assert CapFst.open(model).ngrams == NGRAMS


@pytest.mark.parametrize("field", range(len(FIELDS)))
def test_another_file(model: Path, memory: Path, field: int) -> None:
    other = key(model)
    other[field] += 1
    put(memory, other)
    assert CapFst.open(model).ngrams == NGRAMS


def test_another_version(model: Path, memory: Path) -> None:
    put(memory, key(model), "0")
    assert CapFst.open(model).ngrams == NGRAMS


def test_damaged_later(model: Path) -> None:
    """A file that is changed in place, with the same size and its modification time restored, is validated again."""
    times = model.stat().st_atime_ns, model.stat().st_mtime_ns
    content = model.read_bytes()
    with model.open("r+b") as file:
        file.seek(len(content) - 16)
        file.write(b"\xff" * 16)
    os.utime(model, ns=times)
    with pytest.raises(ModelError, match="damaged"):
        CapFst.open(model)


def test_damaged_is_not_remembered(model: Path, memory: Path) -> None:
    memory.unlink()
    model.write_bytes(model.read_bytes()[:-16] + b"\xff" * 16)
    for _ in range(2):
        with pytest.raises(ModelError, match="damaged"):
            CapFst.open(model)
    assert not memory.exists()


def test_unsettled(model: Path, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.unlink()
    monkeypatch.setattr(checked, "MIN_AGE", 10**12)
    assert CapFst.open(model).ngrams == NGRAMS
    assert not memory.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"null",
        b"[" * 100_000,
        json.dumps({"version": __version__}).encode(),
        json.dumps({"version": __version__, "models": 1}).encode(),
        json.dumps({"version": __version__, "models": [[1, 2]]}).encode(),
        json.dumps({"version": __version__, "models": [[["x"], [1]]]}).encode(),
        json.dumps({"version": __version__, "models": [[[1e999], [1]]]}).encode(),
    ],
)
def test_damaged_memory(model: Path, memory: Path, content: bytes) -> None:
    memory.write_bytes(content)
    assert CapFst.open(model).ngrams == NGRAMS
    assert json.loads(memory.read_bytes())["models"] == [[key(model), list(NGRAMS)]]


@pytest.mark.parametrize("home", ["/dev/null", "relative"])
def test_no_memory(model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    before = sorted(tmp_path.rglob("*"))
    assert CapFst.open(model).ngrams == NGRAMS
    assert sorted(tmp_path.rglob("*")) == before


def test_forgets(model: Path, memory: Path, tmp_path: Path) -> None:
    """The oldest of many files are forgotten, even if several threads write at once."""
    oldest = model.stat()
    files = []
    for number in range(100):
        (tmp_path / str(number)).touch()
        files.append((tmp_path / str(number)).stat())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda file: checked.remember(file, NGRAMS), files))
    for file in files:
        checked.remember(file, NGRAMS)
    assert checked.recall(files[-1]) == NGRAMS
    assert checked.recall(oldest) == checked.recall(files[0]) == ()
    assert len(json.loads(memory.read_bytes())["models"]) < 100
    assert [path.name for path in memory.parent.iterdir()] == [memory.name]
