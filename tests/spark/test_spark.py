"""Recasing, batches and training on Spark: the same bytes as on one machine. One real session, of two threads."""

import filecmp
import gzip
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
from support import java

import capfst
from capfst.errors import CapfstError

if reason := java.missing():
    pytest.skip(reason, allow_module_level=True)

from capfst.batch.inputs import plan
from capfst.batch.protocol import BatchOptions
from capfst.batch.run import run
from capfst.context import sample
from capfst.context.model import Context
from capfst.fst.read import CapFst
from capfst.spark import batch as spark_batch
from capfst.spark import corpus as spark_corpus
from capfst.spark.dataframe import recase
from capfst.spark.model import Sent, send
from capfst.spark.session import session

CORPUS = """\
In New York, the mayor met Mr. O'Neill and an IBM engineer.
The mayor of New York said that the state-of-the-art iPhone was made in China.
We don't think they're in Paris, France.
this line is rejected
The president of the U.S. met the president of France, état-major and Ⱥⱥ.
A state-of-the-art plan was met by an engineer of the U.S. in New York.
"""
PROSE = "\n".join(" ".join(some.split()) for text in topics.values() for some in text.split("\n\n"))
TEXTS = ["new york's mayor", None, "", "met\nmr. o’neill in PARIS\n", "ⱥⱥ of france", "the iphone"] * 9
TEXTS += [f"mr. xyzzyson said {line}" for line in PROSE.lower().splitlines()[:300]]
# Spark is told to start as fast as it can, and to need no network.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def environment(folder):
    settings = " ".join(f"--conf '{key}={value}'" for key, value in SETTINGS.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{settings} pyspark-shell")
        for name, value in java.environment(folder / "java").items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def spark(environment):
    with session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="module")
def corpus(folder):
    """Files of all kinds, which are read in several parts."""
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "a.txt").write_bytes(b"\xef\xbb\xbf" + CORPUS.encode() * 3)
    (corpus / "b.txt").write_text(CORPUS[:-1], "utf-8")
    (corpus / "c.txt.gz").write_bytes(gzip.compress(CORPUS[60:].encode()))
    (corpus / "d.txt").write_text("all of this is rejected\n")
    return corpus


@pytest.fixture(scope="module")
def sources(folder):
    """Files of two kinds of text, large and small, some of which nothing is learned from."""
    rng = np.random.default_rng(5)
    words = np.array(["The", "Cat", "Paris", "met", "the", "new", "cat", "of", "us"])
    tales = "".join(f"The {' '.join(words[rng.integers(0, 9, 12)])}.\n" for _ in range(2000))
    folder = folder / "sources"
    folder.mkdir()
    for name, text in {
        "a": "", "b": tales, "c": "all of this is rejected\n" * 900, "d": PROSE[:200_000], "e": CORPUS,
        "f": "rejected\n", "h": tales[5000:9000], "i": "",
    }.items():  # fmt: skip
        (folder / f"{name}.txt").write_text(text, "utf-8")
    (folder / "g.txt.gz").write_bytes(gzip.compress(PROSE[60_000:90_000].encode()))
    return folder


@pytest.fixture(scope="module")
def model(corpus, folder):
    """That knows enough words for its context to matter."""
    path = folder / "cap.fst"
    (folder / "prose.txt").write_text(PROSE, "utf-8")
    capfst.train([corpus, folder / "prose.txt"], path)
    return path


# The column of a DataFrame


@pytest.mark.parametrize("ship", [False, True])
@pytest.mark.parametrize("options", [{}, {"sentence_case": True}, {"context": False}, {"oov": "pass"}])
def test_a_column_is_recased_as_here(spark, model, ship, options):
    rows = spark.createDataFrame(
        [(k, text, [text]) for k, text in enumerate(TEXTS)], "k long not null, t string, x array<string>"
    )
    recased = recase(rows.repartition(3), "t", model, ship=ship, **options)
    assert recased.schema == rows.schema
    recaser = capfst.load(model, **options)
    expected = [None if text is None else recaser.recase(text) for text in TEXTS]
    assert "New York" in expected[0]
    assert sorted(map(tuple, recased.collect())) == [(k, text, [TEXTS[k]]) for k, text in enumerate(expected)]


