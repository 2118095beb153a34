"""Files: which ones a name stands for; their lines, whatever the compression and the line ends; damaged files."""

import bz2
import errno
import hashlib
import io
import lzma
import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.packing import gzipped

import capfst
from capfst.exceptions import CorpusError
from capfst.io.blocks import raw_pieces, read_blocks, read_stream, whole_lines
from capfst.io.codecs import zstd
from capfst.io.files import failure_of, find_files

SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"  # a zstd frame without content, as pzstd writes

PACKINGS = {
    "plain": lambda text: text,
    "gzip": gzipped,
    "gzip, two members": lambda text: gzipped(text[:7]) + gzipped(text[7:]),
    "gzip, padded": lambda text: gzipped(text) + bytes(600),
    "bzip2": bz2.compress,
    "bzip2, two streams": lambda text: bz2.compress(text[:7]) + bz2.compress(text[7:]),
    "bzip2, streams without text": lambda text: bz2.compress(b"") + bz2.compress(text) + bz2.compress(b""),
    "xz": lzma.compress,
    "xz, two streams and padding": lambda text: lzma.compress(text[:7]) + bytes(1 << 18) + lzma.compress(text[7:]),
    "xz, padded": lambda text: lzma.compress(text, check=lzma.CHECK_SHA256) + bytes(4),
    "zstd": zstd.compress,
    "zstd, two frames": lambda text: zstd.compress(text[:7]) + zstd.compress(text[7:]),
    "zstd, skippable frame": lambda text: SKIPPABLE + zstd.compress(text),
    "zstd, no size in the frame": lambda text: zstd.compress(
        text, options={zstd.CompressionParameter.content_size_flag: 0}
    ),
}


def write(folder: Path, name: str, data: bytes = b"A b.\n") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def text_of(*files: Path, **options: object) -> bytes:
    return b"".join(read_blocks(files, **options))  # type: ignore[arg-type]


# --- find_files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["", "pipe", "pipe.parquet", "pi*e"])
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(CorpusError, match=r"pipe.*: not a regular file"):
        find_files([tmp_path / name])


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in (
        "c/b.txt", "c/a.txt.zst", "c/d/e.en", "c/d/plain", "c/f.TXT.GZ",
        "c/.hidden.txt", "c/.git/config", "c/model.fst", "c/x.json.gz", "c/y.PDF", "z.json", "empty/.x",
        "c/d/g.txt.bz2", "c/d/h.xz", "c/d/t.tar.xz", "c/d/w.xml-p1p9.bz2",
    ):  # fmt: skip
        write(tmp_path, name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["c/b.txt"], "c/b.txt"),
        (["z.json", "c/.hidden.txt"], "z.json c/.hidden.txt"),  # files that are named are always read
        (["c"], "c/a.txt.zst c/b.txt c/d/e.en c/d/g.txt.bz2 c/d/h.xz c/d/plain c/f.TXT.GZ"),
        (["c/*.txt"], "c/b.txt"),
        (["c/**/*e*"], "c/d/e.en c/model.fst"),
        (["c/?"], "c/d/e.en c/d/g.txt.bz2 c/d/h.xz c/d/plain"),
        (["**/*.txt", "c/[a-b]*"], "c/b.txt c/a.txt.zst"),
        (["c/d", "c/d/e.en", "./c/d/e.en"], "c/d/e.en c/d/g.txt.bz2 c/d/h.xz c/d/plain"),
    ],
)
def test_find(tree, paths, found):
    assert find_files(paths) == [Path(name) for name in found.split()]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "^no corpus"),
        (["c", "nothing"], "^nothing: no such file"),
        (["*.nothing"], r"^\*\.nothing: no file"),
        (["empty"], "^empty: .*`field` or `column`"),
        ([""], "^the name of an input is empty"),
    ],
)
def test_find_nothing(tree, paths, message):
    with pytest.raises(CorpusError, match=message):
        find_files(paths)


def test_a_file_whose_name_looks_like_a_pattern(tree, tmp_path):
    file = write(tmp_path, "a[1].txt")
    assert find_files([file]) == [file]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_find_without_permission(tmp_path):
    write(tmp_path, "c/a.txt").chmod(0)
    with pytest.raises(CorpusError, match=r"a\.txt: "):
        find_files([tmp_path / "c"])


# --- read_blocks


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=list(PACKINGS))
@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_packings(tmp_path, pack, size):
    text = "".join(f"Línea {n} is this one.\n" for n in range(5000)).encode()
    file = write(tmp_path, "misleading.txt", pack(text))
    read: list[int] = []
    assert b"".join(read_stream(file, size=size, on_read=lambda data: read.append(len(data)))) == text
    assert sum(read) == file.stat().st_size
    assert text_of(file, size=size) == text


