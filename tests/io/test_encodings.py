"""Encodings: text is decoded as it is read and encoded as it is written, and keeps all bytes except those of letters
that change case."""

import codecs
import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import CORPUS
from support.packing import gzipped

import capfst
from capfst.batch.tally import counting
from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.io.blocks import read_blocks
from capfst.io.encodings import Transcoding, checked, guess
from capfst.io.formats import format_of
from capfst.io.protocol import BatchOptions, TextOptions
from capfst.io.text_blocks import lines_stand_alone, text_blocks


@pytest.fixture(scope="module")
def recaser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "corpus").write_text(CORPUS * 3 + "The cafés of Évian met.\n" * 3, "utf-8")
    capfst.train(folder / "corpus", folder / "cap.fst", clean=False, context=False)
    return capfst.load(folder / "cap.fst")


def recased(path, recaser, **options) -> bytes:
    file_format = format_of(path, BatchOptions(**options))
    with io.BytesIO() as out:
        with file_format.writing(out) as write:
            for piece in file_format.pieces(lambda data: None):
                write(file_format.recased(piece, counting(recaser))[0])
        return out.getvalue()


ENCODINGS = [
    ("latin-1", b""),
    ("cp1252", b""),
    ("utf-16", codecs.BOM_UTF16_LE),
    ("utf-16", codecs.BOM_UTF16_BE),
    ("utf-16", b""),
    ("utf-16-be", b""),
    ("utf-32", codecs.BOM_UTF32_BE),
    ("utf-8-sig", codecs.BOM_UTF8),
    ("gb18030", b""),
]
BYTE_ORDERS = {codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF32_BE: "utf-32-be"}


@pytest.mark.parametrize(("encoding", "mark"), ENCODINGS)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.txt", "in évian,\r\n\nibm", "in Évian,\r\n\nIBM"),
        ("a.jsonl", '{"text": "in évian"}\n{"text": "ibm"}\n', '{"text": "in Évian"}\n{"text": "IBM"}\n'),
        ("a.json", '[{"text": "in évian"},\n{"text": "ibm"}]', '[{"text": "in Évian"},\n{"text": "IBM"}]'),
        ("a.tsv", "é\ttext\nibm\tin évian", "é\ttext\nibm\tin Évian"),
        ("a.csv", 'text,é\n"ibm",é', 'text,é\n"IBM",é'),
    ],
)
def test_the_output_has_the_encoding_of_the_input(tmp_path, recaser, encoding, mark, name, old, new, monkeypatch):
    monkeypatch.setattr("capfst.io.blocks.PIECE", 3)
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 10)
    monkeypatch.setattr("capfst.io.plain_text.BLOCK", 10)
    codec = BYTE_ORDERS.get(mark, {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(encoding, encoding))
    (tmp_path / name).write_bytes(mark + old.encode(codec))
    assert recased(tmp_path / name, recaser, encoding=encoding) == mark + new.encode(codec)


def test_compressed_files_have_encodings(tmp_path, recaser):
    (tmp_path / "a.txt.gz").write_bytes(gzipped("in évian\n".encode("latin-1")))
    assert gzip.decompress(recased(tmp_path / "a.txt.gz", recaser, encoding="latin-1")) == "in Évian\n".encode(
        "latin-1"
    )


def test_training_reads_the_encoding(tmp_path):
    for name, text in ("a.txt", "É\nà"), ("b.jsonl", '{"x": "Œ"}'):
        (tmp_path / name).write_bytes(text.encode("cp1252"))
    files = [tmp_path / "a.txt", tmp_path / "b.jsonl"]
    assert b"".join(text_blocks(files, TextOptions("x", encoding="cp1252"))).decode() == "É\nà\nŒ\n"
    assert lines_stand_alone(files[0], TextOptions(errors="replace"))
    assert not lines_stand_alone(files[0], TextOptions(encoding="cp1252"))  # Spark would split it between bytes


@given(st.text(), st.sampled_from(["utf-16", "utf-16-be", "utf-32", "gb18030", "utf-8"]), st.integers(1, 9))
def test_all_bytes_stay(text, encoding, size):
    data = text.encode(encoding)
    transcoding = Transcoding(encoding, "strict")
    pieces = list(transcoding.utf8([data[k : k + size] for k in range(0, len(data), size)], "x"))
    assert b"".join(pieces).decode().removeprefix("\ufeff") == text.removeprefix("\ufeff")
    out: list[bytes] = []
    write = transcoding.writer(out.append, "x")
    for piece in pieces:
        write(piece)
    assert b"".join(out) == data


def written(text: str, encoding: str) -> bytes:
    out: list[bytes] = []
    Transcoding(encoding, "strict").writer(out.append, "a.txt")(text.encode())
    return b"".join(out)


def test_a_letter_that_lacks_the_other_case_keeps_its_own():
    assert written("ŸZ a", "latin-1") == "ÿZ a".encode("latin-1")
    assert written("Ÿ", "cp1252") == "Ÿ".encode("cp1252")
    assert written("\ufffd", "latin-1") == b"?"
    with pytest.raises(CapfstError, match=r"a\.txt: .*'ő'.*iconv -f latin-1"):
        written("ő", "latin-1")


@pytest.mark.parametrize(
    ("encoding", "data", "problem"),
    [
        ("cp1252", b"abc\x81", "x: not cp1252 at byte 3"),
        ("ascii", b"\xe9", "x: not ascii at byte 0"),
        ("utf-16", "ab".encode("utf-16-le") + b"\0", "x: not utf-16 at byte 4"),
        ("utf-16-le", b"a\0\0\xdc", "x: not utf-16-le at byte 2"),
        ("iso2022_jp", "日".encode("iso2022_jp"), "would not stay the same"),  # the last shift would be lost
        ("cp932", b"\x87\x90", "would not stay the same"),  # ≒, whose other code is 81 e0
    ],
)
def test_bytes_that_are_not_in_the_encoding(encoding, data, problem):
    with pytest.raises(CorpusError, match=problem):
        list(Transcoding(encoding, "strict").utf8([data[:2], data[2:]], "x"))
    replaced = b"".join(Transcoding(encoding, "replace").utf8([data[:2], data[2:]], "x")).decode()
    assert ("\ufffd" in replaced) == (encoding not in ("cp932", "iso2022_jp"))


@pytest.mark.parametrize("name", ["latin9x", "rot13", "hex", "", "a\0b", "punycode"])
def test_unknown_encodings(name):
    with pytest.raises(OptionError, match="`encoding`"):
        checked(name)
    with pytest.raises(OptionError, match="`encoding`"):
        TextOptions(encoding=name)


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "é", r"\n"])
def test_delimiters_that_cannot_be_used(delimiter):
    with pytest.raises(OptionError, match="`delimiter`"):
        TextOptions(delimiter=delimiter)