def test_an_empty_frame_is_recased(spark, model):
    assert recase(spark.createDataFrame([], "t string"), "t", model).collect() == []


def test_options_travel(spark, model):
    """Each makes a difference, so that the test above would see if it got lost."""
    texts = [text for text in TEXTS if text is not None]
    options = {"context": False}, {"oov": "pass"}, {}
    assert len({tuple(map(capfst.load(model, **some).recase, texts)) for some in options}) == 3


def test_a_model_is_sent_once_with_its_context(spark, model, tmp_path):
    alone = tmp_path / "alone.fst"
    shutil.copy(model, alone)
    for lm, options, number in (model, {}, 2), (model, {"context": False}, 1), (alone, {}, 1):
        sent = [send(spark, capfst.load(lm, **options), ship=True) for _ in range(2)]
        assert sent[0] == sent[1]
        names = [file.rpartition("/")[2] for file in spark.sparkContext.listFiles]
        assert (
            sorted(name for name in names if name.startswith(sent[0].name))
            == ([sent[0].name, f"{sent[0].name}.context"][:number])
        )


@pytest.mark.parametrize("ship", [False, True])
def test_a_model_without_context_is_enough(spark, model, tmp_path, ship):
    alone = tmp_path / "alone.fst"
    shutil.copy(model, alone)
    rows = spark.createDataFrame([(text,) for text in TEXTS[:6]], "t string")
    recaser = capfst.load(alone)
    assert recaser.context is None
    found = [row.t for row in recase(rows, "t", alone, ship=ship).collect()]
    assert found == [None if text is None else recaser.recase(text) for text in TEXTS[:6]]


@pytest.mark.parametrize(
    ("column", "lm", "options", "message"),
    [
        ("k", "cap.fst", {}, "'k' is of type bigint|'k' is of type long"),
        ("no", "cap.fst", {}, "'no' is not among k, t"),
        ("t", "no.fst", {}, "no.fst: No such file"),
        ("t", "cap.fst", {"engine": "no"}, "there is no engine 'no'"),
    ],
)
def test_what_cannot_be_recased_is_refused_at_once(spark, model, column, lm, options, message):
    with pytest.raises(CapfstError, match=message):
        recase(spark.createDataFrame([(1, "a")], "k long, t string"), column, model.with_name(lm), **options)


def test_a_worker_refuses_another_model(model):
    sent = Sent(str(model), "0" * 16, (), None)
    with pytest.raises(CapfstError, match="not the one that the work began with"):
        pickle.loads(pickle.dumps(sent)).recaser()


# Training


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": 5, "cutoffs": (0, 0, 1), "min_count": 2},
        {"order": 2, "pretokenized": True, "max_words": 20, "max_ngrams": 40},
    ],
    ids=str,
)
def test_training_gives_the_same_model(spark, corpus, tmp_path, monkeypatch, options):
    monkeypatch.setattr(spark_corpus, "_PART", 900)
    here = capfst.train(corpus, tmp_path / "cap.fst", **options)
    there = capfst.train(corpus, tmp_path / "spark.fst", spark=spark, **options)
    assert same_models(tmp_path / "cap.fst", tmp_path / "spark.fst")
    assert there.report() == here.report().replace("cap.fst", "spark.fst")
    assert min(there.ngrams) > 0


def same_models(one, other) -> bool:
    """With their context models."""
    beside = [path.with_name(f"{path.name}.context") for path in (one, other)]
    return filecmp.cmp(one, other, shallow=False) and filecmp.cmp(*beside, shallow=False)


def test_context_is_learned_as_here(spark, sources, tmp_path, monkeypatch):
    """From as many sentences of each source, be it a part of a file or several files."""
    monkeypatch.setattr("capfst.corpus.files._SMALL", 900)
    monkeypatch.setattr(sample, "MAX_LABELS", 30_000)
    monkeypatch.setattr(spark_corpus, "_PART", 80_000)
    for name, where in ("here", None), ("there", spark):
        capfst.train(sources, tmp_path / name, order=1, spark=where)
    assert same_models(tmp_path / "here", tmp_path / "there")
    context = Context.beside(CapFst.open(tmp_path / "here"))
    assert context is not None
    assert len(context.scales) > 1