LINES = st.lists(st.text(st.characters(exclude_characters="\n\ufeff", exclude_categories=["Cs"])), max_size=8)


@given(files=st.lists(st.tuples(LINES, st.booleans()), max_size=4), size=st.integers(1, 40))
def test_blocks(files, size):
    """The text and its digest do not depend on the division of the lines into files and blocks; blocks are whole
    lines."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for n, (lines, open_end) in enumerate(files):
            data = "".join(line + "\n" for line in lines).encode()
            names.append(write(Path(folder), str(n), data.removesuffix(b"\n") if open_end else data))
        digest, whole = hashlib.sha256(), hashlib.sha256()
        blocks = list(read_blocks(names, size=size, hash=digest))
        expected = b""
        for file in names:
            data = file.read_bytes()
            expected += data if data.endswith(b"\n") or not data else data + b"\n"
        assert b"".join(blocks) == expected == text_of(*names, hash=whole)
        assert all(block.endswith(b"\n") for block in blocks)
        assert all(len(block) >= size for block in blocks[:-1])
        assert digest.digest() == whole.digest() == hashlib.sha256(expected).digest()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", b""),
        (b"\n", b"\n"),
        (b"A b.", b"A b.\n"),
        (b"A b.\r\nC", b"A b.\r\nC\n"),
        (b"\xef\xbb\xbfA b.\n\xef\xbb\xbfC.\n", b"A b.\n\xef\xbb\xbfC.\n"),
        (b"\xef\xbb\xbf", b""),
        (b"A\0b.\n", b"A\0b.\n"),
    ],
)
def test_ends(tmp_path, data, text):
    file = write(tmp_path, "a.txt", data)
    assert text_of(file) == text
    assert text_of(file, file) == 2 * text
    assert b"".join(read_stream(file)) == b"".join(read_stream(io.BytesIO(data))) == data


def test_a_line_that_does_not_end(tmp_path, monkeypatch):
    monkeypatch.setattr("capfst.io.blocks.LONGEST", 3 << 20)
    message = "a line has more than 3 MiB"
    with pytest.raises(CorpusError, match=f"^/dev/zero: {message}"):
        list(read_stream(Path("/dev/zero")))
    with open("/dev/zero", "rb", 0) as zeros, pytest.raises(CorpusError, match=f"^<stdin>: {message}"):
        list(read_stream(zeros))
    (tmp_path / "a").write_bytes(zstd.compress(b"a\n" * 9 + b"x" * (4 << 20)))
    with pytest.raises(CorpusError, match=f"a: {message}"):
        list(read_blocks([tmp_path / "a"]))
    (tmp_path / "a").write_bytes(b"x" * (2 << 20) + b"\n" + b"y" * (2 << 20))
    assert sum(map(len, whole_lines(raw_pieces(tmp_path / "a"), 1 << 20, "a"))) == (4 << 20) + 1


def test_long_line(tmp_path):
    text = b"x" * (20 << 20) + b"\nA b.\n"
    file = write(tmp_path, "a.zst", zstd.compress(text))  # 10,000 times smaller
    assert [len(block) for block in read_blocks([file], size=1 << 10)] == [len(text)]
    assert [len(block) for block in read_stream(io.BytesIO(text), size=1 << 10)] == [len(text)]


@pytest.mark.parametrize("pack", [PACKINGS["plain"], PACKINGS["gzip"], PACKINGS["zstd"]])
def test_not_utf8(tmp_path, pack):
    before = b"\xef\xbb\xbf" + "Añb.\n".encode() * 5000
    file = write(tmp_path, "a.txt", pack(before + b"A \xff b.\nC."))
    with pytest.raises(
        CorpusError, match=rf"a.txt, line 5001: .* byte {len(before) + 2} .*\(0xff\): .*`errors='replace'`"
    ):
        text_of(file, size=1000)
    assert text_of(file, size=1000, errors="replace") == before[3:] + "A \ufffd b.\nC.\n".encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzipped(b"A b.\n" * 9999)[:-9], "ends early"),
        (gzipped(b"A b.\n")[:-1], "ends early"),
        (gzipped(b"A b.\n") + b"rubbish", "damaged"),
        (gzipped(b"A b.\n")[:-8] + bytes(8), "damaged"),
        (gzipped(b"A b.\n" * 9999)[:99], r"ends early, at byte 99\."),
        (bz2.compress(b"A b.\n" * 9999)[:-3], r"ends early, at byte \d+\."),
        (bz2.compress(b"A b.\n") * 2 + bz2.compress(b"A b.\n")[:11], r"ends early, at byte 103\."),
        (bz2.compress(b"A b.\n")[:-4] + b"rubb", "damaged compressed data before byte 46 "),
        (bz2.compress(b"A b.\n") + b"rubbish", "damaged"),
        (bz2.compress(b"A b.\n") + bz2.compress(b"C.\n").replace(b"1AY", b"2AY"), "damaged"),
        (lzma.compress(b"A b.\n" * 9999)[:-3], r"ends early, at byte \d+\."),
        (lzma.compress(b"A b.\n") + bytes(4) + lzma.compress(b"A b.\n")[:9], "ends early"),
        (lzma.compress(b"A b.\n") + b"rubbish and more", "damaged"),
        (lzma.compress(b"A b.\n" * 9999)[:60] + bytes(90), r"damaged compressed data before byte 150 \(Corrupt"),
        (zstd.compress(b"A b.\n" * 9999)[:-3], "ends early"),
        (zstd.compress(b"A b.\n") + b"rubbish", "damaged"),
        (zstd.compress(b"A b.\n")[:4] + b"\xff" * 20, "damaged"),
        ("A b.\n".encode("utf-16"), "UTF-16"),
        (gzipped("A b.\n".encode("utf-16")), "UTF-16"),
        (gzipped(gzipped(b"A b.\n")), "compressed.*`gzip -dc`"),
        (gzipped(lzma.compress(b"A b.\n")), "compressed.*`xz -dc`"),
    ],
)
@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_damaged(tmp_path, data, message, errors):
    file = write(tmp_path, "a.txt", data)
    with pytest.raises(CorpusError, match=rf"a\.txt: .*{message}"):
        text_of(file, errors=errors)


def test_unreadable(tmp_path):
    with pytest.raises(CorpusError, match=r"gone\.txt: .*No such file"):
        text_of(tmp_path / "gone.txt")
    with pytest.raises(CorpusError, match="Is a directory"):
        text_of(tmp_path)


def test_early_close(tmp_path):
    blocks = read_blocks([write(tmp_path, "a.txt", b"A b.\n" * 9999)], size=10)
    assert next(blocks)
    blocks.close()  # type: ignore[attr-defined]
    assert list(blocks) == []


# --- read_stream


@given(data=st.text(st.characters(codec="utf-8", exclude_characters="\0")).map(str.encode), size=st.integers(1, 9))
def test_stream_keeps_every_byte(data, size):
    blocks = list(read_stream(io.BytesIO(data), size=size))
    assert b"".join(blocks) == data
    assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_stream_does_not_wait_for_more():
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        blocks = read_stream(source)
        sink.write(b"first\nsec")
        assert next(blocks) == b"first\n"
        sink.write("ond\nthé third".encode()[:-6])
        assert next(blocks) == b"second\n"
        sink.write("thé third".encode()[-6:])
        sink.close()
        assert list(blocks) == ["thé third".encode()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"A b.\n\xe9t\xe9.\n", r"<stdin>, line 2: not UTF-8 at byte 5 .*\(0xe9\): .*`errors='replace'`"),
        (zstd.compress(b"A b.\n"), "<stdin>: .*zstd -dc"),
        (gzipped(b"A b.\n"), "<stdin>: .*gzip -dc"),
        (bz2.compress(b""), "<stdin>: .*bzip2 -dc"),
        ("\ufeffA b.\n".encode("utf-16-be"), "<stdin>: .*UTF-16"),
    ],
)
def test_stream_errors(data, message):
    with pytest.raises(CorpusError, match=message):
        list(read_stream(io.BytesIO(data)))


@pytest.mark.parametrize("data", [b"caf\xe9\n", "caf\xe9".encode("utf-16"), "cafe".encode("utf-16-be")])
def test_commands_without_the_options_do_not_recommend_them(data):
    with pytest.raises(CorpusError, match=r"not UTF-8.* Convert it with `iconv -f [A-Z1]+") as error:
        list(read_stream(io.BytesIO(data), errors="refuse"))
    assert "`errors=" not in str(error.value)
    assert "`encoding=" not in str(error.value)


@pytest.mark.parametrize("option", ["words", "abbreviations"])
def test_lists_have_no_option_for_their_encoding(tmp_path, option):
    (tmp_path / "list.txt").write_bytes("Caf\xe9.\n".encode("latin-1"))
    with pytest.raises(CorpusError, match=r"list\.txt, line 1: .* LATIN1\. Convert it with `[^`]*`\.$"):
        capfst.load("en", **{option: [tmp_path / "list.txt"]})


@pytest.mark.parametrize(("number", "remedy"), [(errno.EMFILE, "--jobs"), (errno.EACCES, "permissions")])
def test_failures_of_the_system_have_a_remedy(number, remedy):
    error = failure_of("a.txt", OSError(number, os.strerror(number)))
    assert re.fullmatch(rf"a\.txt: {os.strerror(number)}\. .*{remedy}.*\.", str(error))
