"""Subtitles and transcripts on the command line: `capfst recase` and `capfst batch`."""

import gzip
import json
from pathlib import Path

import pytest
from support.command_line import run

from capfst import load, train
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import text_blocks

SRT = "1\n00:00:01,000 --> 00:00:02,000\ni met josé in new\n\n2\n00:00:03,000 --> 00:00:04,000\nyork city. he is\n"
CASED = SRT.replace("i met josé in new", "I met José in New").replace("york city. he", "York City. He")
VOSK = '{"result": [{"word": "new"}, {"word": "york"}], "text": "new york"}\n'
LATTICES = """\
call-0001
0 1 WE 3.5,1,1_2
1 2 MET 0,0,3
1 2 MEAT 0,-1,4
2 3 [NOISE] 0,0,
2 3 <eps> 0,1,
3 4 ANGELA 0,0,
4 0,0,

call-0002 [ MERKEL 0.4 MURKLE 0.6 ] [ IN 1 ] [ BERLIN 0.75 <eps> 0.25 ]
"""
LATTICE = ("--format", "lattice")


def test_recase_a_file_or_stdin(tmp_path: Path) -> None:
    film = tmp_path / "film.srt"
    film.write_text(SRT)
    assert run("recase", "--sentence-case", film).stdout.decode() == CASED
    assert run("recase", "--sentence-case", "--format", "srt", stdin=SRT).stdout.decode() == CASED
    out = tmp_path / "film.srt.gz"
    run("recase", "--sentence-case", film, "-o", out)
    assert gzip.decompress(out.read_bytes()).decode() == CASED
    assert run("recase", "--sentence-case", out).stdout.decode() == CASED
    for encoding in ("latin-1", "utf-16", "utf-8-sig"):
        film.write_text(SRT, encoding)
        name = "utf-8" if encoding == "utf-8-sig" else encoding
        recased = run("recase", "--sentence-case", "--encoding", name, film).stdout
        assert recased == CASED.encode(encoding)


def test_json_is_recognized(tmp_path: Path) -> None:
    for name, given in (("a.json", ()), ("a.jsonl", ()), ("a", ("--format", "vosk"))):
        file = tmp_path / name
        file.write_text(VOSK)
        cased = run("recase", *given, file).stdout.decode()
        assert cased == VOSK.replace("new", "New").replace("york", "York")
    file.write_text('{"x": {"y": "in new york", "z": "in new york"}}')
    out = run("recase", "--format", "transcript", "--field", "x.y", file).stdout.decode()
    assert out == '{"x": {"y": "in New York", "z": "in new york"}}'


def test_lattices(tmp_path: Path) -> None:
    """The words of each lattice that cost least are recased as Kaldi's text, or as lines if they have no names."""
    file = tmp_path / "a.lat.gz"
    file.write_bytes(gzip.compress(LATTICES.encode()))
    for more in ((), ("--engine", "openfst"), ("--no-context",), ("--jobs", "1")):
        out = run("recase", *LATTICE, *more, file).stdout.decode()
        assert out == "call-0001 we met Angela\ncall-0002 Merkel in Berlin\n"
    out = run("recase", *LATTICE, "--rescore", "0", file).stdout.decode()
    assert out == "call-0001 we meat [NOISE] Angela\ncall-0002 Murkle in Berlin\n"
    without = LATTICES.replace("call-0001\n", "").split("\ncall")[0]
    out = run("recase", *LATTICE, "--sentence-case", stdin=f"{without}\n" * 2).stdout.decode()
    assert out == "We met Angela\n" * 2
    assert run("recase", *LATTICE, stdin="").stdout == b""


def test_rescore() -> None:
    text = '{"alternatives": [{"confidence": 9.5, "text": "new yolk"}, {"text": "new york", "confidence": 9}]}\n'
    assert run("recase", stdin=text).stdout.decode() == text.replace("new york", "New York")
    out = run("recase", "--rescore", "0.5", stdin=text).stdout.decode()
    assert out.startswith('{"alternatives": [{"text": "New York", "confidence": 9}, {"confidence": 9.5, "text": ')


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("a.srt", "in new york", (), "a.srt: no cues of SubRip. Rename it, or change --format"),
        ("a.ctm", "a b 1 2 c\nin paris", (), "a.ctm, line 2: not CTM, which has a recording"),
        ("a.json", '{"x": 1, "y": ["z"]}', (), "no field 'text'. Use --field with one of its texts: y[]."),
        ("a.json", '{"text": "x", "words": [{"word": "x"}', (), "a.json, line 1: invalid JSON"),
        ("a.srt", SRT, ("--wrapped",), "--wrapped cannot be used with subtitles"),
        ("a.srt", SRT, ("--nbest", "2"), "--nbest cannot be used with subtitles"),
        ("a.txt", SRT, ("--field", "x"), "a.txt, line 1: there is no field 'x'"),
        ("a.txt", "in paris [LAUGHS]\n", ("--remarks", "lower"), "--remarks requires subtitles"),
        ("a.jsonl", VOSK, ("--remarks", "lower"), "--remarks requires subtitles"),
        ("a.srt", SRT.encode("latin-1"), (), "a.srt, line 3: not UTF-8"),
        ("a.lat", LATTICES + "\n0 1 a\n1\n", LATTICE, "a.lat: some lattices have an identifier, and others have none"),
        ("a.lat", "in new york\n", LATTICE, "a.lat, line 1: the state 'in' is not a number. Use the text of OpenFst"),
        ("a.lat", LATTICES, (*LATTICE, "--nbest", "2"), "--nbest cannot be used with subtitles"),
        ("a.txt", "in new york", ("--rescore", "1"), "--rescore requires the JSON of a recognizer"),
        ("a.json", VOSK, ("--rescore", "-1"), "hypotheses cannot be scored with the weight -1 and 0 nats per word."),
        (
            "a.json",
            VOSK,
            ("--rescore", "1,2,3"),
            "--rescore requires a weight, and perhaps nats per word, such as 0.5,8.",
        ),
        ("a.srt", SRT, ("--rescore", "1"), "--rescore requires the JSON of a recognizer, or --format lattice."),
    ],
)
def test_bad_input(tmp_path: Path, name: str, text: str | bytes, arguments: tuple[str, ...], message: str) -> None:
    file, out = tmp_path / name, tmp_path / "out"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    code = 2 if "cannot be used" in message or "requires" in message else 1
    done = run("recase", *arguments, file, "-o", out, code=code)
    assert message in done.stderr.decode()
    assert done.stderr.decode().strip().count("\n") <= (0 if code == 1 else 3)
    assert not out.exists()
    assert run("recase", *arguments, file, code=code).stdout == b""


