"""Test the manifest: entries are read back, lines left by a kill are ignored, and content identifies files."""

import os

import pytest

from capfst.batch.manifest import Manifest, ManifestEntry, Stamp, sha256
from capfst.exceptions import CapfstError
from capfst.io.outputs import MANIFEST
from capfst.io.protocol import RecaseCounts

HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of an empty file


def entry(output: str, tokens: int = 1) -> ManifestEntry:
    stamp = Stamp(3, HASH, (1, 2, 3))
    return ManifestEntry(
        output, "in/é\udcff", {"model": "m", "sentence_case": False}, stamp, stamp, RecaseCounts(tokens=tokens)
    )


def written(folder, *entries: ManifestEntry) -> bytes:
    manifest = Manifest(folder)
    for each in entries:
        manifest.add(each)
    manifest.close()
    return (folder / MANIFEST).read_bytes()


def read(folder) -> dict[str, ManifestEntry]:
    manifest = Manifest(folder)
    manifest.close()
    return manifest.entries


def test_entries_are_read_back(tmp_path):
    written(tmp_path, entry("a"), entry("b/c", 7))
    assert read(tmp_path) == {"a": entry("a"), "b/c": entry("b/c", 7)}
    assert read(tmp_path)["b/c"].counts.tokens == 7


def test_only_the_last_entry_of_an_output_is_kept(tmp_path):
    written(tmp_path, entry("a", 1), entry("b"), entry("a", 2))
    assert read(tmp_path)["a"].counts.tokens == 2
    assert (tmp_path / MANIFEST).read_bytes().count(b"\n") == 2


def test_an_incomplete_line_is_ignored_and_affects_no_other(tmp_path):
    whole = written(tmp_path, entry("a"), entry("b"))
    last = whole.rindex(b"{", 0, whole.index(b'"b"'))
    for end in range(last + 1, len(whole) - 1):
        (tmp_path / MANIFEST).write_bytes(whole[:end])
        assert read(tmp_path) == {"a": entry("a")}
        written(tmp_path, entry("c"))
        assert set(read(tmp_path)) == {"a", "c"}


@pytest.mark.parametrize("line", [b"[]", b"{}", b'{"output": "x"}', b"\xff", b"null", b'"\\ud800"'])
def test_lines_that_are_not_entries_are_ignored(tmp_path, line):
    (tmp_path / MANIFEST).write_bytes(line + b"\n" + entry("a").to_json().encode() + b"\n")
    assert read(tmp_path) == {"a": entry("a")}


def test_a_manifest_that_cannot_be_opened_is_an_error(tmp_path):
    (tmp_path / MANIFEST).mkdir()
    with pytest.raises(CapfstError, match=MANIFEST):
        Manifest(tmp_path)


def test_a_stamp_is_refreshed_only_while_the_content_is_the_same(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"abc")
    stamp = Stamp.of(file, sha256(file))
    assert stamp.refreshed(file) == stamp
    os.utime(file, (1, 1))
    touched = stamp.refreshed(file)
    assert touched is not None
    assert touched != stamp
    assert touched.hash == stamp.hash
    times = os.stat(file)
    file.write_bytes(b"abd")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert touched.refreshed(file) is None  # the same size and time of modification
    file.write_bytes(b"abcd")
    assert touched.refreshed(file) is None
    file.unlink()
    assert touched.refreshed(file) is None


def test_the_hash_equals_that_of_sha256sum(tmp_path):
    (tmp_path / "f").touch()
    assert sha256(tmp_path / "f") == HASH
