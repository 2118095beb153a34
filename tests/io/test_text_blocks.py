"""Texts of files of any format as lines, as training reads them."""

import bz2
import csv
import io
import json
import lzma
import os
import re
import textwrap
from pathlib import Path
from pydoc_data.topics import topics

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import CORPUS, run
from support.models import in_one_folder
from support.packing import gzipped

import capfst
from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.io.codecs import zstd
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import lines_stand_alone, text_blocks

CHOSEN = TextOptions("text", "text")
ROWS = ["One.\nTwo.", None, "", 'Thrée, "so".', "\r\nFour.\r\rFive.\u2028Six.\n"]
LINES = 'One.\nTwo.\nThrée, "so".\n\nFour.\n\nFive.\nSix.\n'


def text_of(path: Path, options: TextOptions = CHOSEN, size: int = 1 << 20) -> str:
    read: list[int] = []
    text = b"".join(text_blocks([path], options, size, progress=read.append)).decode()
    assert sum(read) == path.stat().st_size
    return text


def write(folder: Path, name: str, rows: list[str | None], *, ascii_only: bool = True) -> Path:
    """Write a file in the format of its suffix, with the rows in the column or field `text`, and others."""
    path = folder / name
    suffix = path.suffix
    if suffix == ".parquet":
        table = pa.table({"id": range(len(rows)), "text": pa.array(rows, pa.string())})
        pq.write_table(table, path, row_group_size=3)
        return path
    out = io.StringIO()
    if suffix == ".jsonl":
        for row in rows:
            out.write(json.dumps({"id": 1, "text": row, "x": {"text": "no"}}, ensure_ascii=ascii_only) + "\n")
    elif suffix == ".csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([["id", "text"], *([n, row] for n, row in enumerate(rows))])
    path.write_text(out.getvalue(), "utf-8", newline="")
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_text_becomes_its_lines(tmp_path, name, size):
    assert text_of(write(tmp_path, name, ROWS), size=size) == LINES


def test_tables_without_quotes_or_header(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('id\ttext\n1\tOne "two".\r\n\n2\tThree.\t4')
    assert text_of(path) == 'One "two".\nThree.\n'
    assert text_of(path, TextOptions(column="1")) == "id\n1\n2\n"


@pytest.mark.parametrize("compress", [gzipped, zstd.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_compressed(tmp_path, name, compress):
    path = write(tmp_path, name, ROWS)
    path.write_bytes(compress(path.read_bytes()))
    assert text_of(path) == LINES


@in_one_folder
@given(rows=st.lists(st.none() | st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]))))
def test_all_formats_give_the_same(tmp_path, rows):
    expected = "".join(f"{line}\n" for row in rows for line in (row or "").splitlines())
    for name in "a.jsonl", "a.parquet":
        assert text_of(write(tmp_path, name, rows)) == expected
    assert text_of(write(tmp_path, "b.jsonl", rows, ascii_only=False)) == expected


