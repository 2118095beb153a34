"""Test Markdown and HTML through `recase`, `batch` and Python: only text is recased, in any blocks and threads."""

import gzip
import json

import pytest
from support.command_line import run
from support.models import build

import capfst
import capfst.io.plain_text
from capfst.exceptions import OptionError
from capfst.recaser import Recaser
from capfst.text.markup import HTML, MARKDOWN

MARKDOWN_TEXT = """\
---
Title: US
---
IT is `Oov
Oov` US [it US](US.Html)

```
IT Oov

```
IT US
"""
MARKDOWN_CASED = MARKDOWN_TEXT.replace("IT is", "it is").replace("\nIT US\n", "\nit US\n")
HTML_TEXT = "<P Class='Oov\nOov'>IT OOV US<script>\nVar Oov\n</script> us<!-- Oov\nOov --> <pre>IT\nOov</pre>IT"
HTML_CASED = HTML_TEXT.replace(">IT OOV US<", ">it oov US<").replace(" us<", " US<").replace("</pre>IT", "</pre>it")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    made = build(["<unk>", "it", "US"], {(1,): 5.0, (2,): 1.0, (3,): 2.0}, {}, {(): 1.0})
    path = tmp_path_factory.mktemp("markup") / "m.fst"
    made.save(path)
    return path


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "in").mkdir()
    files = {"a.md": MARKDOWN_TEXT, "b.html": HTML_TEXT, "c.txt": "IT `US\nOov`"}
    for name, text in files.items():
        (tmp_path / "in" / name).write_bytes(text.encode())
    (tmp_path / "in" / "d.xhtml.gz").write_bytes(gzip.compress(HTML_TEXT.encode()))
    return tmp_path / "in"


def test_recase_parses_markup_by_the_suffix(model, pages):
    def recased(*arguments, **options):
        return run("recase", "-q", "--lm", model, *arguments, **options).stdout.decode()

    plain = recased("--markup", "none", pages / "a.md")
    assert "title: US" in plain and recased(stdin=MARKDOWN_TEXT) == plain
    assert recased(pages / "a.md") == MARKDOWN_CASED
    assert recased(pages / "b.html") == HTML_CASED
    assert recased("--markup", "markdown", stdin=MARKDOWN_TEXT) == MARKDOWN_CASED
    assert recased("--markup", "html", stdin=HTML_TEXT) == HTML_CASED
    assert recased("--document", "--jobs", 2, pages / "a.md") == MARKDOWN_CASED
    several = recased(pages / "a.md", pages / "c.txt", pages / "d.xhtml.gz", pages / "a.md")
    assert several == MARKDOWN_CASED + "it `US\noov`\n" + HTML_CASED + "\n" + MARKDOWN_CASED


def test_recase_does_not_parse_markup_with_options_for_lines(model, pages):
    for options in (["--nbest", 2], ["--confidence"], ["--source", pages / "c.txt"]):
        done = run("recase", "--lm", model, "--markup", "html", *options, pages / "b.html", code=2)
        assert "--markup html cannot be used with" in done.stderr.decode()


@pytest.mark.parametrize("block", [1, 20, 1 << 20])
@pytest.mark.parametrize("options", [[], ["--document"]])
def test_batch(model, pages, monkeypatch, block, options):
    monkeypatch.setattr(capfst.io.plain_text, "BLOCK", block)
    out = pages.with_name("out")
    run("batch", "-q", "--lm", model, pages, "-o", out, "--jobs", 2, *options)
    assert (out / "a.md").read_bytes().decode() == MARKDOWN_CASED
    assert (out / "b.html").read_bytes().decode() == HTML_CASED
    assert gzip.decompress((out / "d.xhtml.gz").read_bytes()).decode() == HTML_CASED
    assert (out / "c.txt").read_text() == "it `US\noov`"


def test_batch_with_a_named_markup(model, tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in (MARKDOWN_TEXT, "IT `Oov")))
    (tmp_path / "b.txt").write_text(MARKDOWN_TEXT)
    (tmp_path / "c.md").write_text("IT `IT`\n```\nOov")
    out = tmp_path / "out"
    run("batch", "-q", "--lm", model, *tmp_path.glob("*.*"), "-o", out, "--markup", "markdown")
    assert [json.loads(line)["text"] for line in (out / "a.jsonl").open()] == [MARKDOWN_CASED, "it `oov"]
    assert (out / "b.txt").read_text() == MARKDOWN_CASED
    run("batch", "-q", "--lm", model, tmp_path / "c.md", "-o", out, "--markup", "none")
    assert (out / "c.md").read_text() == "it `IT`\n```\noov"  # recased again, with other options
    done = run(
        "batch", "-q", "--lm", model, tmp_path / "c.md", "-o", out, "--markup", "html", "--source-field", "a", code=2
    )
    assert "--markup" in done.stderr.decode()


