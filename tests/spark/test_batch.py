"""Test that a batch on Spark writes the same files as on one machine."""

import gzip
import json
import os
import sys
from functools import partial

import pytest
from support import java, translations
from support.command_line import run, run_process
from support.folders import contents
from support.spark import CORPUS

import capfst
from capfst.batch.report import Display
from capfst.batch.run import run_batch
from capfst.io.outputs import MANIFEST, plan
from capfst.io.protocol import BatchOptions

if reason := java.missing():
    pytest.skip(reason, allow_module_level=True)

from capfst.spark import batch as spark_batch

pytestmark = pytest.mark.slow


outputs = partial(contents, without=MANIFEST)


@pytest.fixture
def tree(tmp_path):
    """Return a folder with text that is recased in parts, other formats, and files that fail."""
    text = CORPUS.lower()
    tree = tmp_path / "in"
    (tree / "deep").mkdir(parents=True)
    (tree / "a.txt").write_text(text * 5 + "no newline", "utf-8")
    (tree / "deep" / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tree / "c.tsv").write_text("id\ttext\n" + "".join(f"{k}\t{line}\n" for k, line in enumerate(text.splitlines())))
    rows = "".join(f'{k},"new york,\n{line}"\n' for k, line in enumerate(text.splitlines()))
    (tree / "c.csv").write_text("id,text\n" + rows)
    (tree / "d.jsonl").write_text('{"text": "new york"}\n' * 9 + '{"text": null}\n')
    (tree / "empty.txt").write_text("")
    (tree / "bad.jsonl").write_text('{"text": "new york"}\n' * 20 + "{\n")
    (tree / "bad.txt.gz").write_bytes(gzip.compress(text.encode())[:-9])
    os.mkfifo(tree / "pipe.txt")
    return tree


def test_a_batch_is_recased_as_on_one_machine(spark, model, tree, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_batch, "PART", 200)
    recaser = capfst.load(model)
    runners = {"here": None, "there": lambda run: spark_batch.SparkRunner(run, spark, recaser)}

    def batch(where, name):
        out = tmp_path / name
        todo = plan([tree], out, model)
        done = run_batch(todo, out, recaser, BatchOptions(), jobs=2, display=Display(quiet=True), runner=runners[where])
        files = {file["input"]: file for file in done.to_dict()["files"]}
        for file in files.values():
            del file["seconds"], file["output"]
        return files

    here, there = batch("here", "here"), batch("there", "there")
    assert there == here
    assert outputs(tmp_path / "there") == outputs(tmp_path / "here")
    assert len(outputs(tmp_path / "there")) == 6
    assert sorted(file["status"] for file in there.values()) == ["done"] * 6 + ["failed"] * 3
    assert not list((tmp_path / "there").rglob(".capfst-*.tmp"))
    for where in runners:  # each runner skips the files that the other has written
        assert [file["status"] for file in batch(where, "there").values()].count("skipped") == 6


def test_the_command_writes_the_same_files_on_spark(environment, model, tree, tmp_path):
    """This is the only test of a command that starts Spark."""
    batch = "batch", "--lm", model, tree / "a.txt", "--output"
    assert " 1 done, " in run(*batch, tmp_path / "here").stderr.decode()
    there = run_process(*batch, tmp_path / "there", "--runner", "spark", "--master", "local[2]")
    assert " 1 done, " in there.stderr.decode()
    assert outputs(tmp_path / "there") == outputs(tmp_path / "here")


def test_translations_are_recased_with_their_source(spark, tmp_path, monkeypatch):
    from capfst.training.bilingual import train_bilingual  # noqa: PLC0415

    target, source, align = translations.write(tmp_path, translations.bitext(600))
    capfst.train(target, tmp_path / "cap.fst", clean=False)
    train_bilingual(target, source, align, tmp_path / "bilingual.fst", lm=tmp_path / "cap.fst")
    recaser = capfst.load(tmp_path / "bilingual.fst")
    texts = translations.bitext(90, seed=4)
    lowered = [line.lower() for line in texts.target]
    rows = [{"text": t, "en": s, "pairs": a} for t, s, a in zip(lowered, texts.source, texts.align, strict=True)]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setattr(spark_batch, "PART", 900)
    run_batch(
        plan([tmp_path / "in.jsonl"], tmp_path / "out", tmp_path / "bilingual.fst"),
        tmp_path / "out", recaser,
        BatchOptions("text", source="en", align="pairs"), jobs=2, display=Display(quiet=True),
        runner=lambda run: spark_batch.SparkRunner(run, spark, recaser),
    )  # fmt: skip
    expected = recaser.recase_aligned(lowered, texts.source, texts.align)
    recased = [json.loads(line) for line in (tmp_path / "out" / "in.jsonl").read_text().splitlines()]
    assert recased == [{**row, "text": line} for row, line in zip(rows, expected, strict=True)]
    assert expected != recaser(lowered)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 always imports from the folder of the workers")
def test_workers_do_not_import_from_the_folder_in_which_they_start(spark):
    assert spark.sparkContext.parallelize([0], 1).map(lambda _: sys.flags.safe_path).collect() == [True]
