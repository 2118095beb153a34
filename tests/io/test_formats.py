"""Formats: recasing changes only the case of the selected text; all other bytes, values and properties stay."""

import bz2
import csv
import gzip
import io
import json
import lzma
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.command_line import CORPUS
from support.models import in_one_folder
from support.packing import gzipped
from support.steps import n_calls

import capfst
from capfst.batch.tally import counting
from capfst.exceptions import CorpusError, OptionError
from capfst.io.codecs import zstd
from capfst.io.compression import COMPRESSIONS, compressing
from capfst.io.formats import can_recase, format_of
from capfst.io.json_records import escape
from capfst.io.protocol import BatchOptions, RecaseCounts, TextOptions
from capfst.pipeline import pieces
from capfst.recaser import Recaser
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD
from capfst.text.unicode import lower

WORDS = """
    new york NEW paris ibm o'neill o’neill iphone i̇stanbul \u212a xyzzy ﬁn u.s. don't évian éclair 𐐨 12 \U0001f600 \\ \"
"""
TEXTS = st.lists(st.sampled_from(WORDS.split()) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)).map(
    " ".join
)


@pytest.fixture(scope="module")
def recaser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "corpus").write_text(CORPUS * 3 + "The cafés of İstanbul and Évian met ÉCLAIR.\n" * 3, "utf-8")
    capfst.train(folder / "corpus", folder / "cap.fst", clean=False, context=False)
    return capfst.load(folder / "cap.fst")


def recased(path: Path, recaser: Recaser, **options) -> tuple[bytes, RecaseCounts]:
    file_format = format_of(path, BatchOptions(**options))
    shown: list[bytes] = []
    counts = RecaseCounts()
    with io.BytesIO() as out:
        with file_format.writing(out) as write:
            for piece in file_format.pieces(shown.append):
                done, more = file_format.recased(piece, counting(recaser))
                write(done)
                counts += more
        assert b"".join(shown) == path.read_bytes()
        return out.getvalue(), counts


# Selecting, keeping and replacing the text


