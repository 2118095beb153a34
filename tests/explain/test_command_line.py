"""`capfst explain`: what it prints and writes, and its errors."""

import json
from pathlib import Path

import pytest
from support.command_line import message, run

import capfst


def test_it_prints_a_table() -> None:
    expected = capfst.load().explain("the who played in the us", 3).table() + "\n"
    assert run("explain", "the who played in the us").stdout.decode() == expected
    assert run("explain", stdin="the who played in the us\n").stdout.decode() == expected


def test_it_prints_json(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("The Who\t30\n", "utf-8")
    options = ["--sentence-case", "--words", tmp_path / "words.txt", "--nbest", 2]
    printed = json.loads(run("explain", "we saw the who", "--json", *options).stdout)
    expected = capfst.load().explain("we saw the who", 2, sentence_case=True, words=str(tmp_path / "words.txt"))
    assert printed == json.loads(json.dumps(expected.to_dict()))
    assert printed["text"] == "We saw The Who"
    assert len(printed["casings"]) == 2
    assert "NaN" not in str(printed) and "Infinity" not in str(printed)


def test_it_explains_a_line_of_a_document() -> None:
    text = "the painter zelners lived in rome.\nsome zelners left.\n"
    done = run("explain", "--document", "--line", 2, "--json", stdin=text)
    assert json.loads(done.stdout)["text"] == "some Zelners left."
    assert "`" not in message(run("explain", "--document", "--line", 3, stdin=text, code=1))


@pytest.mark.parametrize(
    ("arguments", "stdin"), [([""], ""), ([" \t"], ""), ([], "\n"), (["--document", "--line", 2], "it\n\nis\n")]
)
def test_a_blank_line_cannot_be_explained(arguments: list, stdin: str) -> None:
    assert "blank" in message(run("explain", *arguments, stdin=stdin, code=1))


def test_it_writes_pictures_and_pages(tmp_path: Path) -> None:
    graphviz = pytest.importorskip("graphviz")
    try:
        graphviz.version()
    except graphviz.ExecutableNotFound:
        pytest.skip("Graphviz's program dot is not installed")
    for name, begin in (("x.svg", "<?xml"), ("x.html", "<!DOCTYPE html>")):
        assert run("explain", "an it meeting", "-o", tmp_path / name).stdout == b""
        assert (tmp_path / name).read_text("utf-8").startswith(begin)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-o", "x.png"], "x.png: name a picture"),
        (["-o", "x.svg", "--json"], "--output cannot be used with --json"),
        (["--align", "0-0"], "--align requires --source"),
        (["--nbest", "0"], "--nbest"),
        (["--line", "0"], "--line"),
        (["more"], "unexpected extra argument"),
        (["--wrapped"], "No such option '--wrapped'"),
    ],
)
def test_wrong_commands(arguments: list[str], expected: str) -> None:
    assert expected in run("explain", "text", *arguments, code=2).stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        ([], b"two\nlines\n", "with --document and --line."),
        ([], b"\xff\n", "UTF-8"),
        (["caf\udce9"], b"", "TEXT is not UTF-8"),
        (["a", "--source", "caf\udce9"], b"", "--source is not UTF-8"),
        (["a", "--source", "A"], b"", "translations"),
        (["a", "--markup", "html"], b"", "--markup"),
        (["a", "--line", "2"], b"", "--line is 2"),
        (["a", "--lm", "missing.fst"], b"", "missing.fst"),
        (["a", "-o", "no/such/folder/x.svg"], b"", "no/such/folder"),
    ],
)
def test_bad_input_gets_one_line(arguments: list[str], stdin: bytes, expected: str) -> None:
    assert expected in message(run("explain", *arguments, stdin=stdin, code=1))


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capfst.cli.explain._LARGEST", 100)
    assert "too much text" in message(run("explain", stdin="word " * 30, code=1))


def test_an_output_that_is_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.svg").write_text("The Who\n", "utf-8")
    assert "input" in message(
        run("explain", "a", "--words", tmp_path / "words.svg", "-o", tmp_path / "words.svg", code=1)
    )
    assert (tmp_path / "words.svg").read_text("utf-8") == "The Who\n"
