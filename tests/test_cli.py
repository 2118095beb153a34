"""Test the command line: output and exit status of each command, errors for bad input, and no half-written files."""

import bz2
import gzip
import json
import lzma
import mmap
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from support.command_line import CAPFST, CORPUS, TIMEOUT, message, run, run_process, run_python, start

from capfst.io.codecs import zstd


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text(CORPUS * 3, "utf-8")
    return path


@pytest.fixture(scope="module")
def model(corpus):
    path = corpus.with_name("cap.fst")
    run("train", "-q", corpus, "-o", path)
    return path


@pytest.mark.slow
def test_train_reports_and_recase_restores(corpus, tmp_path):
    path = tmp_path / "cap.fst"
    done = run_process("train", corpus, "-o", path)
    assert done.stdout == b""
    assert "kept 12 of 12 lines" in done.stderr.decode()
    assert "12 sentences" in done.stderr.decode()
    text = "new york's mayor was made in PARIS\n\n  the iphone,\tof ibm \r\nmr. o’neill"
    expected = "New York's mayor was made in Paris\n\n  the iPhone,\tof IBM \r\nMr. O’Neill"
    assert run_process("recase", "--lm", path, stdin=text).stdout.decode() == expected


def test_options_capitalize_sentences_and_set_the_start_token(model):
    assert run("recase", "--lm", model, "--sentence-case", stdin='"the mayor').stdout == b'"The mayor'
    assert run("recase", "--lm", model, stdin="the mayor").stdout == b"the mayor"
    assert run("recase", "--lm", model, "--start-token", "<unk>", stdin="new york").stdout == b"New York"


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_files_are_recased_one_after_another_to_an_output(model, tmp_path, engine):
    if engine == "openfst":
        pytest.importorskip("pynini")
    first, second, out = tmp_path / "1", tmp_path / "2", tmp_path / "out"
    first.write_text("new york", "utf-8")
    second.write_text("paris\n", "utf-8")
    assert run("recase", "--lm", model, "--engine", engine, first, second, "-o", out).stdout == b""
    assert out.read_text("utf-8") == "New York\nParis\n"


def test_jobs_give_the_same_bytes(model):
    text = "\n".join(["the mayor of new york", "", "ibm ibm"] * 50_000)
    one = run("recase", "--lm", model, "--jobs", 1, stdin=text).stdout
    assert run("recase", "--lm", model, "--jobs", 3, stdin=text).stdout == one
    assert one.decode().lower() == text


def test_nbest_lists_casings_by_cost():
    lines = run("recase", "--nbest", 2, stdin="in may\n").stdout.decode().splitlines()
    costs, casings = zip(*(line.split("\t") for line in lines), strict=True)
    assert casings == ("in May", "in may")
    assert [float(cost) for cost in costs] == sorted(map(float, costs))


def test_confidence_is_json_with_log_odds(model):
    out = run("recase", "--lm", model, "--confidence", stdin="“new york\n\nparis").stdout.decode()
    first, empty, last = map(json.loads, out.splitlines())
    assert first["text"] == "“New York"
    assert [first["text"][word["start"] : word["end"]] for word in first["words"]] == ["New", "York"]
    assert all(word["log_odds"] is None or word["log_odds"] > 0 for word in first["words"])
    assert empty == {"text": "", "words": []}
    (paris,) = last["words"]
    assert paris.pop("log_odds") > 0
    assert paris == {"start": 0, "end": 5, "word": "Paris"}
    out = run("recase", "--lm", model, "--confidence", "--no-context", stdin="paris").stdout
    assert json.loads(out)["words"] == [paris | {"log_odds": None}]  # the LM has no other casing
    assert b"--nbest" in run("recase", "--lm", model, "--confidence", "--nbest", 2, stdin="x", code=2).stderr


def test_no_context_equals_training_without_context(model, corpus, tmp_path):
    text = "the xyzzy of new york\n" * 3

    def recased(path, *options) -> str:
        return run("recase", "--lm", path, *options, stdin=text).stdout.decode()

    assert "xyzzy of New York" in recased(model, "--oov", "pass")
    alone = tmp_path / "cap.fst"
    run("train", "-q", "--no-context", corpus, "-o", alone)
    assert [path.name for path in tmp_path.iterdir()] == ["cap.fst"]
    assert model.read_bytes().startswith(alone.read_bytes()[:-100])
    assert recased(alone) == recased(model, "--no-context")


def test_score_prints_a_table_or_json(tmp_path):
    reference, hypothesis = tmp_path / "ref", tmp_path / "hyp"
    reference.write_text("Hi Bob\nin Paris\n", "utf-8")
    hypothesis.write_text("Hi bob\nin Paris\n", "utf-8")
    table = run("score", reference, hypothesis).stdout.decode()
    assert "75.00" in table
    assert "capfst-score|" in table
    scores = json.loads(run("score", "--json", reference, hypothesis).stdout)
    assert scores["accuracy"] == 75
    two = run("score", reference, hypothesis, reference).stdout.decode()
    assert "95 % interval" in two


def test_score_of_other_text_names_the_line(tmp_path):
    reference, hypothesis = tmp_path / "ref", tmp_path / "hyp"
    reference.write_text("a\nHi Bob\n", "utf-8")
    hypothesis.write_text("a\nHi Bop\n", "utf-8")
    assert "line 2" in message(run("score", reference, hypothesis, code=1))


def test_score_aligns_different_words(tmp_path):
    (tmp_path / "ref").write_text("We met in New York\nYes\n")
    (tmp_path / "hyp").write_text("we met in new yolk\nyes\n")
    table = run("score", "--align", tmp_path / "ref", tmp_path / "hyp").stdout.decode()
    assert "words in common" in table
    assert "WER" in table
    scores = json.loads(run("score", "--align", "--json", tmp_path / "ref", tmp_path / "hyp").stdout)
    assert scores["wer"] == pytest.approx(100 / 6)
    assert "wer" not in json.loads(run("score", "--json", tmp_path / "ref", tmp_path / "ref").stdout)
    assert "WER" in run("score", "--align", tmp_path / "ref", tmp_path / "hyp", tmp_path / "ref").stdout.decode()