def test_one_file_at_a_time(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.srt").write_text(SRT)
    done = run("recase", tmp_path / "a.srt", tmp_path / "b.srt", code=2)
    assert "one file of subtitles" in done.stderr.decode()


def test_batch(tmp_path: Path) -> None:
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\nin new york\n"
    files = {"a/film.srt": SRT, "a/b/film.vtt": vtt, "a/x.txt": "in paris\n",
             "a/words.jsonl": VOSK, "a/lines.jsonl": '{"text": "new york"}\n', "a/bad.srt": "in paris\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    out, report = tmp_path / "out", tmp_path / "report.json"
    done = run("batch", tmp_path / "a", "-o", out, "--sentence-case", "--report", report, code=1)
    assert "bad.srt: no cues of SubRip" in done.stderr.decode()
    written = {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*.*") if path.suffix != ""}
    assert {name for name in written if not name.startswith(".")} == {
        "film.srt", "b/film.vtt", "x.txt", "words.jsonl", "lines.jsonl",
    }  # fmt: skip
    assert written["film.srt"] == CASED
    assert written["b/film.vtt"].endswith("In New York\n")
    assert json.loads(written["words.jsonl"])["result"][1]["word"] == "York"
    files = {Path(file["input"]).name: file for file in json.loads(report.read_text())["files"]}
    assert files["film.srt"]["records"] == 2
    assert files["film.srt"]["changed"] == 6
    run("batch", tmp_path / "a", "-o", out, "--sentence-case", "--report", report, code=1)
    assert [file["status"] for file in json.loads(report.read_text())["files"]].count("skipped") == 5
    (tmp_path / "a/film.srt").write_text(SRT.replace("\n\n2", " [MUSIC]\n\n2"))
    run("batch", tmp_path / "a", "-o", out, "--sentence-case", "--remarks", "lower", code=1)
    assert (out / "film.srt").read_text() == CASED.replace("\n\n2", " [music]\n\n2")
    assert "--wrapped cannot" in run("batch", tmp_path / "a", "-o", out, "--wrapped", code=2).stderr.decode()


def test_long_files_are_recased_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"c{k // 50} 1 {k} 1 {word}\n" for k, word in enumerate(["i", "live", "in", "new", "york"] * 400))
    file = tmp_path / "a.ctm"
    file.write_text(text)
    whole = run("recase", file).stdout
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 1000)
    assert (
        run("recase", "--jobs", "2", file).stdout
        == whole
        == text.replace(" i\n", " I\n").replace(" new\n", " New\n").replace(" york\n", " York\n").encode()
    )
    run("batch", file, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "a.ctm").read_bytes() == whole


def test_train_on_subtitles(tmp_path: Path) -> None:
    film = tmp_path / "film.srt"
    film.write_text(CASED)
    assert b"".join(text_blocks([film], TextOptions())) == "I met José in New York City. He is\n".encode()
    film.write_text("".join(CASED.replace("is\n", "is there.\n\n") for _ in range(50)))
    train([film], tmp_path / "film.fst")
    assert load(tmp_path / "film.fst")("josé") == "José"


def test_stream() -> None:
    assert run("recase", "--stream", stdin="i live in new york\n").stdout == b"I live in New York\n"
    partial = "i live in new\ri live in new york\rin paris\n"
    assert run("recase", "--stream", "--look-ahead", "1", stdin=partial).stdout == (
        b"I live in new\rI live in New York\rin Paris\n"
    )
    assert run("recase", "--stream", "--format", "vosk", stdin='{"text": "new york"}').stdout == b'{"text": "New York"}'
    for arguments in (("x.txt",), ("--document",), ("--nbest", "2"), ("--format", "srt"), ("--markup", "html")):
        assert "stream" in run("recase", "--stream", *arguments, code=2).stderr.decode()
    assert "<stdin>, line 1: not UTF-8 at byte 3" in run("recase", "--stream", stdin=b"in \xff", code=1).stderr.decode()
