"""Splits of files: together they are the files, line for line."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import in_one_folder

from capfst.exceptions import CorpusError
from capfst.io.blocks import read_blocks
from capfst.io.text_blocks import Split, read_raw, read_split, splits

TEXT = st.lists(st.sampled_from(["a", "bc", "é" * 9, "", "\n", "\r\n", "\n\n"]), max_size=40).map("".join)


@in_one_folder
@given(
    texts=st.lists(TEXT, min_size=1, max_size=3), size=st.integers(1, 30), mark=st.booleans(), piece=st.integers(1, 9)
)
def test_splits_are_the_files(tmp_path, texts, size, mark, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capfst.io.text_blocks.PIECE", piece)
        files = []
        for number, text in enumerate(texts):
            files.append(tmp_path / str(number))
            files[-1].write_bytes(b"\xef\xbb\xbf" * mark + text.encode())
        found = [split for file in files for split in splits(file, size)]
        whole = b"".join(read_blocks(files))
        assert b"".join(block for split in found for block in read_split(split, "strict")) == whole
        for split in found:
            if split.end is not None:
                raw = split.file.read_bytes()[split.start : split.end]
                assert raw.endswith(b"\n") or split.end == split.file.stat().st_size
                assert raw.find(b"\n", size - 1) in (-1, len(raw) - 1)  # no longer than necessary
                assert b"".join(read_raw(split)) == raw


def test_a_large_file_has_several_splits(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("ab\ncd\nef\n")
    assert splits(file, 4) == [Split(file, 0, 6), Split(file, 6, 9)]
    assert splits(file, 9) == [Split(file)]


def test_a_compressed_file_is_one_split(tmp_path):
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(b"ab\ncd"))
    assert splits(file, 1) == [Split(file)]
    assert b"".join(read_split(Split(file), "strict")) == b"ab\ncd\n"


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_bytes_that_are_not_utf8(tmp_path, errors):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\n\xff\nb\n")
    found = splits(file, 2)
    if errors == "replace":
        assert b"".join(block for split in found for block in read_split(split, errors)).decode() == "a\n\ufffd\nb\n"
    else:
        with pytest.raises(CorpusError, match=r"a\.txt, line \d+: not UTF-8 at byte 0 .*\(0xff\)"):
            list(read_split(found[1], errors))


def test_a_file_that_shrinks_is_noticed(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\nb\n")
    with pytest.raises(CorpusError, match=r"a\.txt was truncated"):
        list(read_raw(Split(file, 0, 9)))


def test_a_missing_file(tmp_path):
    for reading in (
        lambda: splits(tmp_path / "a", 2),
        lambda: list(read_raw(Split(tmp_path / "a", 0, 9))),
        lambda: list(read_split(Split(tmp_path / "a", 0, 9), "strict")),
    ):
        with pytest.raises(CorpusError, match=r"/a: .*No such file"):
            reading()
