"""JSON files: arrays, single objects and successions of values; all bytes except those of the texts stay."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import CORPUS
from support.models import in_one_folder

import capfst
from capfst.batch.tally import counting
from capfst.exceptions import CorpusError, OptionError
from capfst.io.formats import can_recase, can_train, format_of
from capfst.io.json_paths import as_path, steps
from capfst.io.protocol import BatchOptions, RecaseCounts, TextOptions
from capfst.io.text_blocks import text_blocks


@pytest.fixture(scope="module")
def recaser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "corpus").write_text(CORPUS * 3, "utf-8")
    capfst.train(folder / "corpus", folder / "cap.fst", clean=False, context=False)
    return capfst.load(folder / "cap.fst")


def recased(path: Path, recaser, **options) -> tuple[bytes, RecaseCounts]:
    file_format = format_of(path, BatchOptions(**options))
    counts = RecaseCounts()
    with io.BytesIO() as out:
        with file_format.writing(out) as write:
            for piece in file_format.pieces(lambda data: None):
                done, more = file_format.recased(piece, counting(recaser))
                write(done)
                counts += more
        return out.getvalue(), counts


FILES = [
    # options, given, expected
    ({}, b"", b""),
    ({}, b"[]", b"[]"),
    ({}, b"\xef\xbb\xbf [ ]\n", b"\xef\xbb\xbf [ ]\n"),
    ({}, b'[{"text": "ibm"}]', b'[{"text": "IBM"}]'),
    ({}, b'\xef\xbb\xbf[{"text":"ibm"},{"text":"ibm"}]\n', b'\xef\xbb\xbf[{"text":"IBM"},{"text":"IBM"}]\n'),
    (
        {},
        b'[\n  {\n    "id": 1.50,\n    "text" :\n "in paris\\nibm",\n "x": "ibm"\n  } ,\r\n  {"text": null}\n]\n\n',
        b'[\n  {\n    "id": 1.50,\n    "text" :\n "in Paris\\nIBM",\n "x": "ibm"\n  } ,\r\n  {"text": null}\n]\n\n',
    ),
    ({}, b'{"text": "ibm", "x": "ibm"}', b'{"text": "IBM", "x": "ibm"}'),
    ({}, b' {\n "text": "ibm"\n}\n', b' {\n "text": "IBM"\n}\n'),
    ({}, b'{"text": "ibm"}\n{"text": "ibm"}\n', b'{"text": "IBM"}\n{"text": "IBM"}\n'),
    ({"field": "data[].text"}, b'{"data": [{"text": "ibm"}, {"text": "ibm"}]}',
     b'{"data": [{"text": "IBM"}, {"text": "IBM"}]}'),
    ({"field": "[]"}, b'[["ibm", "ibm"], [], ["ibm"]]', b'[["IBM", "IBM"], [], ["IBM"]]'),
    ({"field": ["a", "b"]}, b'[{"b": "ibm", "a": "\\u0069bm"}]', b'[{"b": "IBM", "a": "\\u0049BM"}]'),
]  # fmt: skip


@pytest.mark.parametrize(("options", "given", "expected"), FILES)
@pytest.mark.parametrize("block", [1, 20, 1 << 20])
def test_files(tmp_path, recaser, options, given, expected, block, monkeypatch):
    monkeypatch.setattr("capfst.io.text_file.BLOCK", block)
    monkeypatch.setattr("capfst.io.blocks.PIECE", block)
    path = tmp_path / "a.json"
    path.write_bytes(given)
    assert recased(path, recaser, **options)[0] == expected
    texts = b"".join(text_blocks([path], TextOptions(options.get("field", "text"))))
    assert texts.lower().count(b"ibm") == expected.count(b"IBM") + expected.count(b"\\u0049BM")


TEXTS = st.lists(st.sampled_from(["ibm", "new york", "\\", '"', "[", "]", "{", "},", "\n", "é", "\u2028", "😀"])).map(
    " ".join
)


@in_one_folder
@given(st.lists(TEXTS), st.booleans(), st.sampled_from([None, 0, 2]), st.sampled_from([1, 30, 1 << 20]))
def test_any_text(tmp_path_factory, recaser, texts, ascii_only, indent, block):
    path = tmp_path_factory.getbasetemp() / "any.json"
    old = [{"id": text, "n": {"text": text}, "text": text} for text in texts]
    new = [record | {"text": recaser(record["text"])} for record in old]
    path.write_text(json.dumps(old, ensure_ascii=ascii_only, indent=indent), "utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capfst.io.text_file.BLOCK", block)
        patch.setattr("capfst.io.blocks.PIECE", block)
        done, counts = recased(path, recaser)
    assert done.decode() == json.dumps(new, ensure_ascii=ascii_only, indent=indent)
    assert counts.lines == sum(text.count("\n") + 1 for text in texts)


BAD = [
    (b'[\n{"text": "ibm"},\n{"text": }\n]', "line 3: invalid JSON: a value is missing"),
    (b'[\n{"text": "ibm"}\n', "line 3: invalid JSON: , or ] expected"),
    (b'[\n{"text": "ibm"},\n', "line 3: invalid JSON: ] expected"),
    (b"[\n", "line 2: invalid JSON: ] expected"),
    (b'[{"text": "ibm"}]\n\n{}', "line 3: invalid JSON: the array is not all"),
    (b'[{"text": "ibm"}\n{"text": "ibm"}]', "line 2: invalid JSON: , or ] expected"),
    (b'[{"text": "ibm"},]', "line 1: invalid JSON: a value is missing at ']'. Fix it."),
    (b'[{"text": "a"},\n\n{"x": "b"}]', "line 3: .* no field 'text'. .*: x"),
    (b'[{"text": "a"}, {"id": 1,\n"b": "\xff"}]', "line 1: not UTF-8, 0xff"),
    (b'{"text": ' + b"[" * 100_000, "line 1: .* nested too deeply"),
    (b'{"data": [{"t": "a"}]}', r"line 1: .* no field 'text'. .*: data\[\]\.t"),
    ('[{"text": "a"}]'.encode("utf-16"), "UTF-16"),
]


@pytest.mark.parametrize(("content", "problem"), BAD)
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_faults_are_named_with_their_line(tmp_path, recaser, content, problem, block, monkeypatch):
    if (len(content) > 1000 or b"\0" in content) and block == 1:
        pytest.skip("takes long, or needs more than a byte")
    monkeypatch.setattr("capfst.io.text_file.BLOCK", block)
    monkeypatch.setattr("capfst.io.blocks.PIECE", max(block, 2))
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(CorpusError, match=rf"a\.json[:,] .*{problem}|a\.json, {problem}"):
        recased(tmp_path / "a.json", recaser)


def test_malformed_items_may_pass(tmp_path, recaser):
    (tmp_path / "a.json").write_bytes(b'[{"text": "ibm"}, {"x": "ibm"}, 7, {"text": "ibm"}]')
    done, counts = recased(tmp_path / "a.json", recaser, on_error="pass")
    assert done == b'[{"text": "IBM"}, {"x": "ibm"}, 7, {"text": "IBM"}]'
    assert counts.malformed == 2
    with pytest.raises(OptionError, match=r"a\.json: .* cannot be dropped"):
        recased(tmp_path / "a.json", recaser, on_error="drop")


def test_an_item_that_is_too_long(tmp_path, recaser, monkeypatch):
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 10)
    monkeypatch.setattr("capfst.io.blocks.PIECE", 10)
    monkeypatch.setattr("capfst.io.json_records.JsonItems.most", 100)
    (tmp_path / "a.json").write_text('[{"text": "ibm"},\n' * 1 + '{"text": "' + "ibm " * 200 + '"}]')
    with pytest.raises(CorpusError, match=r"a\.json, line 2: an item has more than .*jq"):
        recased(tmp_path / "a.json", recaser)


def test_json_files_of_folders_need_a_field_or_known_texts(tmp_path):
    path = tmp_path / "a.json.gz"
    assert can_recase(path, TextOptions("title"))
    assert can_recase(path, TextOptions(format="whisper"))
    assert can_recase(path, TextOptions(), is_matched=True)
    known = '{"text": "ibm"}', '[{"text": "ibm"}]', '{"segments": [{"text": "ibm"}]}', '{"duration": 1, "text": "a"}\n{'
    others = (
        "",
        "{",
        "[]",
        '{"name": "ibm"}',
        '{"a": {"text": "ibm"}}',
        '{"text": 1}',
        '{"text": "\\x"}',
        "text",
        '["a"]',
    )
    for text in (*known, *others):
        path.write_text(text)
        assert can_recase(path, TextOptions()) == (text in known), text
    assert can_train("a.json", TextOptions("text"))
    assert not can_train("a.json", TextOptions(column="text"))


@pytest.mark.parametrize("block", [300, 1 << 20])
def test_documents_are_items(tmp_path, recaser, block, monkeypatch):
    """Items that share a document are in one piece, whatever the size of blocks."""
    monkeypatch.setattr("capfst.io.text_file.BLOCK", block)
    monkeypatch.setattr("capfst.io.blocks.PIECE", block)
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "ibm", "d": {"e": k // 3}} for k in range(9)], indent=1))
    done = recased(path, recaser, document="d.e")[0]
    assert done == path.read_bytes().replace(b"ibm", b"IBM")
    pieces = list(format_of(path, BatchOptions(document="d.e")).pieces(lambda data: None))
    assert all(piece.data.count("ibm") % 3 == 0 for piece in pieces)
    assert len(pieces) > 1 or block > 1000


VALUES = st.recursive(
    st.none() | st.integers() | st.booleans() | st.sampled_from(["ibm", "new york", "é\n", '"']),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "[]"]), values),
    max_leaves=8,
)


def transformed(value, path, recaser):
    """Return a value with the texts at a path recased; KeyError if it has none there, TypeError if it is no text."""
    if value is None:
        return None
    if not path:
        if not isinstance(value, str):
            raise TypeError
        return recaser(value)
    if not isinstance(value, list if path[0] is None else dict):
        raise TypeError
    if path[0] is not None:
        return value | {path[0]: transformed(value[path[0]], path[1:], recaser)}
    items, absent = [], 0
    for item in value:
        try:
            items.append(transformed(item, path[1:], recaser))
        except KeyError:
            items.append(item)
            absent += 1
    if absent == len(value) > 0:
        raise KeyError
    return items


@in_one_folder
@given(VALUES, st.lists(st.sampled_from([None, "a", "b", "a.b", "[]"]), min_size=1, max_size=3), st.booleans())
def test_any_path_in_any_value(tmp_path_factory, recaser, value, path, in_lines):
    """The output is that of Python on the parsed values, and all other bytes stay."""
    if isinstance(value, list) and not in_lines:
        value = [value]  # the file is an array of one item
        path = [None, *path]
    field = "".join("[]" if step is None else f".{as_path(step)}" for step in path).removeprefix(".")
    file = tmp_path_factory.getbasetemp() / ("path.jsonl" if in_lines else "path.json")
    file.write_text(json.dumps(value), "utf-8")
    if not in_lines and isinstance(value, list):
        field = field.removeprefix("[]").removeprefix(".")
    try:
        expected = json.dumps(transformed(value, path, recaser))
    except (KeyError, TypeError):
        with pytest.raises(CorpusError):
            recased(file, recaser, field=field)
        assert recased(file, recaser, field=field, on_error="pass")[0] == file.read_bytes()
    else:
        assert recased(file, recaser, field=field)[0].decode() == expected


def test_each_text_has_its_source(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"p": [{"t": "a", "s": "b"}, {"t": null, "s": "c"}, {"t": "d", "s": null}]}\n')
    options = BatchOptions("p[].t", source="p[].s")
    file_format = format_of(tmp_path / "a.jsonl", options)
    (part,) = file_format.pieces(lambda data: None)
    (record,) = file_format.records(part)
    assert [record.text[position] for position in record.positions] == ["a", "d"]
    assert record.others == [(b"b",), (b"",)]
    (tmp_path / "a.jsonl").write_bytes(b'{"p": [{"t": "a", "s": "b"}, {"t": "c"}]}\n')
    (part,) = file_format.pieces(lambda data: None)
    with pytest.raises(CorpusError, match="line 1: it has 2 texts, but 1 sources"):
        list(file_format.records(part))


PATHS = [
    ("a", ["a"]),
    ("a.b", ["a", "b"]),
    ("a[].b", ["a", None, "b"]),
    ("[]", [None]),
    ("[].a[][]", [None, "a", None, None]),
    (r"a\.b.c", ["a.b", "c"]),
    (r"a\[].b", ["a[]", "b"]),
    (r"a\\.b", ["a\\", "b"]),
    ("a[0]", ["a[0]"]),
    ("", [""]),
    ("a.", ["a", ""]),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_paths(path, expected):
    assert steps(path) == expected


@given(st.text(st.sampled_from("ab.[]\\")))
def test_each_name_has_a_path(name):
    assert steps(as_path(name)) == [name]


@pytest.mark.parametrize("fields", [["a[]b"], ["a", "a.b"], ["a.b", "a"], ["a[]", "a[].b"]])
def test_paths_that_cannot_be_used(tmp_path, fields):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "b"}\n')
    with pytest.raises(OptionError, match="`field`"):
        format_of(tmp_path / "a.jsonl", BatchOptions(fields))