LINES = [
    # name, options, given, expected
    ("a", {}, b"", b""),
    ("a.txt", {}, b"new york\n\nparis \r\n ibm", b"New York\n\nParis \r\n IBM"),
    ("a.en", {}, "\ufeffnew york\n".encode(), "\ufeffNew York\n".encode()),
    ("a.jsonl", {}, b'{"text": "in paris"}\n', b'{"text": "in Paris"}\n'),
    ("a.jsonl", {}, b' { "n":1.50 , "text":"ibm" }\r\n\n \n', b' { "n":1.50 , "text":"IBM" }\r\n\n \n'),
    ("a.jsonl", {}, b'{"text": null, "x": "ibm"}', b'{"text": null, "x": "ibm"}'),
    ("a.jsonl", {}, b'{"text": "paris", "text": "ibm"}', b'{"text": "paris", "text": "IBM"}'),
    ("a.jsonl", {}, rb'{"text": "\u006eew \u0079ork \u006eot"}', rb'{"text": "\u004eew \u0059ork \u006eot"}'),
    ("a.jsonl", {}, rb'{"text": "n\u0065w \u00E9vian \u00E9"}', rb'{"text": "N\u0065w \u00C9vian \u00E9"}'),
    ("a.jsonl", {}, b'{"te\\u0078t": "ibm"}', b'{"te\\u0078t": "IBM"}'),
    ("a.jsonl", {}, b'\xef\xbb\xbf{"text": ""}', b'\xef\xbb\xbf{"text": ""}'),
    ("a.ndjson", {"field": "x y"}, b'{"text": "ibm", "x y": "ibm"}', b'{"text": "ibm", "x y": "IBM"}'),
    ("a.jsonl", {}, rb'{"text": "new\nyork\/\"ibm\"\t\u00e9vian"}', rb'{"text": "New\nYork\/\"IBM\"\t\u00c9vian"}'),
    ("a.jsonl", {}, rb'{"text": "\ud83d\ude00 \ud800 ibm \\u"}', rb'{"text": "\ud83d\ude00 \ud800 IBM \\u"}'),
    ("a.jsonl", {}, b'{"a": {"text": "ibm"}, "text": "new york"}', b'{"a": {"text": "ibm"}, "text": "New York"}'),
    ("a.jsonl", {}, b'{"a": {"text": "ibm"}, "te\\u0078t": "ibm"}', b'{"a": {"text": "ibm"}, "te\\u0078t": "IBM"}'),
    ("a.jsonl", {}, b'{"a": {"text": "ibm"}, "text": null}', b'{"a": {"text": "ibm"}, "text": null}'),
    ("a.jsonl", {}, b'{"\\"text": "ibm", "text" :\t"ibm"}', b'{"\\"text": "ibm", "text" :\t"IBM"}'),
    ("a.tsv", {}, b"id\ttext\nparis\tparis\n\nibm\tibm\tibm", b"id\ttext\nparis\tParis\n\nibm\tIBM\tibm"),
    ("a.tsv", {"column": "1"}, b"ibm\tibm\r\nparis\r\n", b"IBM\tibm\r\nParis\r\n"),
    ("a.tsv", {"column": "2"}, b"ibm\tibm\r\nibm\t", b"ibm\tIBM\r\nibm\t"),
    ("a.tsv", {"column": "é"}, "\ufeffé\ta\r\nibm\tibm".encode(), "\ufeffé\ta\r\nIBM\tibm".encode()),
    ("a.csv", {}, b"id,text\nparis,paris\n\nibm,ibm,ibm", b"id,text\nparis,Paris\n\nibm,IBM,ibm"),
    (
        "a.csv",
        {},
        b'x,"text"\r\n"a,\nibm","new ""york"",\r\nibm"\r\n',
        b'x,"text"\r\n"a,\nibm","New ""York"",\r\nIBM"\r\n',
    ),
    ("a.csv", {}, b'"te\nxt",text\nibm,"ibm"\n', b'"te\nxt",text\nibm,"IBM"\n'),
    ("a.csv", {"column": "1"}, b'"ibm" x "ibm,ibm\nx "ibm,ibm', b'"IBM" x "IBM,ibm\nx "IBM,ibm'),
    ("a.csv", {"column": "1"}, b'ibm\ribm,ibm\r\n"",\n,""\nibm', b'IBM\rIBM,ibm\r\n"",\n,""\nIBM'),
    ("a.csv", {"column": "1"}, '"i̇stanbul """,ibm\n'.encode(), '"İstanbul """,ibm\n'.encode()),
    ("a.csv", {"column": "1"}, '"i̇stanbul" x,ibm\n'.encode(), '"İstanbul" x,ibm\n'.encode()),
    ("a.csv", {"column": "1"}, '"x ""i̇stanbul"" "i̇stanbul,ibm\n'.encode(), '"x ""İstanbul"" "İstanbul,ibm\n'.encode()),
    ("a.csv", {"column": "1"}, '"i̇stanbul"i̇stanbul,ibm\n'.encode(), '"i̇stanbul"i̇stanbul,ibm\n'.encode()),
    (
        "a.jsonl",
        {"field": ["b", "a"]},
        b'{"a": "ibm", "c": "ibm", "b": "new york"}',
        b'{"a": "IBM", "c": "ibm", "b": "New York"}',
    ),
    (
        "a.jsonl",
        {"field": ["b", "a", "b"]},
        b'{"a": null, "b": "ibm", "c": "ibm"}',
        b'{"a": null, "b": "IBM", "c": "ibm"}',
    ),
    ("a.jsonl", {"field": ["a", "x.a"]}, b'{"x": {"a": "ibm"}, "a": "ibm"}', b'{"x": {"a": "IBM"}, "a": "IBM"}'),
    (
        "a.jsonl",
        {"field": "a.b[].c"},
        b'{"a": {"b": [{"c": "ibm"}, {"d": "ibm"}, { "c" :"\\u0069bm"} ], "c": "ibm"}}',
        b'{"a": {"b": [{"c": "IBM"}, {"d": "ibm"}, { "c" :"\\u0049BM"} ], "c": "ibm"}}',
    ),
    (
        "a.jsonl",
        {"field": ["[].a", "[].b[]"]},
        b'[{"a": "ibm", "b": ["ibm", null]}, {"c": "ibm", "b": []}]\r\n',
        b'[{"a": "IBM", "b": ["IBM", null]}, {"c": "ibm", "b": []}]\r\n',
    ),
    (
        "a.jsonl",
        {"field": "a[][].b"},
        b'{"a": [[], [{"b": "ibm"}], null], "b": "ibm"}',
        b'{"a": [[], [{"b": "IBM"}], null], "b": "ibm"}',
    ),
    ("a.jsonl", {"field": "a.b"}, b'{"a": {"b": "ibm"}, "a": {"b": "ibm"}}', b'{"a": {"b": "ibm"}, "a": {"b": "IBM"}}'),
    (
        "a.jsonl",
        {"field": "a.b"},
        b'{"a": {"b": "ibm", "b": "ibm"}, "a.b": "ibm"}',
        b'{"a": {"b": "ibm", "b": "IBM"}, "a.b": "ibm"}',
    ),
    ("a.jsonl", {"field": r"a\.b"}, b'{"a": {"b": "ibm"}, "a.b": "ibm"}', b'{"a": {"b": "ibm"}, "a.b": "IBM"}'),
    ("a.jsonl", {"field": r"a\[]\\.[b"}, b'{"a[]\\\\": {"[b": "ibm"}}', b'{"a[]\\\\": {"[b": "IBM"}}'),
    ("a.jsonl", {"field": ""}, b'{"": "ibm"}', b'{"": "IBM"}'),
    ("a.jsonl", {"field": "."}, b'{"": {"": "ibm"}}', b'{"": {"": "IBM"}}'),
    ("a.tsv", {"column": ["3", "1", "3"]}, b"ibm\tibm\tibm\tibm\r\n\t\tparis", b"IBM\tibm\tIBM\tibm\r\n\t\tParis"),
    ("a.tsv", {"column": ["a", "c"]}, b"a\tb\tc\nibm\tibm\tibm", b"a\tb\tc\nIBM\tibm\tIBM"),
    ("a.tsv", {"delimiter": ";"}, b'a;text\n"ibm\tibm";ibm\tibm\n', b'a;text\n"ibm\tibm";IBM\tIBM\n'),
    ("a.csv", {"column": ["3", "1", "3"]}, b'ibm,ibm,"ibm\n,",ibm\r\n,,paris', b'IBM,ibm,"IBM\n,",ibm\r\n,,Paris'),
    ("a.csv", {"column": ["c", "b"]}, b'a,b,c\nibm,ibm,"ibm"', b'a,b,c\nibm,IBM,"IBM"'),
    ("a.csv", {"delimiter": ";"}, b'a;text\nibm,ibm;"ibm;ibm"\n', b'a;text\nibm,ibm;"IBM;IBM"\n'),
    ("a.csv", {"delimiter": "^", "column": "2"}, b'ibm^"ibm^"^ibm', b'ibm^"IBM^"^ibm'),
    ("a.csv", {"delimiter": "]", "column": "2"}, b"ibm]ibm]ibm\n", b"ibm]IBM]ibm\n"),
    ("a.csv", {"delimiter": "-", "column": "2"}, b"ibm-ibm-ibm\n", b"ibm-IBM-ibm\n"),
    ("a.csv", {"delimiter": "\\t", "column": "2"}, b'ibm\t"ibm\n"\n', b'ibm\t"IBM\n"\n'),
    ("a.csv", {"column": "é"}, '\ufeff"é",a\r\nibm,ibm'.encode(), '\ufeff"é",a\r\nIBM,ibm'.encode()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "given", "expected"), LINES)
