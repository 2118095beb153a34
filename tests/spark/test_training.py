"""Test that training on Spark writes the same bytes as on one machine."""

import gzip
import json
import re
import textwrap
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import java
from support.command_line import run
from support.spark import CORPUS, PROSE, same_models

import capfst
from capfst.context.context_model import Context
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.options import ContextOptions
from capfst.punctuation.marks import PART

if reason := java.missing():
    pytest.skip(reason, allow_module_level=True)

from capfst.spark import corpus as spark_corpus

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with large and small files of two kinds of text, some without a sentence to learn from."""
    rng = np.random.default_rng(5)
    words = np.array(["The", "Cat", "Paris", "met", "the", "new", "cat", "of", "us"])
    tales = "".join(f"The {' '.join(words[rng.integers(0, 9, 12)])}.\n" for _ in range(2000))
    folder = tmp_path_factory.mktemp("sources")
    for name, text in {
        "a": "", "b": tales, "c": "all of this is rejected\n" * 900, "d": PROSE[:200_000], "e": CORPUS,
        "f": "rejected\n", "h": tales[5000:9000], "i": "",
    }.items():  # fmt: skip
        (folder / f"{name}.txt").write_text(text, "utf-8")
    (folder / "g.txt.gz").write_bytes(gzip.compress(PROSE[60_000:90_000].encode()))
    return folder


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": 5, "cutoffs": (0, 0, 1), "min_count": 2},
        {"order": 2, "pretokenized": True, "max_words": 20, "max_ngrams": 40},
    ],
    ids=str,
)
def test_training_gives_the_same_model_and_report(spark, corpus, tmp_path, monkeypatch, options):
    monkeypatch.setattr(spark_corpus, "_PART", 900)
    here = capfst.train(corpus, tmp_path / "cap.fst", **options)
    there = capfst.train(corpus, tmp_path / "spark.fst", spark=spark, **options)
    assert same_models(tmp_path / "cap.fst", tmp_path / "spark.fst")
    assert there.report() == here.report().replace("cap.fst", "spark.fst")
    assert min(there.ngrams) > 0


def test_the_context_model_is_the_same(spark, sources, tmp_path, monkeypatch):
    """It is learned from the same sentences of each source, which is a file in parts or several files."""
    monkeypatch.setattr("capfst.io.files._SMALL", 900)
    monkeypatch.setattr(spark_corpus, "_PART", 80_000)
    for name, where in ("here", None), ("there", spark):
        capfst.train(sources, tmp_path / name, order=1, spark=where, context=ContextOptions(max_labels=30_000))
    assert same_models(tmp_path / "here", tmp_path / "there")
    context = Context.of(CapFst.open(tmp_path / "here"))
    assert context is not None
    assert len(context.scales) > 1


def test_the_punctuation_is_the_same(spark, sources, tmp_path, monkeypatch):
    monkeypatch.setattr("capfst.io.files._SMALL", 900)
    monkeypatch.setattr(spark_corpus, "_PART", 80_000)
    for name, value in ("train.MOST_LABELS", 30_000), ("train.LEAST_MARKS", 10), ("train.LEAST_STEPS", 3):
        monkeypatch.setattr(f"capfst.punctuation.{name}", value)
    for name, where in ("here", None), ("there", spark):
        capfst.train(
            sources, tmp_path / name, order=1, spark=where, context=False, clean=False, restore="punctuation,case"
        )
    assert same_models(tmp_path / "here", tmp_path / "there")
    assert PART in CapFst.open(tmp_path / "here").parts


def test_the_context_model_of_several_languages_is_the_same(spark, sources, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_corpus, "_PART", 80_000)
    (tmp_path / "words.txt").write_text("Xyzzy\nfrobnicate\nNew York\n")
    languages, words = [f"de={sources}/[bh].txt", f"en={sources}/[a-dg]*"], f"de={tmp_path}/words.txt"
    for name, where in ("here", None), ("there", spark):
        capfst.train(languages, tmp_path / name, words=words, order=1, spark=where)
    assert same_models(tmp_path / "here", tmp_path / "there")
    assert Context.of(CapFst.open(tmp_path / "here")).n_languages == 2


def test_the_last_new_word_is_found_in_any_part(spark, tmp_path, monkeypatch):
    """The counts that follow lmplz (discount.py) depend on a word's first position in the whole corpus."""
    monkeypatch.setattr(spark_corpus, "_PART", 250)
    text = tmp_path / "a.txt"
    rng = np.random.default_rng(5)
    words = np.array(["The", "new", "Cat", "cat", "of", "Paris", "met", "us"])
    lines = [" ".join(words[rng.integers(0, 2 + k // 4, 7)]) for k in range(24)]
    text.write_text("\n".join(lines))
    for name, where in ("here", None), ("there", spark):
        capfst.train(text, tmp_path / name, clean=False, order=4, spark=where)
    assert same_models(tmp_path / "here", tmp_path / "there")


def test_an_error_in_a_corpus_is_the_same(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_corpus, "_PART", 100)
    text = tmp_path / "bad.txt"
    text.write_bytes(CORPUS.encode() + b"caf\xe9\n" + CORPUS.encode())
    messages = []
    for where in None, spark:
        with pytest.raises(CapfstError, match=r"/bad\.txt\b.*\(0xe9\)") as raised:
            capfst.train(text, tmp_path / "cap.fst", spark=where)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert not (tmp_path / "cap.fst").exists()


def test_files_of_any_format_give_the_same_model_and_errors(spark, tmp_path, monkeypatch, caplog):
    """Each file is one task, and so is wrapped text."""
    monkeypatch.setattr(spark_corpus, "_PART", 900)
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = PROSE[:60_000].splitlines()
    (folder / "a.txt").write_text("\n".join(lines))
    (folder / "b.txt").write_text("\n\n".join(textwrap.fill(line, 60) for line in lines if line))
    (folder / "c.jsonl").write_text("".join(f"{json.dumps({'text': line})}\n" for line in lines))
    pq.write_table(pa.table({"text": lines}), folder / "d.parquet")
    options = {"field": "text", "column": "1"}
    warnings = []
    for name, where in ("here", None), ("there", spark):
        caplog.clear()
        capfst.train(folder, tmp_path / name, spark=where, **options)
        warnings.append(caplog.messages[0])
    assert same_models(tmp_path / "here", tmp_path / "there")
    assert re.search(r"/b\.txt: .*\b(5\d|60) characters", warnings[0])
    assert warnings[0] == warnings[1]
    with open(folder / "c.jsonl", "a") as out:
        out.write("{}\n")
    for where in None, spark:
        with pytest.raises(CapfstError, match=rf"c\.jsonl[:,] line {len(lines) + 1}: .*'text'"):
            capfst.train(folder, tmp_path / "cap.fst", spark=where, **options)


def test_the_command_trains_the_same_model_on_spark(spark, corpus, prose, model, tmp_path, monkeypatch):
    """The command uses the session of the other tests, and does not close it."""
    masters = []
    monkeypatch.setattr("capfst.spark.session.session", lambda master: nullcontext(masters.append(master) or spark))
    out = tmp_path / "spark.fst"
    done = run("train", corpus, prose, "-o", out, "--runner", "spark", "--master", "local[2]")
    assert re.search(r"[\d,]+ of [\d,]+ lines", done.stderr.decode())
    assert masters == ["local[2]"]
    assert same_models(model, out)