def test_score_with_a_model_records_its_vocabulary(model, tmp_path):
    reference = tmp_path / "ref"
    reference.write_text("New York's Mayor Xyz\n", "utf-8")
    table = run("score", "--lm", model, reference, reference).stdout.decode()
    assert "vocabulary:yes" in table


def test_tokenize_and_perplexity_use_the_model(model, corpus):
    assert run("tokenize", "--lm", model, stdin="We don't!\n").stdout == b"We do n't !\n"
    result = json.loads(run("perplexity", "--lm", model, "--json", corpus).stdout)
    assert result["oov"] == 0
    assert 1 < result["including_oov"] < 10
    text = run("perplexity", "--lm", model, stdin="unheard words").stdout.decode()
    assert "OOVs:\t2\nTokens:\t3\n" in text
    for options in [], ["--json"]:
        assert "the text is empty" in message(run("perplexity", "--lm", model, *options, stdin="", code=1))
    assert json.loads(run("perplexity", "--lm", model, "--json", stdin="\n").stdout)["tokens"] == 1  # a sentence end


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("through", ["stdin", "file", "output"])
def test_recase_keeps_the_encoding(model, tmp_path, encoding, through):
    given, expected = ("\ufeff" * (encoding == "utf-16") + text for text in ("in paris é\nibm", "in Paris É\nIBM"))
    codec = encoding.replace("utf-16", "utf-16-be")
    (tmp_path / "a").write_bytes(given.encode(codec))
    options = ["recase", "--lm", model, "--encoding", encoding]
    if through == "stdin":
        done = run(*options, stdin=given.encode(codec)).stdout
    elif through == "file":
        done = run(*options, tmp_path / "a").stdout
    else:
        run(*options, tmp_path / "a", "-o", tmp_path / "out.gz")
        done = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert done == expected.encode(codec)
    if through == "file":
        name = "UTF-16" if encoding == "utf-16" else "LATIN1"
        error = message(run("recase", "--lm", model, tmp_path / "a", code=1))
        assert f"--encoding {name}" in error
        assert f"iconv -f {name} -t UTF-8" in error


def test_unsupported_encodings_and_delimiters(model, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a;b\nibm;ibm\n")
    for command in ["recase", tmp_path / "a.csv", "-q"], ["batch", tmp_path / "a.csv", "-o", tmp_path / "out"]:
        error = message(run(*command, "--lm", model, "--encoding", "latin9x", code=1))
        assert error.startswith("capfst: error: --encoding is 'latin9x'. ")
    error = message(run("batch", tmp_path / "a.csv", "-o", tmp_path / "out", "--delimiter", ";;", code=1))
    assert error.startswith("capfst: error: --delimiter is ';;'. ")


def test_several_texts_of_records(model, tmp_path):
    """batch recases several fields and columns of all formats, and train reads them."""
    (tmp_path / "a.jsonl").write_bytes(b'{"a": {"b": [{"c": "ibm"}]}, "d": "in paris", "e": "ibm"}\n')
    (tmp_path / "b.json").write_bytes(b'[\n  {"a": {"b": [{"c": "ibm"}]},\n   "d": "in paris"}\n]\n')
    (tmp_path / "c.csv").write_bytes(b"f;g;h\nibm;ibm;in paris\n")
    texts = ["--field", "a.b[].c", "--field", "d", "--column", "f", "--column", "h", "--delimiter", ";"]
    run("batch", tmp_path, "--lm", model, *texts, "-o", (out := tmp_path.with_name("out")), "-q")
    expected = {
        "a.jsonl": b'{"a": {"b": [{"c": "IBM"}]}, "d": "in Paris", "e": "ibm"}\n',
        "b.json": b'[\n  {"a": {"b": [{"c": "IBM"}]},\n   "d": "in Paris"}\n]\n',
        "c.csv": b"f;g;h\nIBM;ibm;in Paris\n",
    }
    assert {name: (out / name).read_bytes() for name in expected} == expected
    again = run("batch", tmp_path, "--lm", model, *texts, "-o", out).stderr.decode()
    assert "3 done before" in again  # the options are as in the manifest
    trained = run("train", tmp_path, *texts, "--no-clean", "--no-context", "-o", tmp_path.with_name("m.fst")).stderr
    assert b"learned from 6 sentences, 9 tokens" in trained
    error = run("batch", tmp_path, "--lm", model, *texts[4:], "-o", out, code=1).stderr.decode()
    assert "1 left out" in error  # .json, as no field is named
    assert "no field 'text'. Use --field with one of its texts: a.b[].c, d, e. " in error
    error = run("batch", f"{tmp_path}/*.json", "--lm", model, "-o", out, code=1).stderr.decode()
    assert "b.json, line 2: the object has no field 'text'" in error


def test_info_prints_the_signature_or_json(model):
    text = run("info", "--lm", model).stdout.decode()
    assert "order:3" in text
    assert json.loads(run("info", "--json", "--lm", model).stdout)["order"] == 3


def test_train_takes_folders_globs_and_compressed_files(corpus, model, tmp_path):
    lines = corpus.read_bytes().splitlines(keepends=True)
    (tmp_path / "a.txt").write_bytes(b"".join(lines[:4]))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"".join(lines[4:8])))
    (tmp_path / "c.txt.zst").write_bytes(zstd.compress(b"".join(lines[8:])))
    for source in (tmp_path, f"{tmp_path}/*.txt*"):
        run("train", "-q", source, "-o", tmp_path / "m.fst")
        assert (tmp_path / "m.fst").read_bytes() == model.read_bytes()
        (tmp_path / "m.fst").unlink()