def test_lines(tmp_path, recaser, name, options, given, expected):
    (tmp_path / name).write_bytes(given)
    assert recased(tmp_path / name, recaser, **options)[0] == expected


@pytest.mark.parametrize(
    ("old", "recased", "expected"),
    [
        (r"caf\u00E9 \/ ibm\n", "CAFÉ / IBM\n", r"CAF\u00C9 \/ IBM\n"),
        (r"caf\u00E9 \/ ibm\nnew \u0079ork", "Café, / IBM.\nNew York?", r"Caf\u00E9, \/ IBM.\nNew \u0059ork?"),
        (r"paris, \u0022 i\u0307zmir\/", 'Paris " İzmir/', r"Paris \u0022 \u0130zmir\/"),
        (r"çà \\ caf\u00e9", "Çà. \\ Café.", r"Çà. \\ Caf\u00e9."),
        (r"\ud83d\uDE00 ibm", "\U0001f600 IBM.", r"\ud83d\uDE00 IBM."),
        (r"a\tcafe \u0131", "a\tcafé, ı", r"a\tcaf\u00e9, \u0131"),
        (r"a\/b", 'other "words"', r"other \"words\""),
    ],
)
def test_escapes_stay_where_the_text_gets_longer(old, recased, expected):
    assert escape(old, recased) == expected


def test_an_escaped_character_may_become_two(tmp_path, recaser):
    given = b'{"text": "\\n i\\u0307stanbul", "x": "\\n"}'
    (tmp_path / "a.jsonl").write_bytes(given)
    done = recased(tmp_path / "a.jsonl", recaser)[0]
    assert json.loads(done) == {"text": "\n İstanbul", "x": "\n"}
    assert done.endswith(b'", "x": "\\n"}')


@in_one_folder
@given(st.lists(TEXTS), st.booleans(), st.sampled_from(["", " ", "\r"]))
def test_any_text_in_json_lines(tmp_path_factory, recaser, texts, ascii_only, space):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    records = [{"id": text, "text": text} for text in texts]
    path.write_text(
        "".join(json.dumps(r, ensure_ascii=ascii_only) + space + "\n" for r in records), "utf-8", newline=""
    )
    done, counts = recased(path, recaser)
    assert counts.records == len(texts)
    lines = done.decode().split("\n")[:-1]
    assert [json.loads(line) for line in lines] == [{"id": t, "text": recaser(t)} for t in texts]
    for old, new in zip(path.read_bytes().decode().split("\n"), lines, strict=False):
        text = json.loads(old)["id"]
        before = json.dumps({"id": text}, ensure_ascii=ascii_only)[:-1] + ', "text": "'
        assert old.startswith(before)
        assert new.startswith(before)
        assert new.endswith('"}' + space)


@in_one_folder
@given(st.lists(TEXTS.map(lambda text: text.translate({9: 32, 10: 32, 13: 32}))))
@example(texts=["\\ \0"])  # could be a character of UTF-16
@example(texts=["{"])  # no JSON yet
def test_any_text_in_tsv_and_text(tmp_path_factory, recaser, texts):
    folder = tmp_path_factory.getbasetemp()
    (folder / "any.tsv").write_text("".join(f"ibm\t{t}\tparis\n" for t in texts), "utf-8", newline="")
    expected = "".join(f"ibm\t{recaser(t)}\tparis\n" for t in texts)
    done, counts = recased(folder / "any.tsv", recaser, column="2")
    assert done.decode() == expected
    assert counts.records == len(texts)
    (folder / "any").write_text("\n".join(texts), "utf-8", newline="")
    assert recased(folder / "any", recaser)[0].decode() == recaser("\n".join(texts))


CSV = st.text(st.sampled_from('",\r\n abİKé')) | st.lists(
    st.sampled_from(["ibm", "new york", '"', '""', ",", "\n", "\r\n", "\r", '"in paris, ""new york"""', "İ", "i̇"])
).map("".join)


def raw_records(text: str) -> list[tuple[list[str], str]]:
    """Return for each record its fields, with quotes, and its line end. A state machine, as in CPython's _csv.c."""
    records: list[tuple[list[str], str]] = []
    fields, field, state = [], "", "start"
    ends = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    for character in (c for line in ends for c in re.findall(r"\r\n|.|\n", line)):
        if state != "quoted" and character in ("\r\n", "\r", "\n"):
            records.append(([*fields, field], character))
            fields, field, state = [], "", "start"
        elif state != "quoted" and character == ",":
            fields, field, state = [*fields, field], "", "start"
        else:
            field += character
            if character == '"':
                state = {"start": "quoted", "quoted": "closed", "closed": "quoted", "plain": "plain"}[state]
            elif state != "quoted":
                state = "plain"
    return [*records, ([*fields, field], "unclosed" if state == "quoted" else "")] if fields or field else records