def test_lone_surrogates_become_replacement_characters(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(r'{"text": "One\ud800 two \ud83d\ude00."}')
    assert text_of(path).replace("\ufffd\ufffd\ufffd", "\ufffd") == "One\ufffd two \U0001f600.\n"


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a.parquet"])
def test_text_that_is_not_utf8(tmp_path, name):
    path = tmp_path / name
    if name == "a.parquet":
        values = pa.array([b"A", None, b"caf\xe9"]).view(pa.string())
        pq.write_table(pa.table({"text": values}), path)
    else:
        path.write_bytes({"a.jsonl": b'{"text": "A"}\n\n{"text": "caf\xe9"}', "a.tsv": b"text\nA\ncaf\xe9"}.get(
            name, b'text\n"A"\n"caf\xe9"'))  # fmt: skip
    with pytest.raises(CorpusError, match=rf"{name}, (line|row) 3: not UTF-8"):
        text_of(path)
    assert text_of(path, TextOptions("text", "text", "replace")) == "A\ncaf\ufffd\n"


WRONG = [
    # name, content, options, error, message
    ("a.jsonl", b'{"id": 1, "body": "A."}\n', {}, OptionError, r".*`field`.* fields: body\.$"),
    ("a.jsonl", b'{"id": 1, "b.c": [{"d": "A."}], "[]": "A."}', {}, OptionError, r".* b\\\.c\[\]\.d, \\\[\]\.$"),
    ("a.jsonl", b"", {}, OptionError, r".*`field`.* fields: none\.$"),
    ("a.jsonl", b"[1]\n", {}, OptionError, r".*`field`.* fields: none\.$"),
    ("a.ndjson", b'\xef\xbb\xbf{"id": "A"}', {"column": "1"}, OptionError, r".*`field`.* fields: id\.$"),
    ("a.tsv", b"id\tbody\n", {"field": "x"}, OptionError, r".*`column`.* columns: id, body, or a number from 1\.$"),
    ("a.csv", b'"id","the, body"\r\n', {}, OptionError, r".*`column`.* columns: id, the, body, or a number from 1\.$"),
    ("a.jsonl", b'{"text": "A."}\n\n{"id": 1, "body": "A."}\n', {"field": "text"}, CorpusError,
     r"line 3: .* no field 'text'\. .*`field`.*: body\."),
    ("a.jsonl", b'{"text": "A."}\n{"text": 7}\n', {"field": "text"}, CorpusError, "line 2: .*'text' is not a string"),
    ("a.jsonl", b'{"text": "A."}\n{"text": "A.\n', {"field": "text"}, CorpusError, "line 2: invalid JSON, column 10: "),
    ("a.csv", b"id,body\n1,A\n", {"column": "text"}, CorpusError, r".* no column is called 'text'.* id, body, or"),
    ("a.tsv", b"id\tbody\n1\tA\n2\n", {"column": "body"}, CorpusError, "line 3: no column 2: the line has 1"),
    ("a.json", b'\n [ {"id": 1, "body": "A."} ]', {}, OptionError, r".*`field`.* fields: body\.$"),
    ("a.html", b"A.", {}, CorpusError, r"cannot read \.html files\. .*\.jsonl"),
    ("a.pdf.gz", b"", {}, CorpusError, r"cannot read \.pdf files"),
    ("a.parquet", b"PAR1", {"column": "text"}, CorpusError, ".*Parquet"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "error", "message"), WRONG)
def test_files_that_cannot_be_read(tmp_path, name, content, options, error, message):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "out").mkdir()
    with pytest.raises(error, match=rf"{name}[:,] {message}"):
        text_of(tmp_path / name, TextOptions(**options))
    with pytest.raises(error, match=rf"{name}[:,] {message}"):
        capfst.train(tmp_path / name, tmp_path / "out" / "cap.fst", clean=False, **options)
    assert not os.listdir(tmp_path / "out")


def test_parquet_without_a_column_that_can_be_read(tmp_path):
    path = write(tmp_path, "a.parquet", ["A."])
    with pytest.raises(OptionError, match=r"a\.parquet: .*`column`.* columns: id, text, or a number from 1\.$"):
        text_of(path, TextOptions())
    with pytest.raises(CorpusError, match="'id' has the type int64"):
        text_of(path, TextOptions(column="id"))


def test_columns_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    texts = ["A.", None, "B\nC."]
    names = ["text", "text", "large", "dictionary", "nested"]
    columns = [pa.array(["no"] * 3), pa.array(texts), pa.array(texts, pa.large_string()),
               pa.array(texts).dictionary_encode(), pa.array([{"text": "no"}] * 3)]  # fmt: skip
    pq.write_table(pa.table(columns, names), path)
    for column in "2", "large", "dictionary":
        assert text_of(path, TextOptions(column=column)) == "A.\nB\nC.\n"
    assert text_of(path, TextOptions(column=["dictionary", "2"])) == "A.\nA.\nB\nC.\nB\nC.\n"


# Wrapped text


