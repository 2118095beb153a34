"""system/atomic.py: a file is replaced completely or not at all, and errors name it with advice."""

import errno
import os
import re
import resource
import signal
import stat
import threading
from pathlib import Path

import pytest

from capfst.exceptions import CapfstError
from capfst.system.atomic import check_output, replacing, writing

OLD, NEW = b"what was there", b"what is new"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").write_bytes(OLD)
    return tmp_path


def only_old_left(folder: Path) -> bool:
    return os.listdir(folder) == ["out"] and (folder / "out").read_bytes() == OLD


def test_replaces_at_the_end(folder: Path) -> None:
    with replacing(folder / "out") as file:
        file.write(NEW)
        assert (folder / "out").read_bytes() == OLD
        temporary = [name for name in os.listdir(folder) if name != "out"]
        assert len(temporary) == 1
        assert temporary[0].startswith(".capfst-")
        assert temporary[0].endswith(".tmp")
    assert os.listdir(folder) == ["out"]
    assert (folder / "out").read_bytes() == NEW


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    with replacing(str(tmp_path / "made")) as file:
        file.write(NEW)
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OSError, CapfstError])
def test_an_exception_changes_nothing_and_passes(folder: Path, error: type[BaseException]) -> None:
    with pytest.raises(error) as caught, replacing(folder / "out") as file:
        file.write(NEW)
        raise error("of the block")
    assert type(caught.value) is error
    assert only_old_left(folder)


@pytest.mark.parametrize("size", [1, 1 << 24])
def test_a_write_that_fails(folder: Path, size: int) -> None:
    """With a limit on file sizes, which fails like a full disk: in the block, or when the buffer is flushed."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        message = r"out: .*File too large .*ulimit -f"
        with pytest.raises(CapfstError, match=message), replacing(folder / "out") as file:
            file.write(bytes(size))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert only_old_left(folder)


@pytest.mark.parametrize(
    "function, number, advice",
    [
        ("fsync", errno.ENOSPC, "space"),
        ("fsync", errno.EIO, "disk"),
        ("replace", errno.EACCES, "writable"),
    ],
)
def test_failures_at_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int, advice: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, function, fail)
    message = f"{folder / 'out'}: .*{os.strerror(number)}.*{advice}"
    with pytest.raises(CapfstError, match=message), replacing(folder / "out") as file:
        file.write(NEW)
    assert only_old_left(folder)


@pytest.mark.parametrize(
    "name, message",
    [
        ("missing/out", "No such file or directory .in folder .*missing"),
        ("out/out", "Not a directory"),
        (".", "folder"),
        ("x" * 300, "File name too long"),
        ("pipe", "not a regular file"),
    ],
)
def test_paths_that_cannot_be_written(folder: Path, name: str, message: str) -> None:
    if name == "pipe":
        os.mkfifo(folder / name)
    with (
        pytest.raises(CapfstError, match=f"{re.escape(str((folder / name).resolve()))}: .*{message}"),
        replacing(folder / name),
    ):
        pytest.fail("there is nothing to write to")
    if name == "pipe":
        assert stat.S_ISFIFO((folder / name).stat().st_mode)
        (folder / name).unlink()
    assert only_old_left(folder)


def test_a_dash_is_not_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(CapfstError, match=r"^-: cannot write to stdout"):
        check_output("-", streams=True)
    assert only_old_left(folder)


def test_a_link_is_kept(folder: Path) -> None:
    link = folder / "link"
    link.symlink_to("out")
    with replacing(link) as file:
        file.write(NEW)
    assert link.is_symlink()
    assert (folder / "out").read_bytes() == NEW


def test_permissions_are_kept(folder: Path) -> None:
    (folder / "out").chmod(0o640)
    with replacing(folder / "out") as file:
        file.write(NEW)
    assert stat.S_IMODE((folder / "out").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everything")
def test_a_read_only_file(folder: Path) -> None:
    (folder / "out").chmod(0o444)
    with pytest.raises(CapfstError, match="Permission denied"), replacing(folder / "out"):
        pass
    assert only_old_left(folder)


def test_a_pipe(folder: Path) -> None:
    """The real path of a pipe does not exist."""
    reader, writer = os.pipe()
    try:
        with pytest.raises(CapfstError, match="not a regular file"), replacing(f"/dev/fd/{writer}"):
            pass
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_written_to_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    first = threading.Event()

    def reader() -> None:
        with open(tmp_path / "pipe", "rb", 0) as pipe:
            while data := pipe.read(1 << 20):
                read.append(data)
                first.set()

    thread = threading.Thread(target=reader)
    thread.start()
    with writing(tmp_path / "pipe") as file:
        file.write(b"one line\n")
        assert first.wait(60)
        file.write(b"x" * 300_000)
    thread.join(60)
    assert b"".join(read) == b"one line\n" + b"x" * 300_000
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_devices_are_written_to(tmp_path):
    with writing("/dev/null") as file:
        file.write(b"x" * 300_000)
    with pytest.raises(CapfstError, match=r"/dev/full: .*No space left"), writing("/dev/full") as file:
        file.write(b"x")


def test_other_files_are_replaced(tmp_path):
    with pytest.raises(KeyError), writing(tmp_path / "out") as file:
        file.write(b"x")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_checked_loses_what_killed_processes_left_next_to_it(tmp_path: Path) -> None:
    names = [".capfst-0123abcd.tmp", ".capfst-part-0123abcd.tmp", ".capfst-0123abcd.txt", "capfst-0123abcd.tmp"]
    for name in names:
        (tmp_path / name).touch()
    with replacing(tmp_path / "other"):  # whose temporary file is locked
        written = next(path for path in tmp_path.iterdir() if path.name not in names)
        check_output(tmp_path / "out")
        assert {path.name for path in tmp_path.iterdir()} == {*names, written.name}  # none is old
        for path in tmp_path.iterdir():
            os.utime(path, (0, 0))
        check_output(tmp_path / "out")
        assert {path.name for path in tmp_path.iterdir()} == {*names[1:], written.name}