@in_one_folder
@given(CSV, st.integers(1, 3), st.sampled_from([1, 1 << 20]))
def test_csv_is_read_as_python_reads_it(tmp_path_factory, recaser, text, column, block):
    """Python reads the same fields before and after, except in the column, and all other bytes stay."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capfst.io.text_file.BLOCK", block)
        done, counts = recased(path, recaser, column=str(column), on_error="pass")
    before, after = (list(csv.reader(io.StringIO(t, newline=""))) for t in (text, done.decode()))
    raw_before, raw_after = raw_records(text), raw_records(done.decode())
    assert counts.records == len(before) == len(raw_before) == len(after) == len(raw_after)
    for old, new, (raw_old, old_end), (raw_new, new_end) in zip(before, after, raw_before, raw_after, strict=True):
        passes = old_end == "unclosed"
        assert new == [recaser(f) if k == column - 1 and not passes else f for k, f in enumerate(old)]
        assert new_end == old_end
        for k, (raw_field, recased_field) in enumerate(zip(raw_old, raw_new, strict=True)):
            if k != column - 1 or passes:
                assert recased_field == raw_field
            assert lower(recased_field) == lower(raw_field)


@in_one_folder
@given(
    st.lists(TEXTS.map(lambda text: text.replace("\r", " ").replace("\0", " "))),  # Python 3.10 cannot write \0
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_in_csv(tmp_path_factory, recaser, texts, quoting, end):
    """The output is what Python writes for the recased texts."""

    def written(texts: list[str]) -> str:
        out = io.StringIO(newline="")
        writer = csv.writer(out, quoting=quoting, lineterminator=end)
        writer.writerows([["id", "text"], *(["ibm,\n", text] for text in texts)])
        return out.getvalue()

    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(written(texts).encode())
    done, counts = recased(path, recaser)
    assert done.decode() == written(list(map(recaser, texts)))
    assert counts.records == len(texts) + 1


def test_a_csv_record_that_never_ends(tmp_path, recaser, monkeypatch):
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 10)
    monkeypatch.setattr("capfst.io.tables.Csv.most", 1000)
    path = tmp_path / "a.csv"
    path.write_bytes(b'text\nibm\n"ibm\n' + b"ibm\n" * 999)
    with pytest.raises(CorpusError, match=r"a\.csv, line 3: a record has more than"):
        recased(path, recaser, on_error="pass")


# Malformed records


BAD_LINES = [
    # name, options, a bad line, the problem
    ("a", {}, b"new \xffyork", "not UTF-8, 0xff after 'new '"),
    ("a.jsonl", {}, b'{"text": "ibm"', "Expecting ',' delimiter"),
    ("a.jsonl", {}, b'{"text": }', "a value is missing"),
    ("a.jsonl", {}, b'{"text": "ibm"} x', "all of the line"),
    ("a.jsonl", {}, b'{"text": "i\tbm"}', "control character"),
    ("a.jsonl", {}, b'{"text": "\\x"}', "escape"),
    ("a.jsonl", {}, b'{"text": "a", }', "double quotes|trailing comma"),
    ("a.jsonl", {}, b'{"text" "a"}', "Expecting ':' delimiter"),
    ("a.jsonl", {}, b'["text"]', "no field 'text', but an array"),
    ("a.jsonl", {}, b'{"text": 12}', "'text' is not a string"),
    ("a.jsonl", {}, b'{"text": ["a"]}', "'text' is not a string"),
    ("a.jsonl", {}, b'{"Text": "a"}', "no field 'text'"),
    ("a.jsonl", {}, b'{"a": {"text": "a"}}', "no field 'text'"),
    ("a.jsonl", {}, b'[{"text": "a"}]', r"no field 'text', but an array .*\[\]\.text"),
    ("a.jsonl", {}, b'{"a": "\xff", "text": "a"}', "not UTF-8"),
    ("a.jsonl", {"field": ["text", "b"]}, b'{"text": "a", "a": {"b": "c"}}', r"no field 'b'.*: text, a\.b"),
    ("a.jsonl", {"field": "text.b"}, b'{"text": [{"b": "a"}]}', r"no field 'text.b', but an array where an object"),
    ("a.jsonl", {"field": "text[]"}, b'{"text": ["a", 1]}', r"'text\[\]' is not a string, but a number"),
    ("a.jsonl", {"field": "text[]"}, b'{"text": ["a" "b"]}', "Expecting ',' delimiter"),
    (
        "a.jsonl",
        {"field": "text[].b"},
        b'{"text": [{"b": "c"}, {"b": []}]}',
        r"'text\[\]\.b' is not a string, but an array",
    ),
    ("a.jsonl", {"field": "text[].b"}, b'{"text": [{"c": "b"}]}', r"no field 'text\[\]\.b'.*: text\[\]\.c"),
    ("a.jsonl", {}, b'{"text": ' + b"[" * 100_000, "nested too deeply"),
    ("a.tsv", {"column": "2"}, b"ibm", "no column 2: the line has 1"),
    ("a.tsv", {"column": "3"}, b"ibm\tibm", "no column 3: the line has 2"),
    ("a.csv", {"column": "2"}, b'"ibm,ibm"', "no column 2: the line has 1"),
    ("a.csv", {"column": "2"}, b'"ibm,\xff",ibm', "not UTF-8"),
]
GOODS = {
    "text.b": b'{"text": {"b": "ibm"}}',
    "text[]": b'{"text": ["ibm"]}',
    "text[].b": b'{"text": [{"b": "ibm"}, {"c": 1}]}',
}
GOOD = {"a": b"ibm", "a.jsonl": b'{"text": "ibm"}', "a.tsv": b"x\tibm\tibm", "a.csv": b'"x,",ibm,ibm'}


@pytest.mark.parametrize(("name", "options", "bad", "problem"), BAD_LINES)
def test_malformed_lines(tmp_path, recaser, name, options, bad, problem):
    good = b'{"text": "ibm", "b": null}' if name.endswith("jsonl") else GOOD[name]
    path, good = tmp_path / name, GOODS.get(str(options.get("field")), good)
    fine = recased_bytes(path, good, recaser, **options)
    path.write_bytes(b"\n".join([good, bad, good, bad]))
    with pytest.raises(CorpusError, match=rf"line 2: .*({problem}).*--on-error"):
        recased(path, recaser, **options)
    done, counts = recased(path, recaser, on_error="pass", **options)
    assert done == b"\n".join([fine, bad, fine, bad])
    assert (counts.records, counts.malformed) == (4, 2)
    done, counts = recased(path, recaser, on_error="drop", **options)
    assert done == fine + b"\n" + fine + b"\n"
    assert (counts.records, counts.malformed, counts.lines) == (4, 2, 2)


def test_a_csv_quote_that_is_not_closed(tmp_path, recaser):
    path, good = tmp_path / "a.csv", b'"x\n",ibm\n'
    path.write_bytes(good * 2 + b'ibm,"ibm\nibm,ibm\n')
    for column in "1", "2":
        with pytest.raises(CorpusError, match=r"line 5: a quote is not closed, or .*--on-error"):
            recased(path, recaser, column=column)
    passed = recased(path, recaser, column="2", on_error="pass")[0]
    assert passed == b'"x\n",IBM\n' * 2 + b'ibm,"ibm\nibm,ibm\n'
    with pytest.raises(CorpusError, match=r"line 5: a quote is not closed before the file's end"):
        recased(path, recaser, column="2", on_error="drop")
    path.write_bytes(good * 2 + b'ibm,"ibm\n')  # no record after it would be lost
    assert recased(path, recaser, column="2", on_error="drop")[0] == b'"x\n",IBM\n' * 2


INSERTED = [
    (b"new york and paris", b'"new york, and paris"'),
    (b'a 5" disk and paris', b'"a 5"" disk, and paris"'),
    (b'"new ""york"" and paris"', b'"new ""york"", and paris"'),
    (b'"new york and ibm" x', b'"new york, and ibm" x'),
    (b'"new york" x and ibm', b'"new york x, and ibm"'),
]


@pytest.mark.parametrize(("text", "expected"), INSERTED)
def test_a_text_into_which_a_delimiter_is_inserted_is_quoted(tmp_path, text, expected):
    """In CSV. A file without quotes fails."""

    def recase(text, *others, head=None):
        return memoryview(text.replace(b" and", b", and")), RecaseCounts()

    def recased_pieces(name):
        (tmp_path / name).write_bytes(b"text,n\n" + text + b",1\n")
        format = format_of(tmp_path / name, BatchOptions(delimiter=","))
        return b"".join(format.recased(piece, recase)[0] for piece in format.pieces(lambda data: None))

    assert recased_pieces("a.csv") == b"text,n\n" + expected + b",1\n"
    with pytest.raises(CorpusError, match=r"a\.tsv: .*','.*\.csv"):
        recased_pieces("a.tsv")


def test_a_csv_record_with_too_many_columns(tmp_path, recaser):
    """The regular expression for a record would take memory for each column."""
    (tmp_path / "a.csv").write_bytes(b"ibm\n" + b"," * 70_000)
    with pytest.raises(CorpusError, match=r"line 2: .* more than 65,536 columns"):
        recased(tmp_path / "a.csv", recaser, column="1")


def recased_bytes(path: Path, content: bytes, recaser: Recaser, **options) -> bytes:
    path.write_bytes(content)
    done = recased(path, recaser, **options)[0]
    assert done != content
    return done


@pytest.mark.parametrize(("name", "line"), [("a.tsv", b"ibm\tibm"), ("a.csv", b"ibm,ibm")])
def test_several_columns(tmp_path, recaser, name, line):
    (tmp_path / name).write_bytes(line)
    with pytest.raises(CorpusError, match="line 1: no column 3: the line has 2"):
        recased(tmp_path / name, recaser, column=["1", "4", "3"])
    with pytest.raises(CorpusError, match=r"by name or by number, not ibm, 2\."):
        recased(tmp_path / name, recaser, column=["ibm", "2"])
    with pytest.raises(OptionError, match="one `field` or `column`"):
        recased(tmp_path / name, recaser, column=["1", "2"], source="2")


def test_several_texts_of_a_record_are_one_document(tmp_path, contextual_model):
    """A name that is certain in one column is evidence in the other, in each format; nulls separate nothing."""
    recaser = capfst.load(contextual_model, document=True)
    rows = [("new york", "ibm in paris"), (None, "paris"), ("ibm", None), (None, None), ("x", "new york\nibm")]
    together = [recaser("\n".join(text for text in row if text is not None)).split("\n") for row in rows]
    expected = [[None if text is None else "\n".join(parts.pop(0) for _ in text.split("\n")) for text in row]
                for row, parts in zip(rows, together, strict=True)]  # fmt: skip
    options = {"field": ["b", "a"], "column": ["b", "a"], "document": ""}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"a": a, "i": 1, "b": b}) + "\n" for a, b in rows))
    done, counts = recased(tmp_path / "a.jsonl", recaser, **options)
    assert [[row["a"], row["b"]] for row in map(json.loads, done.splitlines())] == expected
    columns = {"a": [a for a, _ in rows], "i": [1] * len(rows), "b": pa.array([b for _, b in rows], pa.large_string())}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    done, same = recased(tmp_path / "a.parquet", recaser, **options)
    table = pq.read_table(io.BytesIO(done))
    assert table.schema.equals(pq.read_schema(tmp_path / "a.parquet"))
    assert [list(row) for row in zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)] == expected
    assert same == counts


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
@pytest.mark.parametrize("column", ["0", "99999999999"])
def test_columns_are_numbered_from_1(tmp_path, recaser, name, column):
    (tmp_path / name).write_bytes(b"ibm\n")
    with pytest.raises(CorpusError, match=f"no column {column}"):
        recased(tmp_path / name, recaser, column=column)


def test_the_line_of_an_error_is_counted_over_blocks(tmp_path, recaser, monkeypatch):
    monkeypatch.setattr("capfst.io.plain_text.BLOCK", 10)
    (tmp_path / "a").write_bytes(b"paris\n" * 99 + b"\xff\n")
    with pytest.raises(CorpusError, match="line 100: "):
        recased(tmp_path / "a", recaser)


LONG = "new york met\tparis ibm o'neill xyzzy " * 40


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.txt", LONG),
        ("a.tsv", "1\t" + LONG.replace("\t", " ") + "\tnew york"),
        ("a.jsonl", json.dumps({"i": "new york", "text": LONG + "\n" + LONG + 'é"', "j": "paris"})),
        ("a.jsonl", json.dumps({"text": "ibm", "i": "ibm", "j": [LONG, "paris", LONG]})),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_long_texts_are_recased_in_pieces(tmp_path, recaser, monkeypatch, name, line, end):
    options = {"column": "2"} if name == "a.tsv" else {"field": ["text", "j[]"]} if "[" in line else {}
    path = tmp_path / name
    text = f"{line}\n\n{line}{end}".encode() if name != "a.tsv" else f"{line}\n{line}{end}".encode()
    path.write_bytes(text)
    whole = recased(path, recaser, **options)
    sizes: list[int] = []
    words_of = recaser.pipeline.loaded.transducer.words
    monkeypatch.setattr(
        recaser.pipeline.loaded.transducer, "words", lambda buf: sizes.append(buf.size) or words_of(buf)
    )
    monkeypatch.setattr("capfst.io.lines.LineFormat.longest", 50)
    monkeypatch.setattr("capfst.pipeline.PIECE", 100)
    monkeypatch.setattr("capfst.pipeline._LONGEST_PIECE", 100)
    assert recased(path, recaser, **options) == whole
    assert whole[0] != text
    assert max(sizes) < 200


def test_a_long_csv_text_is_not_cut(tmp_path, recaser, monkeypatch):
    """Its commas are inside its quotes."""
    monkeypatch.setattr("capfst.io.lines.LineFormat.longest", 50)
    (tmp_path / "a.csv").write_bytes(b'text\n"' + b'new york, ""ibm"" ' * 40 + b'"\n')
    assert recased(tmp_path / "a.csv", recaser)[0] == b'text\n"' + b'New York, ""IBM"" ' * 40 + b'"\n'


@given(text=st.text("ab é\t\n"), size=st.integers(1, 9), longest=st.integers(9, 12))
def test_pieces(text, size, longest):
    """Joined, they are the text. A piece that contains a line end ends with one; a line longer than `size` is whole up
    to `longest`, and cut after the first blank or line end from there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capfst.pipeline.PIECE", size)
        patch.setattr("capfst.pipeline._LONGEST_PIECE", longest)
        found = [piece.tobytes() for piece in pieces(text.encode())]
    assert b"".join(found) == text.encode()
    for piece in found[:-1]:
        assert piece.endswith((b" ", b"\t", b"\n"))
        if b"\n" in piece[:longest]:
            assert piece.endswith(b"\n")
            assert len(piece) <= size or b"\n" not in piece[:-1]
        else:
            assert not re.search(rb"[ \t\n]", piece[longest:-1])
        assert piece