def test_batch_with_malformed_lines(model, tmp_path):
    bad = b"IT `Oov`\n```\nOov\n" + b"IT \xff `\n" + b"Oov\n```\nIT \xff\nIT Oov"
    (tmp_path / "a.md").write_bytes(bad)

    def recased(*options) -> bytes:
        run("batch", "-q", "--force", "--lm", model, tmp_path / "a.md", "-o", tmp_path / "out", *options)
        return (tmp_path / "out" / "a.md").read_bytes()

    done = run("batch", "--lm", model, tmp_path / "a.md", "-o", tmp_path / "out", code=1)
    assert "a.md, line 4: not UTF-8" in done.stderr.decode()
    cased = b"it `Oov`\n```\nOov\nIT \xff `\nOov\n```\nIT \xff\nit oov"
    assert recased("--on-error", "pass") == cased
    assert recased("--on-error", "drop") == cased.replace(b"IT \xff `\n", b"").replace(b"IT \xff\n", b"")
    replaced = cased.decode(errors="replace").replace("\nIT \ufffd\n", "\nit \ufffd\n")
    assert recased("--errors", "replace").decode() == replaced


def test_tags_of_blocks_separate_lines(model, tmp_path):
    text = "<ul><li>IT <b>us</b> oov<br/>it</LI><li\nClass='A'>oov</ul>IT<pre>Oov <br></pre>it <code>Oov</code> oov"
    cased = "<ul><li>It <b>US</b> oov<br/>It</LI><li\nClass='A'>Oov</ul>It<pre>Oov <br></pre>It <code>Oov</code> oov"
    recaser = capfst.load(model, sentence_case=True, markup=HTML)
    assert recaser(text) == cased
    assert recaser([text, text]) == [cased, cased]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}) + "\n")
    (tmp_path / "a.html").write_bytes(f"{text}\n<p>\xff</p>\n{text}".encode("latin-1"))
    options = ["-o", tmp_path / "out", "--sentence-case", "--on-error", "pass"]
    done = run("batch", "--lm", model, "--markup", "html", *tmp_path.glob("*.*"), *options)
    assert json.loads((tmp_path / "out" / "a.jsonl").read_bytes()) == {"text": cased}
    assert (tmp_path / "out" / "a.html").read_bytes().decode("latin-1") == f"{cased}\n<p>\xff</p>\n{cased}"
    assert "1 of 6 records malformed" in done.stderr.decode()


def test_lines_of_repaired_stretches_are_those_of_the_file(model, tmp_path):
    written, lost = "<p>It is US.</p>" * 40, "<p>" + "us it " * 60 + "</p>"
    text = f"{written}\n{lost}<p>It</p>\n{written}\n"
    recaser = capfst.load(model, markup=HTML)
    assert [stretch.line for stretch in recaser.stretches(text)] == [1]
    (tmp_path / "a.html").write_text(text)
    out = tmp_path / "out.html"
    done = run("recase", "--lm", model, "--repair", tmp_path / "a.html", "-o", out)
    assert "in 1 stretch: line 2 (" in done.stderr.decode()
    assert out.read_text() == text.replace("us", "US")
    report = tmp_path / "r.json"
    run("batch", "--lm", model, "--repair", tmp_path / "a.html", "-o", tmp_path / "out", "--report", report)
    assert '"line": 2' in report.read_text()
    (tmp_path / "a.html").write_bytes(b"<p>\xff</p>\n" + text.encode())
    options = "--repair", "--on-error", "pass", "--report", report
    run("batch", "--lm", model, *options, tmp_path / "a.html", "-o", tmp_path / "out")
    assert '"line": 3' in report.read_text()
    assert (tmp_path / "out" / "a.html").read_bytes() == b"<p>\xff</p>\n" + text.replace("us", "US").encode()


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_python(model, engine):
    recaser = capfst.load(model, engine=engine)
    assert recaser(MARKDOWN_TEXT, markup=MARKDOWN) == MARKDOWN_CASED
    assert recaser([HTML_TEXT, "<a\nIT>IT"], markup=HTML) == [HTML_CASED, "<a\nIT>it"]
    assert recaser(MARKDOWN_TEXT) == recaser(MARKDOWN_TEXT, markup="none") != MARKDOWN_CASED
    marked = capfst.load(model, engine=engine, markup=MARKDOWN)
    assert marked.batch("text")({"text": [MARKDOWN_TEXT, None]}) == {"text": [MARKDOWN_CASED, None]}
    assert marked("") == ""


def test_python_refuses_markup_of_lines(model):
    recaser: Recaser = capfst.load(model, markup=HTML)
    for call in (
        lambda: recaser.nbest("a", 1),
        lambda: recaser.confidence("a"),
        lambda: recaser.sentences("a"),
        lambda: list(recaser.recase_lines(["a"])),
    ):
        with pytest.raises(OptionError, match="`markup='html'` cannot be used with"):
            call()
    with pytest.raises(OptionError, match="`markup` is 'rst'"):
        capfst.load(model, markup="rst")
