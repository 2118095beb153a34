"""Parts of files: together they are the files, line for line."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import in_one_folder

from capfst.exceptions import CapfstError
from capfst.io.blocks import read_blocks
from capfst.io.splits import Part, read, read_raw, splits

TEXT = st.lists(st.sampled_from(["a", "bc", "é" * 9, "", "\n", "\r\n", "\n\n"]), max_size=40).map("".join)


@in_one_folder
@given(
    texts=st.lists(TEXT, min_size=1, max_size=3), size=st.integers(1, 30), mark=st.booleans(), block=st.integers(1, 9)
)
def test_parts_are_the_files(tmp_path, texts, size, mark, block):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / str(number))
        files[-1].write_bytes(b"\xef\xbb\xbf" * mark + text.encode())
    parts = splits(files, size)
    whole = b"".join(read_blocks(files))
    assert b"".join(block for part in parts for block in read(part, "strict")) == whole
    for part in parts:
        if part.end is not None:
            raw = part.file.read_bytes()[part.start : part.end]
            assert raw.endswith(b"\n") or part.end == part.file.stat().st_size
            assert raw.find(b"\n", size - 1) in (-1, len(raw) - 1)  # no longer than it must be
            blocks = list(read_raw(part, block))
            assert b"".join(blocks) == raw
            assert all(some.endswith(b"\n") for some in blocks[:-1])


def test_a_large_file_is_several_parts(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("ab\ncd\nef\n")
    assert splits([file], 4) == [Part(file, 0, 6), Part(file, 6, 9)]
    assert splits([file], 9) == [Part(file)]


def test_a_compressed_file_is_one_part(tmp_path):
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(b"ab\ncd"))
    assert splits([file], 1) == [Part(file)]
    assert b"".join(read(Part(file), "strict")) == b"ab\ncd\n"


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_what_is_not_utf8(tmp_path, errors):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\n\xff\nb\n")
    parts = splits([file], 2)
    if errors == "replace":
        assert b"".join(block for part in parts for block in read(part, errors)).decode() == "a\n\ufffd\nb\n"
    else:
        with pytest.raises(CapfstError, match="not UTF-8"):
            list(read(parts[1], errors))


def test_a_file_that_shrinks_is_noticed(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\nb\n")
    with pytest.raises(CapfstError, match="shorter"):
        list(read_raw(Part(file, 0, 9), 2))
