"""Test the output and the errors of `train-bilingual`, `recase --source` and `batch --source-field`."""

import csv
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import message, run
from support.translations import bitext, write

import capfst
from capfst.exceptions import CapfstError


@pytest.fixture
def texts(tmp_path):
    found = bitext(30, seed=4)
    return found._replace(target=[line.lower() for line in found.target])


@pytest.fixture
def paths(tmp_path, texts):
    return write(tmp_path, texts)


def test_training_is_reproducible_and_its_model_recases_with_the_source(tmp_path, monolingual_model):
    target, source, align = write(tmp_path, bitext(300))
    done = run("train-bilingual", "--lm", monolingual_model, target, source, align, "-o", tmp_path / "b.fst")
    assert " 300 pairs" in done.stderr.decode()
    assert str(tmp_path / "b.fst") in done.stderr.decode()
    again = run("train-bilingual", "-q", "--lm", monolingual_model, target, source, align, "-o", tmp_path / "c.fst")
    assert again.stderr == b""
    assert (tmp_path / "b.fst").read_bytes() == (tmp_path / "c.fst").read_bytes()
    assert "300 pairs" in run("info", "--lm", tmp_path / "b.fst").stdout.decode()
    for name, line in (
        ("low", "ouvrez le menu dans calc"),
        ("cased", "Open the Menu in Calc"),
        ("pairs", "0-0 1-1 2-2"),
    ):
        (tmp_path / name).write_text(f"{line}\n")
    texts = "--source", tmp_path / "cased", "--align", tmp_path / "pairs", tmp_path / "low"
    assert run("recase", "--lm", tmp_path / "b.fst", *texts).stdout == b"Ouvrez le Menu dans Calc\n"


def test_recase_agrees_with_python(tmp_path, bilingual_model, recaser, texts, paths):
    target, source, align = paths
    expected = "".join(f"{line}\n" for line in recaser.recase_aligned(*texts)).encode()
    common = "recase", "--lm", bilingual_model, "--source", source
    assert run(*common, "--align", align, target, "--jobs", 1).stdout == expected
    assert run(*common, "--align", align, "--jobs", 3, stdin=target.read_bytes()).stdout == expected
    run(*common, "--align", align, target, "-o", tmp_path / "out.gz")
    assert run("recase", "--lm", bilingual_model, "--source", source, target).stdout.decode().splitlines() == (
        recaser.recase_aligned(texts.target, texts.source)
    )
    best = run(*common, "--align", align, target, "--nbest", 1).stdout.decode().splitlines()
    assert [line.split("\t")[1] for line in best] == expected.decode().splitlines()
    sure = run(*common, "--align", align, target, "--confidence").stdout.decode().splitlines()
    assert [json.loads(line)["text"] for line in sure] == expected.decode().splitlines()


def test_several_files_are_parallel_to_one_source(tmp_path, bilingual_model, recaser, texts, paths):
    _, source, align = paths
    parts = [tmp_path / "a", tmp_path / "b"]
    parts[0].write_text("\n".join(texts.target[:7]))  # its last line has no end
    parts[1].write_text("\n".join(texts.target[7:]))
    done = run("recase", "--lm", bilingual_model, "--source", source, "--align", align, *parts).stdout.decode()
    assert done == "\n".join(recaser.recase_aligned(*texts))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"source": lambda lines: lines[:-1]}, r"source\.txt\b[^/]*\b29\b"),
        ({"source": lambda lines: [*lines, "x"]}, r"source\.txt\b.*target\.txt\b[^/]*\b30\b"),
        ({"align": lambda lines: lines[:3]}, r"align\.txt\b[^/]*\b3\b"),
        (
            {"align": lambda lines: [*lines[:5], "3-x", *lines[6:]]},
            r"align\.txt, line 6: '3-x'",
        ),
        ({"align": lambda lines: [*lines[:5], "0-77", *lines[6:]]}, r"align\.txt, line 6: .*\b0-77\b"),
    ],
)
@pytest.mark.parametrize("how", ["text", "nbest", "train"])
def test_bad_input_is_one_error_and_nothing_is_written(tmp_path, bilingual_model, texts, change, expected, how):
    changed = texts._replace(**{name: make(getattr(texts, name)) for name, make in change.items()})
    target, source, align = write(tmp_path, changed)
    output = tmp_path / "out"
    if how == "train":
        arguments = "train-bilingual", "--lm", bilingual_model, target, source, align, "-o", output
    else:
        more = ["--nbest", "2"] if how == "nbest" else []
        arguments = "recase", "--lm", bilingual_model, "--source", source, "--align", align, target, "-o", output, *more
    assert re.search(expected, message(run(*arguments, code=1)))
    assert not output.exists()