GUESSES = [
    ("un café, déjà vu", "latin-1", "LATIN1"),
    ("“well,” he said – it’s", "cp1252", "CP1252"),
    ("plain text", "utf-16-le", "UTF-16LE"),
    ("plain text\n", "utf-16-be", "UTF-16BE"),
    ("привет мир", "cp1251", None),
    ("日本語のテキスト", "shift-jis", None),
    ("call-1 1 speaker-a 0.10 2.50 <o,f0,male> 我们 在 纽约 见面 了\n" * 3, "gb18030", None),
    ("call-1 1 speaker-a 0.10 2.50 <o,f0,male> 我們 在 紐約 見面 了\n" * 3, "big5", None),
    ("call-1 1 speaker-a 0.10 2.50 <o,f0,male> мы встретились\n" * 3, "cp1251", None),
    ("pääministeri ja näköala, älä jää tänne: mitä sää tänään lienee, häntä säästää", "latin-1", "LATIN1"),
    ("plain text", "ascii", None),
]


@pytest.mark.parametrize(("text", "encoding", "expected"), GUESSES)
def test_guess(text, encoding, expected):
    assert guess(text.encode(encoding)) == expected


MESSAGES = [
    ("a\n\nun café noir".encode("latin-1"), "a.txt, line 3: not UTF-8", "LATIN1"),
    (b"some text\n" * 9999 + "un café noir".encode("latin-1"), "a.txt, line 10000: not UTF-8", "LATIN1"),
    ("привет".encode("cp1251"), "a.txt, line 1: not UTF-8", "ENCODING"),
    ("some text".encode("utf-16"), "a.txt: the text is UTF-16", "UTF-16"),
    ("some text".encode("utf-16-le"), "a.txt: the text is UTF-16", "UTF-16LE"),
    ("some text".encode("utf-32"), "a.txt: the text is UTF-32", "UTF-32"),
    ("\ufeffsome text".encode("utf-32-be"), "a.txt: the text is UTF-32", "UTF-32"),
]


@pytest.mark.parametrize(("data", "problem", "encoding"), MESSAGES)
def test_messages_name_the_encoding(tmp_path, recaser, data, problem, encoding):
    (tmp_path / "a.txt").write_bytes(data)
    message = rf"{problem}.*`encoding='{encoding}'`.*`iconv -f {encoding} -t UTF-8`"
    with pytest.raises(CorpusError, match=message):
        list(read_blocks([tmp_path / "a.txt"]))
    with pytest.raises(CorpusError, match=message):
        recased(tmp_path / "a.txt", recaser)


def test_no_encoding_is_guessed_for_records_that_pass(tmp_path, recaser, monkeypatch):
    monkeypatch.setattr("capfst.io.encodings.guess", pytest.fail)  # it takes milliseconds
    (tmp_path / "a.txt").write_bytes("café\nnew york\n".encode("latin-1"))
    assert recased(tmp_path / "a.txt", recaser, on_error="pass") == "café\nNew York\n".encode("latin-1")