def test_bytes_that_are_not_utf8_may_be_replaced(tmp_path, recaser):
    for name, content in [
        ("a", b"ibm\xff"),
        ("a.jsonl", b'{"text": "ibm\xff"}'),
        ("a.tsv", b"ibm\xff"),
        ("a.csv", b'"ibm\xff"'),
    ]:
        (tmp_path / name).write_bytes(content)
        done, counts = recased(tmp_path / name, recaser, column="1", errors="replace", on_error="drop")
        assert done.decode() == content.replace(b"ibm", b"IBM").decode(errors="replace")
        assert counts.malformed == 0


# Files that cannot be read


WHOLE = b"paris ibm\n" * 9999
BAD_FILES = [
    ("a.gz", gzipped(WHOLE)[:-4], "ends early"),
    ("a.zst", zstd.compress(WHOLE)[:-4], "ends early"),
    ("a.gz", gzipped(WHOLE)[:-8] + bytes(8), "damaged"),
    ("a", "ibm".encode("utf-16"), "UTF-16"),
    ("a.xlsx", b"ibm", r"cannot read \.xlsx"),
    ("a.csv", b"id;text\n", r"no column is called 'text'.*`delimiter=';'` \(batch, train\)"),
    ("a.tsv", b"id,text\n", r"no column is called 'text'.*`delimiter=','` \(batch, train\)"),
    ("a.csv", b"id\ttext\n", r"no column is called 'text'.*`delimiter='\\t'` \(batch, train\)"),
    ("a.tsv", b"id text\n", r"no column is called 'text'.*Choose one of id text, or use a number from 1\.$"),
    ("a.xlsx.gz", b"ibm", r"cannot read \.xlsx"),
    ("a.tsv", b"a\tb\n", r"no column is called 'text'.* a, b, or"),
    ("a.tsv", b"text\ttext\n", "2 columns are called 'text'"),
    ("a.csv", b'a,"b,""c"\n', r"no column is called 'text'.* a, b,\"c, or"),
    ("a.csv", b'"a\n', "line 1: a quote is not closed"),
    ("a.parquet", b"PAR1", "Parquet"),
    ("a", b"{\\rtf1\\ansi in new york}", "RTF. Save it as text"),
    ("a", b"%PDF-1.4\nin new york\n", "PDF. .*pdftotext"),
    ("a", b"a.txt".ljust(257, b"\0") + b"ustar\0in new york\n", "tar archive. .*tar -xf"),
    ("a", b"\xd0\xcf\x11\xe0", "office document"),
    ("a", b"\x04\x22\x4d\x18", "lz4 -dc"),
]


