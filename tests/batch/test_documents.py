"""Test `capfst batch --document`: lines of a document share evidence in every format, regardless of blocks."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run

import capfst.io.blocks
import capfst.io.documents
import capfst.io.parquet
import capfst.io.plain_text
import capfst.io.text_file
import capfst.models
from capfst.io.documents import documents as split
from capfst.recaser import Recaser, load

SIZES = [2, 7, 3, 40, 2, 1, 60, 3, 5, 30]  # lines of the documents
EVIDENT, OTHER = "the painter felters lived in rome.", "some felters left."


@pytest.fixture(scope="module")
def model() -> Path:
    return capfst.models.find("en")


@pytest.fixture(scope="module")
def recaser(model: Path) -> Recaser:
    return load(model, document=True)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capfst.io.blocks, "PIECE", 700)
    for module in (capfst.io.text_file, capfst.io.parquet, capfst.io.plain_text):
        monkeypatch.setattr(module, "BLOCK", 1000)


def documents() -> list[list[str]]:
    """Return lines of documents. In every other document, most lines show that a word of its other lines is a name."""
    return [[OTHER if k % 2 or i % 3 == 1 else EVIDENT for i in range(size)] for k, size in enumerate(SIZES)]


def batch(model: Path, file: Path, *options: object, jobs: int = 2, code: int = 0) -> tuple[bytes, str]:
    """Return the output of a file, and stderr."""
    out = file.parent / f"out-{jobs}"
    done = run("batch", "--lm", model, "--jobs", jobs, "--output", out, *options, file, code=code)
    return ((out / file.name).read_bytes() if code == 0 else b""), done.stderr.decode()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("jobs", [1, 3])
def test_text_is_the_same_as_from_recase(model: Path, recaser: Recaser, tmp_path: Path, jobs: int) -> None:
    text = "\n\n".join("\n".join(lines) for lines in documents()) + "\n \nlast"
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    expected = recaser(text).encode()
    assert expected.count(b"Felters") == sum(SIZES[::2])
    assert batch(model, tmp_path / "a.txt", "--document", jobs=jobs)[0] == expected
    assert gzip.decompress(batch(model, tmp_path / "b.txt.gz", "--document", jobs=jobs)[0]) == expected
    (tmp_path / "c.txt").write_bytes(text.encode() + b"\n\xff\n")
    recased, _ = batch(model, tmp_path / "c.txt", "--document", "--on-error", "pass", jobs=jobs)
    assert recased == expected + b"\n\xff\n"


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_in_python_are_the_same_as_text(recaser: Recaser, end: str) -> None:
    """This holds with and without line ends. A line of non-ASCII white space does not separate documents."""
    lines = [line for document in documents() for line in [*document, "", " \t"]] + ["\xa0", "\u2003", *[EVIDENT] * 3]
    expected = recaser("\n".join(lines)).split("\n")
    assert list(recaser.recase_lines(line + end for line in lines)) == [line + end for line in expected]
    assert list(recaser.recase_lines(["1\n\n2", "3\n", "\n", "\n\n", ""])) == ["1\n\n2", "3\n", "\n", "\n\n", ""]
    with pytest.raises(TypeError, match=r"text 2 .*NoneType"):
        list(recaser.recase_lines(["a", None]))  # type: ignore[list-item]


LETTERS = st.text(st.sampled_from("aé \x1c\xa0\u2003\n"), max_size=6)


@given(st.lists(LETTERS, max_size=30))
def test_lines_of_either_kind_make_the_same_documents(texts: list[str]) -> None:
    lines = [f"{line}\n" for text in texts for line in text.split("\n")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capfst.io.documents, "LARGEST", 20)
        expected = [[line.decode() for line in document] for document in split(map(str.encode, lines))]
        assert list(split(lines)) == expected
        assert list(split(line[:-1] for line in lines)) == [[line[:-1] for line in document] for document in expected]


def jsonl(rows: list[tuple[int | None, str]]) -> bytes:
    return "".join(json.dumps({"text": text, "id": [number]}) + "\n" for number, text in rows).encode()


def delimited(delimiter: str) -> Callable[[list[tuple[int | None, str]]], bytes]:
    def write(rows: list[tuple[int | None, str]]) -> bytes:
        lines = (f"{number}{delimiter}{quote}{text}{quote}\n" for number, text in rows)
        return f"id{delimiter}text\n{''.join(lines)}".encode()

    quote = '"' if delimiter == "," else ""
    return write


def parquet(rows: list[tuple[int | None, str]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": [text for _, text in rows], "id": [number for number, _ in rows]}), sink)
    return sink.getvalue().to_pybytes()


FORMATS = {"a.jsonl": jsonl, "a.tsv": delimited("\t"), "a.csv": delimited(","), "a.parquet": parquet}


def texts(file: Path, data: bytes) -> list[str]:
    if file.suffix == ".jsonl":
        return [json.loads(line)["text"] for line in data.splitlines()]
    if file.suffix == ".parquet":
        return pq.read_table(pa.BufferReader(data))["text"].to_pylist()
    delimiter = "," if file.suffix == ".csv" else "\t"
    return [line.split(delimiter, 1)[1].strip('"') for line in data.decode().splitlines()[1:]]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("jobs", [1, 3])
def test_a_field_separates_documents(model: Path, recaser: Recaser, tmp_path: Path, name: str, jobs: int) -> None:
    rows = [(k, line.replace('"', "'")) for k, lines in enumerate(documents()[:6]) for line in lines]
    file = tmp_path / name
    file.write_bytes(FORMATS[name](rows))
    expected = [
        line for k in range(6) for line in recaser("\n".join(text for number, text in rows if number == k)).split("\n")
    ]
    recased, _ = batch(model, file, "--document-field", "id", jobs=jobs)
    assert texts(file, recased) == expected
    alone, _ = batch(model, file, "--document", jobs=jobs)
    assert texts(file, alone) == [recaser(text) for _, text in rows] != expected


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_long_document_is_split_at_the_same_lines_with_any_number_of_jobs(
    model: Path, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_bytes(FORMATS[name]([(1, text) for lines in documents() for text in lines]))
    outputs = [batch(model, file, "--document-field", "id", jobs=jobs)[0] for jobs in (1, 2, 3)]
    assert outputs[0] == outputs[1] == outputs[2]


def test_the_lines_of_a_record_are_a_document(model: Path, recaser: Recaser, tmp_path: Path) -> None:
    written = ["\n".join(lines) for lines in documents()]
    file = tmp_path / "a.jsonl"
    file.write_bytes(jsonl([(None, text) for text in written]))
    recased, printed = batch(model, file, "--document")
    assert texts(file, recased) == [recaser(text) for text in written]
    assert f"{sum(SIZES):,} lines" in printed
    by_null, _ = batch(model, file, "--document-field", "id", "--force")
    assert by_null != recased  # all records have the same id, [null]


def test_another_choice_of_documents_recases_a_file_again(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(jsonl([(1, "x")]))
    for options in (), ("--document",), ("--document-field", "id"):
        assert " 1 done, 0 done before" in batch(model, file, *options)[1]
    assert " 0 done, 1 done before" in batch(model, file, "--document-field", "id")[1]


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("a.txt", ["--document-field", "id"], r"a\.txt\b"),
        ("a.jsonl", ["--document-field", "no"], r"a\.jsonl[:,] line 1: .*'no'"),
        ("a.tsv", ["--document-field", "no"], r"a\.tsv\b.*'no'"),
        ("a.parquet", ["--document-field", "no"], r"a\.parquet\b.*'no'"),
    ],
)
def test_a_missing_field_is_an_error(model: Path, tmp_path: Path, name: str, options: list[str], named: str) -> None:
    (tmp_path / name).write_bytes(FORMATS.get(name, lambda rows: b"x\n")([(1, "x")]))
    assert re.search(f"capfst: error: .*{named}", batch(model, tmp_path / name, *options, code=1)[1])


@pytest.mark.parametrize("options", [["--no-context"], ["--source-field", "id"]])
def test_options_that_exclude_each_other_are_refused(model: Path, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl([(1, "x")]))
    error = batch(model, tmp_path / "a.jsonl", "--document", *options, code=2)[1].splitlines()[-1]
    assert "--document " in error
    assert options[0] in error