def test_pretokenized_text_is_split_only_at_white_space(tmp_path):
    (tmp_path / "t").write_text("A U.S.-based don't x-Y 12\n", "utf-8")
    run("train", "-q", "--no-clean", "--pretokenized", tmp_path / "t", "-o", tmp_path / "m.fst")
    text = "a u.s.-based DON'T X-Y 12"
    recased = run("recase", "--input-case", "ignore", "--lm", tmp_path / "m.fst", stdin=text).stdout
    assert recased == b"A U.S.-based don't x-Y 12"


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_same_corpus_gives_the_same_bytes(model, corpus, tmp_path, seed):
    code = "import sys, capfst\nfor jobs in 1, 4: capfst.train(sys.argv[1], f'{sys.argv[2]}/{jobs}', jobs=jobs)"
    run_python(code, corpus, tmp_path, env={**os.environ, "PYTHONHASHSEED": seed})
    for jobs in "14":
        assert (tmp_path / jobs).read_bytes() == model.read_bytes()


def test_bounded_memory_gives_the_same_bytes(corpus, model, tmp_path):
    (tmp_path / "tmp").mkdir()
    options = ["--memory", "1G", "--tmp", tmp_path / "tmp"]
    run_process("train", "-q", *options, corpus, "-o", tmp_path / "m.fst")  # not with the memory of this one
    assert (tmp_path / "m.fst").read_bytes() == model.read_bytes()
    assert list((tmp_path / "tmp").iterdir()) == []
    for size in "1M", "1 MiB":  # the second as in messages
        error = message(run("train", "-q", "--memory", size, corpus, "-o", tmp_path / "m", code=1))
        assert "--memory is 1 MiB" in error


def test_vocabulary_limits_cutoffs_and_pruning_drop_ngrams(corpus, tmp_path):
    def ngrams(*options) -> list[int]:
        run("train", "-q", "--no-context", *options, corpus, "-o", tmp_path / "m.fst")
        return json.loads(run("info", "--json", "--lm", tmp_path / "m.fst").stdout)["ngrams"]

    whole = ngrams()
    assert ngrams("--min-count", 4)[0] < whole[0]
    assert ngrams("--max-words", 10)[0] == 14  # and <unk>, </s>, and two names in mixed case
    assert ngrams("--cutoff", "0,0,3")[2] < whole[2]
    assert sum(ngrams("--max-ngrams", 60)) <= 60
    assert "entropy-60" in run("info", "--lm", tmp_path / "m.fst").stdout.decode()
    assert ngrams("--order", 1, "--prune-threshold", 0.1) == whole[:1]
    assert b"0,0,1" in run("train", "--cutoff", "1,0", corpus, "-o", "x", code=2).stderr


def test_arpa_export_and_import_keep_casings_and_name_bad_lines(model, tmp_path):
    run("export", "--lm", model, "-o", tmp_path / "m.arpa")
    done = run("import", tmp_path / "m.arpa", "-o", tmp_path / "again.fst")
    assert "context model" in done.stderr.decode()
    quiet = run("import", "--quiet", tmp_path / "m.arpa", "-o", tmp_path / "again.fst")
    assert quiet.stderr == b""
    text = "new york's mayor met mr. o'neill in paris"
    assert run("recase", "--lm", tmp_path / "again.fst", stdin=text).stdout == (
        run("recase", "--lm", model, stdin=text).stdout
    )
    words = "-1\t<s>\n-1\t</s>\n-1\tparis\n"
    (tmp_path / "small.arpa").write_text(f"\\data\\\nngram 1=3\n\n\\1-grams:\n{words}\n\\end\\\n", "utf-8")
    done = run("import", tmp_path / "small.arpa", "-o", tmp_path / "x")
    assert "small.arpa: it has hardly any capitals" in done.stderr.decode()
    (tmp_path / "bad.arpa").write_text("\\data\\\nngram 1=1\n\n\\1-grams:\n-1\ta\tx\n\n\\end\\\n", "utf-8")
    assert "line 5" in message(run("import", tmp_path / "bad.arpa", "-o", tmp_path / "x", code=1))
    os.mkfifo(tmp_path / "pipe")
    assert "pipe: not a regular file" in message(run("import", tmp_path / "pipe", "-o", tmp_path / "x", code=1))


def test_mix_takes_or_tunes_weights(model, corpus, tmp_path):
    (tmp_path / "other").write_text("The cat sat in York.\nA dog met a cat.\n", "utf-8")
    run("train", "-q", tmp_path / "other", "-o", tmp_path / "other.fst")
    models = [model, tmp_path / "other.fst"]
    done = run("mix", *models, "--weights", "0.7,0.3", "-o", tmp_path / "mixed.fst")
    assert "0.7000" in done.stderr.decode()
    done = run("mix", *models, "--tune", corpus, "-o", tmp_path / "mixed.fst")
    assert f"{model} 1.0" in done.stderr.decode()
    assert b"New York" in run("recase", "--lm", tmp_path / "mixed.fst", stdin="a cat in new york").stdout
    (tmp_path / "blank").write_text("\n\n")
    assert "no words" in message(run("mix", *models, "--tune", tmp_path / "blank", "-o", tmp_path / "x", code=1))
    tuned = []
    for end in ("\n", "\n\n"):
        (tmp_path / "text").write_text(f"The cat sat in York.{end}It is in New York.{end}", "utf-8")
        tuned.append(run("mix", *models, "--tune", tmp_path / "text", "-o", tmp_path / "x").stderr)
    assert tuned[0] == tuned[1]
    error = message(run("mix", *models, "--weights", "0.7,0.7", "-o", tmp_path / "x", code=1))
    assert re.search("0.7, ?0.7", error)
    assert b"--tune" in run("mix", *models, "-o", tmp_path / "x", code=2).stderr


# Bad input