@pytest.mark.parametrize(("name", "content", "problem"), BAD_FILES)
def test_files_that_cannot_be_read(tmp_path, recaser, name, content, problem):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=rf"{name}[:,] .*{problem}"):
        recased(tmp_path / name, recaser, on_error="drop")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ["a", "a.en.gz", "a.jsonl.zst", "A.PARQUET", "a.tsv", "a.csv.gz", "a.ndjson"]),
        *((name, False) for name in ["a.xlsx", "a.json.gz", "a.pdf", "a.fst", "a.rttm"]),
    ],
)
def test_files_of_a_folder_that_are_recased(name, expected):
    assert can_recase(Path(name), TextOptions()) == expected


# Compression


@pytest.mark.parametrize("compress", [gzipped, zstd.compress, bz2.compress, lzma.compress, bytes])
def test_compression_is_kept_and_always_the_same(tmp_path, recaser, compress):
    path = tmp_path / "a.txt"  # the first bytes decide, not the name
    path.write_bytes(compress(WHOLE))
    done = recased(path, recaser)[0]
    assert done == recased(path, recaser)[0]
    assert done[:3].lower() == compress(WHOLE)[:3].lower()
    (tmp_path / "out").write_bytes(done)
    assert recased(tmp_path / "out", recaser)[1].changed == 0


