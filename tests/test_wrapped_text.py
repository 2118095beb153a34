"""Text that is wrapped at a width, recased as one text: `wrapped`, `--wrapped`."""

import json
import textwrap
from pathlib import Path

import pytest
from support.prose import PROSE

from capfst import OptionError, Recaser, load
from capfst.cli import cli
from capfst.text.unicode import lower

TEXT = """\
chapter one
the beginning

he left the house in new york in the
early morning. then he met mr. john
smith, who lived in san francisco and
worked for general motors.

* he said that he had left the house in
  new york and gone to san francisco
* another item
"""
CASED = """\
Chapter One
The beginning

He left the house in New York in the
early morning. Then he met Mr. John
Smith, who lived in San Francisco and
worked for General Motors.

* He said that he had left the house in
  New York and gone to San Francisco
* Another item
"""


@pytest.fixture(scope="module")
def recaser() -> Recaser:
    return load(sentence_case=True)


def test_golden(recaser: Recaser) -> None:
    assert recaser(TEXT, wrapped=True) == recaser(TEXT.upper(), wrapped=True) == CASED
    assert recaser(TEXT, wrapped=True, engine="openfst") == CASED
    assert recaser(TEXT, wrapped=True, document=True).splitlines()[3:7] == CASED.splitlines()[3:7]
    assert recaser(TEXT) != CASED


def test_the_words_are_recased_as_in_one_line(recaser: Recaser) -> None:
    text = lower(" ".join(PROSE.split()))
    for width in (40, 72):
        lines = textwrap.wrap(text, width, break_on_hyphens=False)
        paragraphs = ["\n".join(lines[k : k + 9]) for k in range(0, len(lines), 9)]
        for paragraph in paragraphs[:20]:
            out = recaser(paragraph, wrapped=True)
            assert out.replace("\n", " ") == recaser(paragraph.replace("\n", " "))
            assert [len(line) for line in out.split("\n")] == [len(line) for line in paragraph.split("\n")]


def test_items_are_texts_of_their_own(recaser: Recaser) -> None:
    paragraph = CASED.split("\n\n")[1]
    items = [lower(paragraph), lower(paragraph), "x\v\n", ""]
    assert recaser(items, wrapped=True) == [paragraph, paragraph, "X\v\n", ""]
    assert list(recaser.recase_lines(iter(items), wrapped=True)) == recaser(items, wrapped=True)


def test_line_ends_stay_if_all_capitals_were_wrong(recaser: Recaser) -> None:
    text = "and then The zorblax went over to the other side of the long and\nwinding road to see the house of a man\n"
    lowered = recaser(text.lower(), wrapped=True, sentence_case=False)
    assert recaser(text, wrapped=True, sentence_case=False) == lowered
    assert lowered.count("\n") == 2


def test_divided_words_and_quotations(recaser: Recaser) -> None:
    quoted = """\
> > we have seen the towns of amer-
> > ica and a painting by pablo pi-
> > casso in the middle of new
> > york and in stratford-upon-
> > avon.
> he said so, and so did angela
merkel last year.
"""
    cased = """\
> > We have seen the towns of Amer-
> > ica and a painting by Pablo Pi-
> > casso in the middle of New
> > York and in Stratford-upon-
> > Avon.
> He said so, and so did Angela
Merkel last year.
"""
    assert recaser(quoted, wrapped=True) == recaser(quoted.upper(), wrapped=True) == cased
    marked = recaser(quoted, wrapped=True, restore="punctuation,case").replace(",", "")
    assert marked == cased.replace(",", "")


def test_translations_are_not_wrapped(recaser: Recaser) -> None:
    with pytest.raises(OptionError, match="wrapped"):
        recaser.recase_aligned("x", "X", wrapped=True)


def test_commands(recaser: Recaser, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """recase and batch write what the Recaser does, for any number of threads; records are not joined."""
    lines = textwrap.wrap(lower(PROSE), 60)
    text = TEXT + "\n" + "\n".join("" if k % 31 == 30 else line for k, line in enumerate(lines)) + "\n"
    expected = recaser(text * 20, wrapped=True)
    (tmp_path / "a.txt").write_text(text * 20)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in [text, text, "it was\nlate"]))
    options = ["--quiet", "--wrapped", "--sentence-case"]
    for jobs in ("1", "3"):
        out = tmp_path / jobs
        cli.main(["batch", *options, "-o", str(out), "--jobs", jobs, str(tmp_path / "a.*")], standalone_mode=False)
        assert (out / "a.txt").read_text() == expected
        texts = [json.loads(line)["text"] for line in (out / "a.jsonl").read_text().splitlines()]
        assert texts == [recaser(text, wrapped=True)] * 2 + ["It was\nLate"]
        cli.main(
            ["recase", *options, str(tmp_path / "a.txt"), "-o", str(out / "b"), "--jobs", jobs], standalone_mode=False
        )
        assert (out / "b").read_text() == expected
    capsys.readouterr()
    cli.main(["recase", str(tmp_path / "a.txt"), "-o", str(tmp_path / "b")], standalone_mode=False)
    assert "--wrapped" in capsys.readouterr().err
    cli.main(["recase", "--wrapped", str(tmp_path / "a.txt"), "-o", str(tmp_path / "b")], standalone_mode=False)
    assert "--wrapped" not in capsys.readouterr().err


@pytest.mark.parametrize("size", [1, 100, 5000])
def test_blocks_of_any_size(recaser: Recaser, size: int) -> None:
    text = (TEXT + "\n" + textwrap.fill(lower(PROSE), 70) + "\n\n") * 3
    lines = text.encode().splitlines(keepends=True)
    blocks = [b"".join(lines[k : k + size]) for k in range(0, len(lines), size)]
    pipeline = Recaser(recaser.model, sentence_case=True, wrapped=True).pipeline
    assert b"".join(pipeline.recase_blocks(blocks, jobs=2)).decode() == recaser(text, wrapped=True)


def test_long_documents(recaser: Recaser) -> None:
    """Their length is that of the unwrapped text, also if it arrives in blocks."""
    text = "mr. bush and mrs. bush\ncame to see us again and again in the evening\n" * 101 + "a bush, said bush\n"
    options = {"wrapped": True, "document": True}
    blocks = recaser.pipeline_with(options, "recaser").recase_blocks([text.encode()])
    assert b"".join(blocks).decode() == recaser(text, **options)