@pytest.mark.slow
def test_train_diagnoses_a_bad_corpus(corpus, tmp_path):
    text, model = tmp_path / "text", tmp_path / "m.fst"
    text.write_text(CORPUS.lower() * 9, "utf-8")
    done = run_process("train", "--no-clean", text, "-o", model)
    assert f"warning: {text}: it has hardly any capitals (0.0% of the letters)" in done.stderr.decode()
    assert run_process("train", "-q", "--no-clean", text, "-o", model).stderr == b""
    error = message(run("train", "-q", text, "-o", model, code=1))
    assert "by filter: start 36" in error
    assert "hardly any capitals (0.0% of the letters)" in error
    text.write_text(CORPUS + CORPUS.lower() * 9, "utf-8")
    done = run_process("train", text, "-o", model)
    assert f"warning: {text}: only 10.0 % of the lines were kept: start rejected 90.0 %" in done.stderr.decode()
    assert b"warning" not in run_process("train", corpus, "-o", model).stderr


BAD_TRAIN = [
    (b"", ""),
    (b"lower case\nno end\n", "start 2"),
    (b"Good line.\nBad \xff byte.\n", r"line 2\b.*byte 15\b|byte 15\b.*line 2\b"),
    (b"\xff\xfeU\0T\0F\0", "UTF-16"),
    (b"\x1f\x8b\x08\0\0\0\0\0truncated", "byte 17"),
]
"""A corpus, and the details in its error besides the name of the file."""


@pytest.mark.parametrize(("content", "expected"), BAD_TRAIN)
def test_a_bad_corpus_leaves_the_old_model(tmp_path, content, expected):
    (tmp_path / "b").write_bytes(content)
    (tmp_path / "old.fst").write_bytes(b"old")
    error = message(run("train", "-q", tmp_path / "b", "-o", tmp_path / "old.fst", code=1))
    assert f"{tmp_path}/b" in error
    assert re.search(expected, error)
    assert (tmp_path / "old.fst").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "old.fst"]


def test_a_missing_corpus_filter_or_folder_is_an_error(corpus, tmp_path):
    assert "nowhere" in message(run("train", "-q", tmp_path / "nowhere", "-o", tmp_path / "m", code=1))
    error = message(run("train", "-q", "--skip-filter", "x", corpus, "-o", tmp_path / "m", code=1))
    assert "--skip-filter" in error
    assert "'x'" in error
    assert "repetition" in error
    assert f"{tmp_path}/no" in message(run("train", "-q", corpus, "-o", tmp_path / "no" / "m", code=1))


def test_a_reserved_word_in_tokenized_text_is_an_error(tmp_path):
    (tmp_path / "t").write_text("a <s> b\n", "utf-8")
    done = run("train", "-q", "--no-clean", "--pretokenized", tmp_path / "t", "-o", tmp_path / "m", code=1)
    assert "'<s>'" in message(done)


def test_invalid_utf8_is_an_error_unless_it_is_replaced(model, tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"paris\nnew \xffyork\n")
    done = run("recase", "--lm", model, bad, code=1)
    error = done.stderr.decode().splitlines()[-1]
    assert str(bad) in error
    assert re.search(r"line 2\b.*byte 10\b|byte 10\b.*line 2\b", error)
    assert run("recase", "--lm", model, "--errors", "replace", bad).stdout.decode() == "Paris\nNew \ufffdYork\n"
    out = tmp_path / "out"
    run("recase", "--lm", model, bad, "-o", out, code=1)
    assert not out.exists()
    assert run("recase", "--lm", model, stdin=b"paris\0paris\n").stdout == b"Paris\0Paris\n"
    assert run("recase", "--lm", model, stdin=b"").stdout == b""