def test_a_compressed_file_is_one_unit():
    text = np.random.default_rng(1).integers(97, 107, 1 << 22, np.uint8).tobytes()
    for compression in COMPRESSIONS[:2]:
        for size in 1 << 18, 1 << 22:
            out = io.BytesIO()
            with compressing(compression, out) as write:
                for start in range(0, len(text), size):
                    write(text[start : start + size])
            if compression.program == "zstd":  # zstd.decompress reads one frame
                assert zstd.decompress(out.getvalue()) == text
            else:
                assert out.getvalue()[4:8] == bytes(4)  # the header has no time
                assert gzip.decompress(out.getvalue()) == text


# Parquet


@pytest.fixture
def table():
    texts = ["new york", None, "", "paris\nibm", "i̇stanbul"] * 40
    return pa.table(
        {
            "id": pa.array(range(200), pa.int16()),
            "text": pa.array(texts),
            "large": pa.array(texts, pa.large_string()),
            "dictionary": pa.array(texts).dictionary_encode(),
            "nested": [[{"text": "ibm"}]] * 200,
            "when": pa.array([1] * 200, pa.timestamp("ns")),
        }
    ).replace_schema_metadata({"made": "by hand"})


@pytest.mark.parametrize("column", ["text", "2", "large", "dictionary", ["dictionary", "large", "2"]])
@pytest.mark.parametrize(
    "layout",
    [
        {"compression": "zstd", "row_group_size": 64, "write_page_index": True},
        {"compression": {"id": "gzip", "text": "none"}, "use_dictionary": ["text"], "write_statistics": False},
        {"version": "1.0", "use_deprecated_int96_timestamps": True, "store_schema": False},
    ],
)
def test_parquet(tmp_path, recaser, table, column, layout, monkeypatch):
    monkeypatch.setattr("capfst.io.parquet.BLOCK", 500)
    path, out = tmp_path / "a.parquet", tmp_path / "out"
    pq.write_table(table, path, **layout)
    done, counts = recased(path, recaser, column=column)
    out.write_bytes(done)
    before, after = pq.ParquetFile(path), pq.ParquetFile(out)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.schema.equals(before.schema)
    expected = before.read().to_pydict()
    columns = [column] if isinstance(column, str) else column
    for name in columns:
        name = before.schema_arrow.names[1] if name == "2" else name
        expected[name] = [None if text is None else recaser(text) for text in expected[name]]
    assert after.read().to_pydict() == expected
    assert (counts.records, counts.lines, counts.malformed) == (200, 200 * len(columns), 0)
    assert after.num_row_groups == before.num_row_groups
    for group in range(before.num_row_groups):
        old, new = before.metadata.row_group(group), after.metadata.row_group(group)
        assert new.num_rows == old.num_rows
        for i in range(old.num_columns):
            for key in "compression", "has_dictionary_page", "is_stats_set", "has_column_index", "physical_type":
                assert getattr(new.column(i), key) == getattr(old.column(i), key)


def test_a_parquet_column_without_any_text_has_the_type_null(tmp_path, recaser):
    """As Pandas writes a part of a table in which all texts are missing."""
    table = pa.table({"text": pa.nulls(3), "b": ["new york", None, "ibm"]})
    pq.write_table(table, tmp_path / "a.parquet")
    for columns, b in (["text"], table["b"].to_pylist()), (["text", "b"], ["New York", None, "IBM"]):
        done, counts = recased(tmp_path / "a.parquet", recaser, column=columns)
        assert pq.read_table(io.BytesIO(done)).equals(table.set_column(1, "b", [b]))
        assert (counts.records, counts.malformed) == (3, 0)


def test_parquet_with_views_of_strings(tmp_path, recaser):
    pytest.importorskip("pyarrow", "20")  # which writes them
    table = pa.table({"text": pa.array(["new york", None, "a b c d e f g paris"], pa.string_view())})
    pq.write_table(table, tmp_path / "a.parquet")
    done = pq.read_table(io.BytesIO(recased(tmp_path / "a.parquet", recaser)[0]))
    assert done.schema.equals(table.schema)
    assert done["text"].to_pylist() == ["New York", None, "a b c d e f g Paris"]