PROSE = " ".join(" ".join(topics[name].split()) for name in ("objects", "class", "import"))
SENTENCES = "".join(f"{sentence}.\n" for sentence in PROSE.split(". ") if len(sentence) > 80)
WRAPPED = "\n".join(textwrap.fill(sentence, 64, break_on_hyphens=False) + "\n" for sentence in SENTENCES.splitlines())


@pytest.mark.parametrize("size", [1 << 17, 1 << 20])
def test_wrapped_text_is_joined(tmp_path, size):
    path = tmp_path / "a.txt"
    path.write_text(WRAPPED.replace("\n", "\r\n") * 20)
    widths: dict[Path, int] = {}
    blocks = list(text_blocks([path], CHOSEN, size, on_wrapped=widths.setdefault))
    assert b"".join(blocks).decode() == SENTENCES * 20
    assert len(blocks) == -(-len(SENTENCES) * 20 // size)
    assert 61 <= widths[path] <= 64
    assert not lines_stand_alone(path, CHOSEN)


def test_each_text_of_a_file_is_wrapped_or_not(tmp_path):
    path = write(tmp_path, "a.jsonl", [WRAPPED, SENTENCES, WRAPPED])
    widths: dict[Path, int] = {}
    assert b"".join(text_blocks([path], CHOSEN, on_wrapped=widths.setdefault)).decode() == SENTENCES * 3
    assert list(widths) == [path]


def test_lines_that_stand_alone(tmp_path):
    (tmp_path / "a.txt").write_bytes(SENTENCES.encode() + b"\xff")
    assert lines_stand_alone(tmp_path / "a.txt", CHOSEN)
    assert not lines_stand_alone(write(tmp_path, "a.jsonl", ["A."]), CHOSEN)


# Training


def test_a_model_of_any_format_is_the_same(tmp_path):
    rows: list[str | None] = [*(CORPUS * 3).splitlines(), "It is new.\nIt is in Paris.", None]
    (tmp_path / "a.txt").write_text("".join(f"{row}\n" for row in rows if row))
    models = {}
    for name in "a.txt", "a.jsonl", "a.csv", "a.parquet":
        path = tmp_path / name if name == "a.txt" else write(tmp_path, name, rows)
        if name == "a.jsonl":
            path = path.rename(tmp_path / "a.jsonl.xz")
            path.write_bytes(lzma.compress(path.read_bytes()))
        run("train", path, "-o", tmp_path / "cap.fst", "--field", "text", "--column", "text")
        models[name] = (tmp_path / "cap.fst").read_bytes()
    assert len(set(models.values())) == 1


def test_files_of_a_folder(tmp_path):
    """Files of records are read if the options select their text."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    write(folder, "a.jsonl", ["It is jsonl."])
    write(folder, "b.csv", ["It is csv."])
    (folder / "c.xml").write_text("<html/>")
    with pytest.raises(CapfstError, match=r"corpus: .*`field` or `column`"):
        capfst.train(folder, tmp_path / "cap.fst")
    (folder / "d.txt").write_text("It is text.\n")
    for options, tokens in (
        ({}, 4),
        ({"field": "text"}, 8),
        ({"column": "text"}, 8),
        ({"field": "text", "column": "text"}, 12),
    ):
        assert capfst.train(folder, tmp_path / "cap.fst", **options).tokens == tokens, options


def test_a_warning_that_lines_were_joined(tmp_path, caplog):
    names = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path, text in zip(names, (WRAPPED, WRAPPED, SENTENCES), strict=True):
        path.write_text(text)
    model = []
    for files, message in (
        (
            [names[0], names[2]],
            rf"{names[0]}: lines are wrapped at about 6\d characters, so the lines of each",
        ),
        (
            names[:2],
            rf"{names[0]} and 1 other file: lines are wrapped, in the first at about 6\d characters, .* joined",
        ),
        ([names[2]], "$"),
    ):
        caplog.clear()
        capfst.train(files, tmp_path / "cap.fst", order=1, context=False, clean=False)
        assert re.match(message, "".join(caplog.messages))
        model.append((tmp_path / "cap.fst").read_bytes())
    assert model[0] == model[1]