def test_a_bad_model_is_named_in_the_error(model, tmp_path):
    whole = model.read_bytes()
    for name, content in {"cut": whole[: len(whole) // 2], "empty": b"", "text": b"not a model\n"}.items():
        (tmp_path / name).write_bytes(content)
        assert f"{tmp_path}/{name}" in message(run("recase", "--lm", tmp_path / name, stdin="x", code=1))
    assert f"{tmp_path}/missing" in message(run("info", "--lm", tmp_path / "missing", code=1))


def test_invalid_usage_exits_with_2_and_names_the_option(model):
    assert b"INPUTS" in run_process("batch", code=2).stderr.splitlines()[-1]
    assert b"'recapitalize'" in run("recapitalize", code=2).stderr
    for option, value in (
        ("--order", "9"), ("--cutoff", f"0,{10**22}"), ("--memory", f"{'9' * 400}G"), ("--jobs", "9" * 20),
    ):  # fmt: skip
        error = run("train", option, value, "x", "-o", "y", code=2).stderr.decode().splitlines()[-1]
        assert option in error
        assert value in error
    for arguments in ("--lm", "", "text"), ("",), ("text", "--words", ""):
        assert b"empty" in run("recase", *arguments, code=2).stderr
    for option, needed in (("--look-ahead=2", "--stream"), ("--no-keep-marks", "--restore punctuation or")):
        assert f"requires {needed}" in run("recase", option, code=2).stderr.decode()
    assert "--start-token is ''" in message(run("recase", "--lm", model, "--start-token", "", code=1))
    assert b"'--nbest': 1000001 is not in" in run("recase", "--nbest", 1_000_001, stdin="x", code=2).stderr
    assert "--weights is 1.0,-0.0" in message(run("mix", model, model, "--weights", "1,-0", "-o", "x", code=1))


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="the system has no /dev/full")
def test_a_full_disk_at_stdout_is_an_error(model):
    with open("/dev/full", "wb") as full:
        done = run_process("recase", "--lm", model, stdin=b"x\n", stdout=full, code=1)
    assert b"No space left" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=str
)
def test_signals_end_quietly_and_leave_nothing(model, tmp_path, number, code):
    out = tmp_path / "out"
    with start("recase", "--lm", model, "-o", out, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"new york\n" * 100_000)
        process.stdin.flush()
        while not list(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(TIMEOUT) == code
        assert b"Traceback" not in process.stderr.read()
        process.stdin = None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("loss", ["truncated", "overwritten"])
def test_a_model_that_is_lost_during_use_is_an_error(model, tmp_path, loss):
    """The error is one line, although the operating system would end the program without a message."""
    lost = tmp_path / "lost.fst"
    lost.write_bytes(model.read_bytes())
    with start(
        "recase", "--lm", lost, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"new york\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"New York\n"
        if loss == "truncated":
            os.truncate(lost, 1)
        else:
            with open(lost, "r+b") as file:
                file.write(b"\xff" * model.stat().st_size)
        process.stdin.write(b"the mayor of new york\n")
        process.stdin.close()
        process.stdin = None
        assert process.wait(TIMEOUT) == 1
        error = process.stderr.read().decode()
    assert error.startswith("capfst: error: a memory-mapped file")
    assert error.count("\n") == 1


def test_outputs_replace_old_files_instead_of_overwriting_them(model, corpus, tmp_path):
    """A process that has the old file open or mapped still reads the old bytes."""
    arpa = tmp_path / "model.arpa"
    run("export", "--lm", model, "-o", arpa)
    for command in (
        ["train", "-q", "--no-context", corpus, "-o"],
        ["import", arpa, "-o"],
        ["mix", model, model, "--weights", "0.5,0.5", "-o"],
        ["export", "--lm", model, "-o"],
        ["recase", "--lm", model, corpus, "-o"],
        ["errors", corpus, corpus, "--html"],
        ["batch", "-q", "--lm", model, corpus, "--output", tmp_path / "folder", "--report"],
        ["batch", "-q", "--lm", model, corpus, "--force", "--output"],
    ):
        path = given = tmp_path / "out"
        if command[-1] == "--output":
            given = tmp_path / "of_batch"
            given.mkdir()
            path = given / corpus.name
        old = b"old" * 9999
        path.write_bytes(old)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            run(*command, given)
            assert (mapped[:], file.read()) == (old, old), command
            assert path.stat().st_ino != os.fstat(file.fileno()).st_ino, command
            assert path.read_bytes() != old, command
        path.unlink()


def test_a_report_may_be_in_the_new_output_folder_but_not_replace_an_output(model, tmp_path):
    text, out = tmp_path / "a.txt", tmp_path / "out"
    text.write_text("new york\n")
    for name in ("a.txt", ".capfst-batch.jsonl"):
        error = message(run("batch", "--lm", model, text, "-o", out, "--report", out / name, code=1))
        assert "the report would overwrite an output" in error
        assert not out.exists()
    run("batch", "--lm", model, text, "-o", out, "--report", out / "report.json")
    assert json.loads((out / "report.json").read_text())["done"] == 1
    assert (out / "a.txt").read_text() == "New York\n"


def test_stdout_may_be_a_file_but_not_one_that_is_read(model, tmp_path):
    text, out = tmp_path / "text.txt", tmp_path / "out.txt"
    text.write_text("new york\n")
    for arguments, stdin in ([text], subprocess.DEVNULL), (["-"], text.open()):
        with text.open("a") as stdout:
            command = [*CAPFST, "recase", "--lm", model, *arguments]
            done = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, text.read_text()) == (1, "new york\n")
        assert b"stdout: the output is also an input" in done.stderr
    with out.open("w") as stdout:
        for _ in range(2):
            run_process("recase", "--lm", model, text, "-o", "/dev/stdout", stdout=stdout)
    assert out.read_text() == "New York\n" * 2


def test_nohup_protects_a_run_from_sighup(model, tmp_path):
    """A process that ignores SIGHUP when it starts continues after this signal."""
    with start(
        "recase", "--lm", model, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        for _ in range(2):
            process.stdin.write(b"new york\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"New York\n"
            process.send_signal(signal.SIGHUP)


IN_THREADS = """
begun = threading.Event()
def write():
    with replacing(Path(sys.argv[2], 'out')):
        begun.set()
        threading.Event().wait()
with exit_status():
    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    try:
        os.kill(os.getpid(), number)
        threading.Event().wait(60)
    finally:
        thread.join()
"""
"""Threads do not end, and what they were writing is removed."""
IN_C = """
called = ctypes.CFUNCTYPE(None)(lambda: (os.kill(os.getpid(), number), time.sleep(0.1)))
with exit_status():
    called()
    time.sleep(60)
"""
"""C code drops exceptions of a callback."""
IN_A_CLASS = """
class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), number)
        time.sleep(60)
with exit_status():
    class Some:
        field = Field()
"""
"""Python before 3.12 wraps an exception while a class is made."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("program", [IN_THREADS, IN_C, IN_A_CLASS], ids=["threads", "callback", "class"])
def test_a_signal_ends_a_command_whatever_it_does(tmp_path, number, code, program):
    imports = "import ctypes, os, sys, threading, time\nfrom pathlib import Path\nnumber = int(sys.argv[1])\n"
    imports += "from capfst.cli.exit_status import exit_status\nfrom capfst.system.atomic import replacing\n"
    done = run_python(imports + program, int(number), tmp_path, code=code)
    assert done.stderr == (b"capfst: stopped\n" if number == signal.SIGINT else b"")
    assert list(tmp_path.iterdir()) == []


PRINTING = [["recase", "--lm"], ["recase", "--nbest", "2", "--lm"], ["tokenize", "--lm"], ["perplexity", "--lm"]]


def limit_stacks_to_no_thread() -> None:
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 47, resource.RLIM_INFINITY))


@pytest.mark.skipif(
    sys.platform != "linux" or resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY,
    reason="the stack size of threads cannot be set",
)
def test_a_thread_that_cannot_start_is_an_error(model):
    done = run_process("recase", "--lm", model, stdin="a b\n", code=1, preexec_fn=limit_stacks_to_no_thread)
    assert "thread" in message(done)


@pytest.mark.parametrize("command", [*PRINTING, ["info"], ["score"], ["errors"], ["--help"]], ids=" ".join)
@pytest.mark.parametrize("to", ["nowhere", "/dev/full"])
def test_an_unwritable_stdout_is_an_error(model, corpus, command, to):
    options = {"stdout": None, "preexec_fn": lambda: os.close(1)}
    files = {"info": ["--lm", model], "score": [corpus, corpus], "errors": [corpus, corpus], "--help": []}
    given = files.get(command[0], [model, corpus])
    if to == "nowhere":
        done = run_process(*command, *given, code=1, **options)
    else:
        with open(to, "wb") as full:
            done = run_process(*command, *given, code=1, stdout=full)
    reason = "Bad file descriptor" if to == "nowhere" else "No space left on device"
    error = done.stderr.decode()
    assert error.startswith("capfst: error: ")
    assert error.count("\n") == 1
    assert "stdout" in error
    assert reason in error


@pytest.mark.parametrize("command", [["info"], ["score"], ["errors"]], ids=" ".join)
def test_a_closed_reader_ends_a_command_quietly(model, corpus, command):
    reader, writer = os.pipe()
    os.close(reader)
    given = ["--lm", model] if command == ["info"] else [corpus, corpus]
    with os.fdopen(writer, "wb") as gone:
        assert run_process(*command, *given, stdout=gone, code=141).stderr == b""


@pytest.mark.parametrize("command", PRINTING[:1] + PRINTING[2:], ids=" ".join)
def test_a_closed_stdin_is_an_error_unless_files_are_given(model, corpus, command):
    done = run_process(*command, model, code=1, preexec_fn=lambda: os.close(0))
    assert "<stdin>" in message(done)
    assert "Bad file descriptor" in message(done)
    named = run_process(*command, model, corpus, preexec_fn=lambda: os.close(0))
    assert named.stdout == run_process(*command, model, corpus).stdout


@pytest.mark.slow
@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]], ids=str)
def test_commands_with_files_run_without_standard_streams(corpus, model, tmp_path, closed):
    """A file that is opened with the number of a closed stream gets none of the stream's output."""
    without = {"preexec_fn": lambda: [os.close(number) for number in closed]}
    out = {name: tmp_path / name for name in ("cap.fst", "text", "arpa", "imported.fst", "mixed.fst", "folder")}
    run_process("train", corpus, "-o", out["cap.fst"], **without)
    assert out["cap.fst"].read_bytes() == model.read_bytes()
    run_process("recase", "--lm", model, corpus, "-o", out["text"], **without)
    assert out["text"].read_bytes() == run("recase", "--lm", model, corpus).stdout
    run_process("export", "--lm", model, "-o", out["arpa"], **without)
    assert out["arpa"].read_text("utf-8").startswith("\\data\\\n")
    run_process("import", out["arpa"], "-o", out["imported.fst"], **without)
    run_process("mix", model, out["imported.fst"], "--weights", "0.5,0.5", "-o", out["mixed.fst"], **without)
    run("info", "--lm", out["imported.fst"])
    run("info", "--lm", out["mixed.fst"])
    run_process("batch", "--lm", model, corpus, "--output", out["folder"], **without)
    assert (out["folder"] / corpus.name).read_bytes() == out["text"].read_bytes()


def test_a_closed_pipe_ends_quietly(model, tmp_path):
    text = tmp_path / "long"
    text.write_bytes(b"the mayor of new york\n" * 500_000)
    with start("recase", "--lm", model, text, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline().lower() == b"the mayor of new york\n"
        process.stdout.close()
        assert process.wait(TIMEOUT) == 141
        assert process.stderr.read() == b""


def test_each_line_is_written_before_the_next_is_read(model):
    with start("recase", "--lm", model, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        for _ in range(3):
            process.stdin.write(b"new york\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"New York\n"


@contextmanager
def on_terminal(*arguments, **options) -> Iterator[tuple[subprocess.Popen, int]]:
    """Start capfst on a new terminal, to which the streams that are not in `options` lead. Return the process and the
    other end of the terminal."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs) | options
    with start(*arguments, **streams) as process:
        os.close(theirs)
        try:
            yield process, ours
        finally:
            process.kill()
            os.close(ours)


def shown(terminal: int, until: str = "") -> str:
    """Return the text that a terminal shows up to `until` or to its end."""
    text = b""
    with suppress(OSError):  # EIO: no process holds the other end
        while not until or until not in text.decode(errors="replace"):
            assert select.select([terminal], [], [], TIMEOUT)[0]
            text += os.read(terminal, 1 << 16)
    return text.decode(errors="replace")


@pytest.mark.slow
def test_a_terminal_shows_a_prompt_and_recases_line_by_line(model):
    with on_terminal("recase", "--lm", model) as (process, terminal):
        assert "Ctrl-D" in shown(terminal, "\n")
        for _ in range(2):
            os.write(terminal, b"new york\n")
            assert shown(terminal, "\n") == "New York\r\n"
        os.write(terminal, b"\x04")
        assert process.wait(TIMEOUT) == 0
        assert shown(terminal) == ""
    with on_terminal("recase", "-q", "--lm", model) as (process, terminal):
        os.write(terminal, b"paris\n\x04")
        assert shown(terminal) == "Paris\r\n"


@pytest.mark.slow
def test_a_terminal_shows_progress_unless_it_shows_the_text(model, tmp_path):
    """The bar appears for a file that takes longer than `_BAR_AFTER`."""
    text, out = tmp_path / "long", tmp_path / "out"
    text.write_bytes(b"the mayor of new york\n" * 200_000)
    impatient = "import capfst.cli.recase as r, capfst.cli as c; r._BAR_AFTER = 0.0; c.main()"
    command = [sys.executable, "-c", impatient, "recase", "--lm", str(model), str(text)]
    with patch("support.command_line.CAPFST", []):
        with on_terminal(*command, "-o", out) as (process, terminal):
            bar = shown(terminal)
            assert process.wait(TIMEOUT) == 0
        assert "recasing" in bar
        assert "4.4 MB" in bar
        assert out.read_bytes() == b"the mayor of New York\n" * 200_000
        with on_terminal(*command, "-o", out, "-q") as (_, terminal):
            assert shown(terminal) == ""
        with on_terminal(*command) as (_, terminal):
            assert shown(terminal) == "the mayor of New York\r\n" * 200_000
        with open(out, "wb") as redirected, on_terminal(*command, stdout=redirected) as (_, terminal):
            assert "recasing" in shown(terminal)
        with on_terminal(*command, stdout=subprocess.PIPE) as (process, terminal):
            assert process.stdout
            assert process.stdout.read() == out.read_bytes()
            assert shown(terminal) == ""
        with on_terminal(*command, "-o", out, stderr=subprocess.PIPE) as (process, terminal):
            assert process.stderr
            assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("suffix", "decompress"),
    [
        (".gz", gzip.decompress),
        (".ZST", zstd.decompress),
        (".bz2", bz2.decompress),
        (".xz", lzma.decompress),
        ("", bytes),
    ],
)
def test_the_file_extension_selects_the_compression(model, tmp_path, suffix, decompress):
    out = tmp_path / f"out{suffix}"
    run("recase", "--lm", model, "-o", out, stdin="new york\n" * 9)
    assert decompress(out.read_bytes()) == b"New York\n" * 9
    again = run("recase", "--lm", model, out).stdout
    assert again == b"New York\n" * 9


def test_output_in_an_unsupported_compression_is_an_error(model, tmp_path):
    done = run("recase", "--lm", model, "-o", tmp_path / "out.lz4", stdin="x", code=1)
    assert f"{tmp_path}/out.lz4: " in message(done)
    assert " .lz4 " in message(done)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_files_with_fields_get_a_hint_to_use_batch(model, tmp_path, name):
    path, text = tmp_path / name, b"paris\tparis\n" * 9
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    done = run("recase", "--lm", model, path, path)
    assert done.stdout == 2 * text.title()
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"capfst: {path}: ")
    assert "column of .tsv" in line
    assert "capfst batch" in line
    assert run("recase", "-q", "--lm", model, path).stderr == b""


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('["paris"]', " .jsonl"),
        ("id\tname\n" * 3, " .tsv"),
        ("id,name,of\n" * 3, " .csv"),
        ("id,name,of\n" * 2, ""),
        ("one, two, three.\n" * 3, ""),
        ("id,name\n" * 3, ""),
        ("a\tb\na\nb\n", ""),
        ("{paris}", ""),
        ("", ""),
    ],
)
def test_text_that_looks_like_fields_gets_a_hint_to_use_batch(model, text, hint):
    done = run("recase", "--lm", model, stdin=text)
    assert done.stdout.lower() == text.encode().lower()
    notes = done.stderr.decode().splitlines()
    assert len(notes) == bool(hint)
    assert all(hint in line and "capfst batch" in line for line in notes)
    assert run("recase", "-q", "--lm", model, stdin=text).stderr == b""


STRUCTURED = {
    '{"Ibm": "paris", "text": "paris"}\n': '{"Ibm": "paris", "text": "Paris"}\n',
    '[\n {"text":"paris"}\n]': '[\n {"text":"Paris"}\n]',
    '{"segments": [{"text": "new"}, {"text": "york"}], "id": "ibm"}': (
        '{"segments": [{"text": "New"}, {"text": "York"}], "id": "ibm"}'
    ),
    "[ti:paris]\n[la:ibm]\n[00:01.00]new york": "[ti:Paris]\n[la:ibm]\n[00:01.00]New York",
    'msgid "paris"\nmsgstr "paris"\n': 'msgid "paris"\nmsgstr "Paris"\n',
    'class = "ibm"\n text = "paris"': 'class = "ibm"\n text = "Paris"',
    "1\n00:00:01,000 --> 00:00:02,000\nnew\n\n00:00:02,000 --> 00:00:03,000\nyork\n": (
        "1\n00:00:01,000 --> 00:00:02,000\nNew\n\n00:00:02,000 --> 00:00:03,000\nYork\n"
    ),
}


@pytest.mark.parametrize("text", STRUCTURED)
def test_structured_text_is_recognized(model, tmp_path, text):
    for name in ("a", "a.txt", "a.txt.gz"):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        assert run("recase", "-q", "--lm", model, tmp_path / name).stdout.decode() == STRUCTURED[text]
    assert run("recase", "-q", "--lm", model, stdin=text).stdout.decode() == STRUCTURED[text]
    run("batch", "-q", "--lm", model, tmp_path / "a.txt", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == STRUCTURED[text]
    plain = run("recase", "-q", "--lm", model, "--format", "text", stdin=text).stdout.decode()
    assert plain.lower() == text.lower()
    for options in (["--nbest", "2"], ["--document"], [tmp_path / "a.txt", tmp_path / "a"]):
        done = run("recase", "--lm", model, *options, stdin=text, code=2)
        assert done.stdout == b""
        assert "--format text" in done.stderr.decode().splitlines()[-1]


def test_json_that_is_not_understood_is_refused(model, tmp_path):
    text = '{"Title": "ibm", "parts": [{"Said": "new york"}]}\n'
    (tmp_path / "a.json").write_text(text)
    for options in ({"stdin": text}, {}):
        files = [] if options else [tmp_path / "a.json"]
        error = message(run("recase", "-q", "--lm", model, *files, **options, code=1))
        assert "line 1: the object has no field 'text'. Use --field with one of its texts: Title, parts[].Said" in error
        fields = ["--field", "parts[].Said"]
        done = run("recase", "-q", "--lm", model, *fields, *files, **options)
        assert done.stdout.decode() == text.replace("new york", "New York")
    assert "'text'. None of its fields is a text." in message(
        run("recase", "--field", "text", stdin='{"n": 1}', code=1)
    )
    for name in ("a.jsonl", "a.ndjson"):
        (tmp_path / name).write_text("new york")
        assert "invalid JSON" in message(run("recase", "-q", "--lm", model, tmp_path / name, code=1))


def test_one_rule_for_json_files_of_folders(model, tmp_path):
    """batch recases the .json files of a folder whose texts recase recognizes, and leaves the others out."""
    files = {
        "whisper.json": '{"text": "new york", "segments": [{"text": "new york"}]}',
        "vosk.json": '{"result": [{"word": "new"}, {"word": "york"}], "text": "new york"}',
        "manifest.json": '{"audio_filepath": "ibm", "text": "new york"}\n{"audio_filepath": "ibm", "text": "paris"}\n',
        "package.json": '{"name": "new york"}',
        "lines.json": '["new york"]',
        "subtitles.xml": '<tt><body><p begin="0s">new york</p></body></tt>',
        "other.xml": "<p>new york</p>",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run("batch", "--lm", model, tmp_path, "-o", (out := tmp_path.with_name("recased")))
    assert b"3 left out: not text" in done.stderr
    recased = {path.name: path.read_text() for path in out.iterdir() if not path.name.startswith(".")}
    cased = {name: text.replace("new", "New").replace("york", "York").replace("paris", "Paris")
             for name, text in files.items() if name not in ("package.json", "lines.json", "other.xml")}  # fmt: skip
    assert recased == cased
    for name in files:
        if name.endswith(".json"):
            run("recase", "-q", "--lm", model, tmp_path / name, code=0 if name in cased else 1)


def test_parquet_is_an_error_that_names_batch(model, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    error = message(run("recase", "--lm", model, tmp_path / "a.parquet", code=1))
    assert f"{tmp_path}/a.parquet: " in error
    assert "capfst batch" in error


def test_training_and_loading_in_python(corpus, tmp_path):
    import capfst  # noqa: PLC0415

    trained = capfst.train(corpus, tmp_path / "m.fst", order=2)
    assert trained.sentences == 12
    assert str(trained) == trained.report()
    assert f"<Trained {tmp_path / 'm.fst'}: order 2, 12 sentences, " in repr(trained)
    assert repr(trained).endswith(", 12 of 12 lines kept>")
    recaser = capfst.load(tmp_path / "m.fst")
    assert recaser("new york") == "New York"
    assert list(recaser.recase_lines(["paris\n", "an ibm"])) == ["Paris\n", "an IBM"]
    with pytest.raises(capfst.CapfstError, match="`order` is 7"):
        capfst.train(corpus, tmp_path / "m.fst", order=7)
    with pytest.raises(capfst.CapfstError, match="nowhere"):
        capfst.load(Path("nowhere"))


@pytest.mark.parametrize(
    ("command", "read"),
    [
        (("train", "text", "-o", "text"), "text"),
        (("train", "text", "--words", "words", "-o", "words"), "words"),
        (("recase", "--lm", "m.fst", "text", "-o", "m.fst"), "m.fst"),
        (("recase", "--lm", "m.fst", "text", "--source", "words", "-o", "words"), "words"),
        (("recase", "--lm", "m.fst", "text", "--abbreviations", "words", "-o", "words"), "words"),
        (("recase", "--lm", "m.fst", "words", "text", "-o", "text"), "text"),
        (("export", "--lm", "m.fst", "-o", "./m.fst"), "m.fst"),
        (("import", "text", "-o", "link"), "text"),
        (("errors", "text", "text", "--html", "text"), "text"),
        (("batch", "--lm", "m.fst", "text", "--output", "out", "--report", "text"), "text"),
        (("batch", "text", "--abbreviations", "words", "--output", "out", "--report", "words"), "words"),
        (("mix", "m.fst", "m.fst", "--tune", "text", "-o", "text"), "text"),
        (("mix", "m.fst", "m.fst", "--weights", "0.5,0.5", "-o", "m.fst"), "m.fst"),
        (("train-bilingual", "--lm", "m.fst", "text", "text", "words", "-o", "words"), "words"),
        (("train-bilingual", "--lm", "m.fst", "text", "text", "words", "-o", "m.fst"), "m.fst"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_output_that_is_also_an_input_is_refused(model, tmp_path, monkeypatch, command, read):
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "m.fst")
    Path("text").write_text("He is in New York today.\n" * 20)
    Path("words").write_text("Paris\n")
    Path("link").symlink_to("text")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert f"({read})" in message(run(*command, code=1))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        ("train", "corpus"),  # without -q, it would report progress before the error
        ("train-bilingual", "--lm", "m.fst", "missing", "missing", "missing"),
        ("import", "corpus"),
        ("mix", "m.fst", "m.fst", "--tune", "missing"),
        ("export", "--lm", "m.fst"),
        ("recase", "--lm", "m.fst", "missing"),
        ("errors", "missing", "missing", "--html"),
        ("batch", "--lm", "m.fst", "missing", "--output", "out", "--report"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(
    ("output", "words"),
    [("missing/out", "Create the folder"), ("out", "it is a folder"), ("loop", "Remove the link"), ("", "empty")],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_input_is_read(
    model, corpus, tmp_path, monkeypatch, command, output, words
):
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "m.fst")
    shutil.copy(corpus, "corpus")
    Path("out").mkdir()
    Path("loop").symlink_to("loop")
    arguments = [*command] if command[-1].startswith("--") else [*command, "-o"]
    done = run(*arguments, output, code=1 if output else 2)
    error = done.stderr.decode().splitlines()[-1] if not output else message(done)
    assert words in error
    assert output in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "loop", "m.fst", "out"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="the system has no /proc")
def test_a_folder_in_which_no_file_can_be_created(model):
    assert "Choose another folder" in message(run("export", "--lm", model, "-o", "/proc/out", code=1))


def test_recase_can_replace_its_input_and_write_to_stdout(model, tmp_path):
    (tmp_path / "a").write_text("new york\n")
    run("recase", "--lm", model, tmp_path / "a", "-o", tmp_path / "a")
    assert (tmp_path / "a").read_text() == "New York\n"
    assert run("recase", "--lm", model, tmp_path / "a", "-o", "-").stdout == b"New York\n"


def test_an_unwritable_report_stops_batch_before_any_output(model, tmp_path):
    (tmp_path / "a").write_text("new york\n")
    report, out = tmp_path / "nowhere" / "r.json", tmp_path / "out"
    done = run("batch", "--lm", model, tmp_path / "a", "--output", out, "--report", report, code=1)
    assert f"{report}: " in message(done)
    assert not out.exists()