@pytest.mark.parametrize("document", [None, "", "id"])
def test_recasing_parquet_takes_no_step_of_python_per_row(tmp_path, document):
    def recase(text, *others, head=None):
        return memoryview(text.upper()), RecaseCounts()

    calls = []
    for n in 300, 3000:
        texts = pa.array(["new york", None, "paris\n\nibm"] * (n // 3))
        pq.write_table(pa.table({"id": range(n), "text": texts, "b": texts}), tmp_path / "a.parquet")
        file_format = format_of(tmp_path / "a.parquet", BatchOptions(column=("b", "text"), document=document))
        piece = next(file_format.pieces(lambda data: None))
        done, _ = file_format.recased(piece, recase)
        assert [column.to_pylist() for column in done.columns] == [["NEW YORK", None, "PARIS\n\nIBM"] * (n // 3)] * 2
        calls.append(n_calls(lambda: file_format.recased(piece, recase)))  # noqa: B023
    assert calls[1] - calls[0] < 300


def test_parquet_with_values_that_are_not_utf8(tmp_path, recaser):
    path, out = tmp_path / "a.parquet", tmp_path / "out"
    texts = pa.array([b"ibm", b"\xff ibm", None, b"paris"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": range(4), "text": texts}), path)
    with pytest.raises(CorpusError, match=r"row 2: not UTF-8 at byte 0.*--on-error.*`errors='replace'`"):
        recased(path, recaser)
    for options, ids, values, malformed in [
        ({"on_error": "pass"}, [0, 1, 2, 3], [b"IBM", b"\xff ibm", None, b"Paris"], 1),
        ({"on_error": "drop"}, [0, 2, 3], [b"IBM", None, b"Paris"], 1),
        ({"errors": "replace"}, [0, 1, 2, 3], [b"IBM", "\ufffd IBM".encode(), None, b"Paris"], 0),
    ]:
        done, counts = recased(path, recaser, **options)
        out.write_bytes(done)
        table = pq.read_table(out)
        assert table["id"].to_pylist() == ids
        assert table["text"].combine_chunks().view(pa.binary()).to_pylist() == values
        assert counts.malformed == malformed
        pq.write_table(pa.table({"id": range(4), "text": texts, "b": ["ibm"] * 4}), path)
        out.write_bytes(recased(path, recaser, column=["b", "text"], **options)[0])
        table = pq.read_table(out)
        assert table["text"].combine_chunks().view(pa.binary()).to_pylist() == values
        assert table["b"].to_pylist() == ["ibm" if value == b"\xff ibm" else "IBM" for value in values]
        pq.write_table(pa.table({"id": range(4), "text": texts}), path)


def test_parquet_without_rows(tmp_path, recaser, table):
    pq.write_table(table.slice(0, 0), tmp_path / "a.parquet")
    (tmp_path / "out").write_bytes(recased(tmp_path / "a.parquet", recaser)[0])
    assert pq.read_table(tmp_path / "out").equals(table.slice(0, 0))


@pytest.mark.parametrize(
    ("column", "problem"),
    [("id", "'id' has the type int16"), ("x", "no column is called 'x'"), ("nested", "'nested' has the type list")],
)
def test_parquet_without_such_a_column(tmp_path, recaser, table, column, problem):
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=problem):
        recased(tmp_path / "a.parquet", recaser, column=column)


# RecaseCounts


@pytest.fixture(scope="module")
def contextual(contextual_model):
    return capfst.load(contextual_model)


@given(text=st.lists(TEXTS).map("\n".join), weighs=st.booleans())
def test_counts(recaser, contextual, text, weighs):
    """Counts are those of a reference implementation in Python, line by line."""
    recaser = contextual if weighs else recaser
    expected = RecaseCounts()
    lines = text.encode().split(b"\n")
    for line in lines if lines[-1] else lines[:-1]:
        buf = np.frombuffer(line, np.uint8)
        words, out = recaser.pipeline.recase(buf)
        again = recaser.pipeline.loaded.transducer.words(np.frombuffer(out, np.uint8))
        old = [line[s:e] for s, e in zip(words.starts, words.ends, strict=True)]
        new = [bytes(out)[s:e] for s, e in zip(again.starts, again.ends, strict=True)]
        assert NEWLINE not in words.token_types
        expected += RecaseCounts(
            lines=1,
            tokens=len(old),
            changed=sum(a != b for a, b in zip(old, new, strict=True)),
            oov=sum(f == 0 and k in (WORD, COMPOUND) for f, k in zip(words.n_forms, words.token_types, strict=True)),
        )
    assert counting(recaser)(text.encode())[1] == expected


def test_counts_of_words_whose_length_changes(recaser):
    recased_text, counts = counting(recaser)("new i̇stanbul xyzzy, paris\nNew\n".encode())
    assert bytes(recased_text).decode() == "New İstanbul xyzzy, Paris\nNew\n"
    assert counts == RecaseCounts(lines=2, tokens=6, changed=3, oov=1)


@pytest.mark.parametrize(
    ("name", "text"), [("a.html", "<p>paris</p><p>ibm</p>\n"), ("a.jsonl", '{"text": "<p>paris</p><p>ibm</p>"}\n')]
)
def test_lines_that_tags_separate_are_not_counted(recaser, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    out, counts = recased(tmp_path / name, recaser, markup="html")
    assert out == text.replace("paris", "Paris").replace("ibm", "IBM").encode()
    assert counts == RecaseCounts(records=1, lines=1, tokens=2, changed=2)


@pytest.mark.parametrize(("name", "part"), [("a.csv", "column"), ("a.tsv", "column"), ("a.jsonl", "field")])
def test_an_empty_file_has_no_text_to_select(tmp_path, name, part):
    (tmp_path / name).touch()
    with pytest.raises(OptionError, match=f"{name}: .*`{part}`.* {part}s: none"):
        format_of(tmp_path / name, TextOptions())


@pytest.mark.parametrize("head", ["\ufeffa\n".encode("utf-16-le"), b"PK\x03\x04", b"\x1f\x8b\x08"])
def test_files_that_are_not_text_are_refused_before_they_are_split(tmp_path, head):
    (tmp_path / "a.txt").write_bytes(head)
    with pytest.raises(CorpusError, match=r"a\.txt: "):
        list(format_of(tmp_path / "a.txt", BatchOptions(on_error="pass")).pieces(lambda data: None))


def test_lack_of_memory_is_not_reported_as_damage(tmp_path):
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(MemoryError), format_of(tmp_path / "a.parquet", BatchOptions())._failures():
        raise pa.ArrowMemoryError("no memory")