def test_invalid_usage_and_unusable_files_are_named(tmp_path, bilingual_model, monolingual_model, paths):
    target, source, align = paths
    usage = {
        ("recase", "--align", align, target): "--align .*--source",
        ("recase", "--source", "-", target): r"--source .*\(-\)",
        ("batch", target, "--align-field", "x", "--output", tmp_path / "o"): "--align-field .*--source-field",
    }
    for arguments, named in usage.items():
        assert re.search(named, run(*arguments, code=2).stderr.decode().splitlines()[-1])
    done = run("recase", "--lm", monolingual_model, "--source", source, target, code=1)
    assert str(monolingual_model) in message(done)
    done = run("recase", "--lm", bilingual_model, "--source", tmp_path / "none", target, code=1)
    assert f"{tmp_path}/none" in message(done)


def test_empty_translations_are_an_error(tmp_path, monolingual_model):
    empty = [tmp_path / name for name in "abc"]
    for path in empty:
        path.write_text("")
    done = run("train-bilingual", "--lm", monolingual_model, *empty, "-o", tmp_path / "out", code=1)
    assert f"{empty[0]}, {empty[1]}: " in message(done)


def test_mix_keeps_the_bilingual_part_of_the_heaviest_model(
    tmp_path, bilingual_model, monolingual_model, recaser, texts
):
    run("mix", bilingual_model, monolingual_model, "--weights", "0.9,0.1", "-o", tmp_path / "mixed.fst")
    mixed = capfst.load(tmp_path / "mixed.fst")
    assert mixed.pipeline.loaded.bilingual.pairs == recaser.pipeline.loaded.bilingual.pairs
    assert [line.lower() for line in mixed.recase_aligned(*texts)] == [line.lower() for line in texts[0]]
    run("mix", bilingual_model, monolingual_model, "--weights", "0.1,0.9", "-o", tmp_path / "other.fst")
    with pytest.raises(CapfstError, match=r"/other\.fst\b"):
        capfst.load(tmp_path / "other.fst").recase_aligned(*texts)


# batch


def rows_of(texts) -> list[dict[str, str]]:
    return [{"text": t, "en": s, "pairs": a} for t, s, a in zip(*texts, strict=True)]


def written(folder, name, rows):
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=11)
    else:
        with path.open("w", newline="") as file:
            delimiter = "," if path.suffix == ".csv" else "\t"
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return path


def read(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))


def batch(model, path, *more, code=0):
    out = path.parent / "out"
    options = "--source-field", "en", "--align-field", "pairs", "--output", out
    return run("batch", "-q", "--lm", model, path, *options, *more, code=code), out / path.name


@pytest.mark.parametrize("name", ["a.jsonl", "a.tsv", "a.csv", "a.parquet"])
def test_batch_recases_each_format_with_its_source(tmp_path, bilingual_model, recaser, texts, name):
    rows = rows_of(texts)
    _, out = batch(bilingual_model, written(tmp_path, name, rows))
    expected = recaser.recase_aligned(*texts)
    assert read(out) == [{**row, "text": line} for row, line in zip(rows, expected, strict=True)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ({"en": "Two\nlines"}, "2 lines.* 1"),
        ({"pairs": "0-x"}, "line 1: '0-x'"),
        ({"pairs": "0-99"}, r"\b0-99\b"),
    ],
)
def test_batch_fails_passes_or_drops_malformed_records(tmp_path, bilingual_model, recaser, texts, name, wrong, detail):
    rows = rows_of(texts)
    rows[3] |= wrong
    path = written(tmp_path, name, rows)
    done, _ = batch(bilingual_model, path, code=1)
    assert re.search(detail, done.stderr.decode())
    position = "row 4" if name == "a.parquet" else "line 4" if name == "a.jsonl" else "line 5"
    assert position in done.stderr.decode()
    expected = [{**row, "text": line} for row, line in zip(rows, recaser.recase_aligned(*texts), strict=True)]
    _, out = batch(bilingual_model, path, "--on-error", "pass", "--force")
    assert read(out) == [*expected[:3], rows[3], *expected[4:]]
    _, out = batch(bilingual_model, path, "--on-error", "drop", "--force")
    assert read(out) == [*expected[:3], *expected[4:]]


def test_batch_keeps_nulls_and_recases_records_of_several_lines(tmp_path, bilingual_model, recaser):
    rows = [
        {"text": None, "en": "Open", "pairs": ""},
        {"text": "ouvrez\nle menu", "en": "Open\nthe Menu", "pairs": "0-0\n0-0 1-1"},
        {"text": "calc", "en": None, "pairs": None},
    ]
    for name in ("a.jsonl", "a.parquet"):
        _, out = batch(bilingual_model, written(tmp_path, name, rows))
        texts = [row["text"] for row in read(out)]
        assert texts == [None, "Ouvrez\nle Menu", recaser("calc")]


def test_batch_of_text_with_a_source_field_is_an_error(tmp_path, bilingual_model):
    (tmp_path / "a.txt").write_text("ouvrez\n")
    done, _ = batch(bilingual_model, tmp_path / "a.txt", code=1)
    assert f"{tmp_path}/a.txt: " in done.stderr.decode()