def test_the_last_new_word_is_found_in_any_part(spark, tmp_path, monkeypatch):
    """What follows lmplz (discount.py) looks at a word's first place in the whole corpus."""
    monkeypatch.setattr(spark_corpus, "_PART", 250)
    text = tmp_path / "a.txt"
    rng = np.random.default_rng(5)
    words = np.array(["The", "new", "Cat", "cat", "of", "Paris", "met", "us"])
    lines = [" ".join(words[rng.integers(0, 2 + k // 4, 7)]) for k in range(24)]
    text.write_text("\n".join(lines))
    for name, where in ("here", None), ("there", spark):
        capfst.train(text, tmp_path / name, clean=False, order=4, spark=where)
    assert filecmp.cmp(tmp_path / "here", tmp_path / "there", shallow=False)


def test_errors_in_a_corpus_are_those_found_here(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_corpus, "_PART", 100)
    text = tmp_path / "bad.txt"
    text.write_bytes(CORPUS.encode() + b"caf\xe9\n" + CORPUS.encode())
    messages = []
    for where in None, spark:
        with pytest.raises(CapfstError, match="not UTF-8 at byte") as raised:
            capfst.train(text, tmp_path / "cap.fst", spark=where)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert not (tmp_path / "cap.fst").exists()


# Batches


class Quiet:
    def begin(self, files, size):
        pass

    def advance(self, more):
        pass

    def file(self, report):
        pass


@pytest.fixture
def tree(tmp_path):
    """Text that is recased in parts, other formats, and files that fail."""
    text = CORPUS.lower()
    tree = tmp_path / "in"
    (tree / "deep").mkdir(parents=True)
    (tree / "a.txt").write_text(text * 5 + "no newline", "utf-8")
    (tree / "deep" / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tree / "c.tsv").write_text("id\ttext\n" + "".join(f"{k}\t{line}\n" for k, line in enumerate(text.splitlines())))
    (tree / "d.jsonl").write_text('{"text": "new york"}\n' * 9 + '{"text": null}\n')
    (tree / "empty.txt").write_text("")
    (tree / "bad.jsonl").write_text('{"text": "new york"}\n' * 20 + "{\n")
    (tree / "bad.txt.gz").write_bytes(gzip.compress(text.encode())[:-9])
    return tree


def outputs(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("[!.]*") if path.is_file()}


def test_a_batch_is_recased_as_here(spark, model, tree, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_batch, "PART", 200)
    recaser = capfst.load(model)

    def batch(where, name, **options):
        out = tmp_path / name
        runner = None if where is None else lambda shared: spark_batch.SparkRunner(shared, where, recaser)
        done = run(
            plan([tree], out, model), out, recaser, BatchOptions(), jobs=2, listener=Quiet(), runner=runner, **options
        )
        files = {file["input"]: file for file in done.to_dict()["files"]}
        for file in files.values():
            del file["seconds"], file["output"]
        return files

    here, there = batch(None, "here"), batch(spark, "there")
    assert there == here
    assert outputs(tmp_path / "there") == outputs(tmp_path / "here")
    assert len(outputs(tmp_path / "there")) == 5
    assert sorted(file["status"] for file in there.values()) == ["done"] * 5 + ["failed"] * 2
    assert not list((tmp_path / "there").rglob(".capfst-*.tmp"))
    for where in None, spark:  # what the other engine has done is done
        assert [file["status"] for file in batch(where, "there").values()].count("skipped") == 5


# The command line


def capfst_command(*arguments) -> str:
    done = subprocess.run([sys.executable, "-m", "capfst", *map(str, arguments)], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


def test_commands(environment, corpus, model, tree, tmp_path):
    there = "--runner", "spark", "--master", "local[2]"
    assert "kept" in capfst_command(
        "train", corpus, corpus.with_name("prose.txt"), "-o", tmp_path / "spark.fst", *there
    )
    assert same_models(model, tmp_path / "spark.fst")
    for name, where in ("here", ()), ("there", there):
        assert "1 done" in capfst_command("batch", "--lm", model, tree / "a.txt", "--out", tmp_path / name, *where)
    assert outputs(tmp_path / "there") == outputs(tmp_path / "here")
