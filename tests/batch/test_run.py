"""Test batches: many files, the end of a run, and that faulty files lose and damage nothing. (Killed runs: fuzz.py.)"""

import fcntl
import gzip
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from threading import Barrier, Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import CORPUS, TIMEOUT, run, run_process
from support.contextual import UNHEARD
from support.disk import mounted
from support.folders import contents
from support.messages import names
from support.models import tiny, with_old_context

import capfst
import capfst.io.lines
import capfst.io.tables
from capfst.batch.manifest import ManifestEntry, Stamp
from capfst.batch.report import DONE, FAILED, Display, FileReport
from capfst.batch.run import recase_all
from capfst.cli import cli
from capfst.exceptions import CapfstError
from capfst.io.codecs import zstd
from capfst.io.files import find_files
from capfst.io.outputs import MANIFEST, PlannedFile, plan
from capfst.io.protocol import RecaseCounts
from capfst.options import ContextOptions
from capfst.system.atomic import clear, replacing
from capfst.system.workers import Apart

files = partial(contents, without=MANIFEST)

ADDED = "We said that the mayor met us.\n"
TEXT = "we said that the mayor of new york met mr. o'neill in paris\n\nan ibm xyzzy"
CASED = "We said that the mayor of New York met Mr. O'Neill in Paris\n\nan IBM xyzzy"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "corpus").write_text((CORPUS + ADDED) * 3, "utf-8")
    capfst.train(folder / "corpus", folder / "cap.fst", context=False)
    return folder / "cap.fst"


@pytest.fixture
def tree(tmp_path):
    """Return the folder `in`, with a file of each format."""
    folder = tmp_path / "in"
    (folder / "b" / "c").mkdir(parents=True)
    (folder / "a.txt").write_text(TEXT)
    (folder / "b" / "g.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "b" / "z.zst").write_bytes(zstd.compress(TEXT.encode()))
    (folder / "b" / "c" / "j.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    (folder / "t.tsv").write_text("text\tid\nnew york\tibm\n")
    pq.write_table(pa.table({"text": [TEXT, None]}), folder / "p.parquet")
    return folder


def batch(model, *arguments, code=0) -> tuple[dict, list[str]]:
    """Return the report, and the lines on stderr without the note that the model has no context model.

    The command runs in this process, so that NumPy is not loaded for each run.
    """
    report = model.with_name("report.json")
    command = ["batch", "--lm", model, "--jobs", 2, "--report", report, *arguments]
    failed = 0
    with redirect_stderr(io.StringIO()) as shown:
        try:
            cli.main([*map(str, command)], standalone_mode=False)
        except CapfstError as error:
            failed = 1
            print(f"capfst: error: {error}", file=shown)
    assert failed == code
    lines = [line for line in shown.getvalue().splitlines() if "no context model" not in line]
    return json.loads(report.read_text()), lines


def test_a_tree_with_each_format_is_recased(model, tree, tmp_path):
    (tree / ".hidden").write_text("x")
    (tree / "picture.png").write_bytes(b"x")
    report, lines = batch(model, tree, "--output", tmp_path / "out")
    done = files(tmp_path / "out")
    assert sorted(done) == ["a.txt", "b/c/j.jsonl", "b/g.txt.gz", "b/z.zst", "p.parquet", "t.tsv"]
    assert done["a.txt"].decode() == CASED
    assert gzip.decompress(done["b/g.txt.gz"]).decode() == CASED
    assert zstd.decompress(done["b/z.zst"]).decode() == CASED
    assert json.loads(done["b/c/j.jsonl"]) == {"text": CASED}
    assert done["t.tsv"] == b"text\tid\nNew York\tibm\n"
    assert pq.read_table(tmp_path / "out" / "p.parquet")["text"].to_pylist() == [CASED, None]
    assert (report["done"], report["skipped"], report["failed"]) == (6, 0, 0)
    assert report["left_out"] == [f"{tree}/picture.png"]
    assert [f["tokens"] for f in report["files"] if f["input"].endswith("a.txt")] == [17]
    assert (report["tokens"], report["changed"], report["oov"], report["lines"]) == (5 * 17 + 2, 5 * 7 + 2, 5, 16)
    assert any(line.startswith(f"{tree}/a.txt: 3 lines, 17 tokens, 7 changed, 1 unknown (file ") for line in lines)
    assert [f"(file {i} of 6, " in line for i, line in enumerate(lines, 1)] == [True] * 6 + [False] * 2
    assert lines[6].startswith("files: 6 done, 0 done before, 0 failed, 1 left out")


def test_batch_writes_the_same_bytes_as_recase_with_any_number_of_jobs(model, tmp_path):
    texts = [TEXT * 20_000, TEXT, "", TEXT * 3000]
    (tmp_path / "in").mkdir()
    for i, text in enumerate(texts):
        (tmp_path / "in" / f"{i}").write_text(text)
    recaser = capfst.load(model)
    for jobs in 1, 3:
        batch(model, tmp_path / "in", "--output", tmp_path / str(jobs), "--jobs", jobs)
        for i, text in enumerate(texts):
            assert (tmp_path / str(jobs) / f"{i}").read_text() == recaser(text)


def test_casing_options_change_the_output(model, tmp_path):
    (tmp_path / "a").write_text("paris\nthe mayor")
    batch(model, tmp_path / "a", "--output", tmp_path / "o", "--sentence-case")
    assert (tmp_path / "o" / "a").read_text() == "Paris\nThe mayor"
    batch(model, tmp_path / "a", "--output", tmp_path / "o", "--start-token", "<unk>")
    assert (tmp_path / "o" / "a").read_text() == "Paris\nthe mayor"


# Second runs: finished files are skipped


def statuses(report) -> dict[str, str]:
    return {Path(file["output"]).name: file["status"] for file in report["files"]}


def test_a_second_run_recases_changed_files(model, tree, tmp_path):
    out = tmp_path / "out"
    batch(model, tree, "--output", out)
    before = files(out)
    times = {name: os.stat(out / name).st_mtime_ns for name in before}
    first = (out / MANIFEST).read_bytes()
    report, _ = batch(model, tree, "--output", out)
    assert report["skipped"] == 6
    assert report["tokens"] == 87
    assert {name: os.stat(out / name).st_mtime_ns for name in before} == times
    assert (out / MANIFEST).read_bytes() == first

    status = os.stat(tree / "a.txt")
    (tree / "a.txt").write_text(TEXT.replace("mayor", "major"))
    os.utime(tree / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))  # the same size and time
    (out / "t.tsv").write_bytes(before["t.tsv"].lower())
    (out / "b" / "z.zst").unlink()
    os.utime(tree / "p.parquet")
    (out / "b" / "g.txt.gz").write_bytes(before["b/g.txt.gz"])
    report, _ = batch(model, tree, "--output", out)
    redone = {name for name, status in statuses(report).items() if status == DONE}
    assert redone == {"a.txt", "t.tsv", "z.zst"}
    assert files(out) == before | {"a.txt": CASED.replace("mayor", "major").encode()}
    report, _ = batch(model, tree, "--output", out, "--force")
    assert report["done"] == 6


def test_other_options_or_another_model_recase_the_affected_files(model, tree, tmp_path):
    def redone(*arguments, lm=model) -> set[str]:
        report, _ = batch(lm, tree, "--output", tmp_path / "out", *arguments)
        return {name for name, status in statuses(report).items() if status == DONE}

    everything = redone()
    assert len(everything) == 6
    assert redone("--column", "1") == {"p.parquet", "t.tsv"}
    assert redone("--column", "1") == set()
    assert redone("--column", "1", "--jobs", 1) == set()
    assert redone("--column", "1", "--no-breaks") == everything
    assert redone("--column", "1", "--sentence-case") == everything
    again = tmp_path / "copy.fst"
    shutil.copy(model, again)
    assert redone("--column", "1", "--sentence-case", lm=again) == set()
    (tmp_path / "corpus").write_text((CORPUS + ADDED) * 4)
    capfst.train(tmp_path / "corpus", again, context=False)
    assert redone("--column", "1", "--sentence-case", lm=again) == everything


def test_a_changed_context_model_recases_files_again(contextual_model, tmp_path):
    lm = tmp_path / "cap.fst"
    text = "\n".join(UNHEARD).lower()
    (tmp_path / "a").write_text(text)

    def status(*options) -> str:
        """Return the status of the file after a batch with these options; check that the output equals `recase`'s."""
        report, _ = batch(lm, tmp_path / "a", "--output", tmp_path / "out", *options)
        chosen = {"context": "--no-context" not in options, "oov": "pass" if "pass" in options else "guess"}
        assert (tmp_path / "out" / "a").read_text() == capfst.load(lm, **chosen)(text)
        return report["files"][0]["status"]

    shutil.copy(contextual_model, lm)
    assert [status(), status()] == ["done", "skipped"]
    weighed = (tmp_path / "out" / "a").read_bytes()
    assert [status("--oov", "pass"), status("--oov", "pass")] == ["done", "skipped"]
    assert [status("--no-context"), status("--no-context")] == ["done", "skipped"]
    assert (tmp_path / "out" / "a").read_bytes() != weighed
    files = [Path(contextual_model).with_name(name) for name in ("help.txt", "rot13.txt")]
    capfst.train(files, lm, clean=False, context=ContextOptions(max_labels=9000))
    assert [status(), status()] == ["done", "skipped"]
    shutil.copy(contextual_model, lm)
    assert status() == "done"
    assert (tmp_path / "out" / "a").read_bytes() == weighed


def test_a_context_model_of_an_old_format_stops_the_run(tmp_path):
    path = with_old_context(tiny(), tmp_path / "cap.fst")
    (tmp_path / "a").write_text("it works")
    with pytest.raises(CapfstError, match=r"/cap\.fst: its part 'context'"):
        cli.main(["batch", "--lm", f"{path}", f"{tmp_path}/a", "--output", f"{tmp_path}/o"], standalone_mode=False)
    batch(path, tmp_path / "a", "--output", tmp_path / "o", "--no-context")


# Killed


def test_files_of_killed_processes_are_removed_and_those_being_written_are_kept(tmp_path):
    left = tmp_path / ".capfst-0123abcd.tmp"
    left.touch()
    with replacing(tmp_path / "cap.fst") as file:
        file.write(b"a model")
        for folder in tmp_path, tmp_path / "missing":
            clear(folder)
        assert not left.exists()
    assert files(tmp_path) == {"cap.fst": b"a model"}


def test_links_in_folders_are_recased_fail_or_are_left_out(model, tmp_path):
    folder, other = tmp_path / "in", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "a.txt").write_text(TEXT)
    for name, target in {"a.txt": other / "a.txt", "folder": other, "b.txt": "gone", "b.png": "gone"}.items():
        (folder / name).symlink_to(target)
    report, lines = batch(model, folder, "--output", tmp_path / "out", code=1)
    assert files(tmp_path / "out") == {"a.txt": CASED.encode()}
    assert [(Path(file["input"]).name, file["status"]) for file in report["files"]] == [
        ("b.txt", "failed"), ("a.txt", "done"),
    ]  # fmt: skip
    assert report["left_out"] == [f"{folder}/b.png", f"{folder}/folder"]
    assert any("2 left out" in line for line in lines)
    (folder / "b.txt").unlink()
    assert find_files([folder]) == [folder / "a.txt"]


# Errors in one file do not stop the others


@pytest.fixture
def faulty(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.txt").write_bytes(b"new york\n\xff\n")
    (folder / "2.gz").write_bytes(gzip.compress(TEXT.encode() * 9)[:-9])
    (folder / "3.jsonl").write_bytes(b'{"text": "ibm"}\n{"text": "i\n')
    (folder / "4.parquet").write_bytes(b"PAR1 PAR1")
    (folder / "5.txt").symlink_to("nowhere")
    os.mkfifo(folder / "6.txt")
    os.mkfifo(folder / "6.json")  # its content would show whether it is text
    (folder / "7.txt").write_text(TEXT)
    return folder


def test_faulty_files_fail_and_the_others_are_recased(model, faulty, tmp_path):
    out = tmp_path / "out"
    report, lines = batch(model, faulty, tmp_path / "gone.txt", "--output", out, code=1)
    assert files(out) == {"7.txt": CASED.encode()}
    errors = {Path(file["input"]).name: file["error"] for file in report["files"]}
    for name, detail in {
        "1.txt": "line 2: .*0xff",
        "2.gz": r"byte \d+",
        "3.jsonl": "line 2: .*column 10: Unterminated string\\. Fix",
        "4.parquet": "Parquet",
        "5.txt": "No such file",
        "6.txt": "not a regular file",
        "gone.txt": "No such file",
    }.items():
        assert f"/{name}" in errors[name]
        assert re.search(detail, errors[name])
        assert f"capfst: error: {errors[name]}" in lines
    assert errors["7.txt"] is None
    assert lines[-1].startswith("capfst: error: 7 of 8 ")
    report, _ = batch(model, faulty, "--output", out, "--on-error", "drop", code=1)
    assert files(out) == {"1.txt": b"New York\n", "3.jsonl": b'{"text": "IBM"}\n', "7.txt": CASED.encode()}
    assert (report["failed"], report["malformed"]) == (4, 2)
    (faulty / "2.gz").write_bytes(gzip.compress(TEXT.encode()))
    for name in "4.parquet", "5.txt", "6.txt":
        (faulty / name).unlink()
    report, _ = batch(model, faulty, "--output", out, "--on-error", "drop")
    assert (report["skipped"], report["done"]) == (3, 1)


def test_a_column_whose_name_is_not_utf8_fails_alone(model, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    pq.write_table(pa.table({"text": ["ibm"], "nome": ["a"]}), folder / "a.parquet", store_schema=False)
    content = (folder / "a.parquet").read_bytes()
    assert b"nome" in content
    (folder / "a.parquet").write_bytes(content.replace(b"nome", b"nom\xe9"))
    (folder / "b.txt").write_text("ibm")
    report, lines = batch(model, folder, "--output", out, code=1)
    assert files(out) == {"b.txt": b"IBM"}
    assert any("name of a column is not UTF-8" in (file["error"] or "") for file in report["files"])
    assert not any("Traceback" in line for line in lines)
    trained = run("train", folder, "--column", "text", "--no-clean", "-o", tmp_path / "m.fst", code=1)
    assert "a.parquet: the name of a column is not UTF-8" in trained.stderr.decode()
    assert b"Traceback" not in trained.stderr


@pytest.mark.parametrize("stage", ["__init__", "pieces", "recased", "writing"])
@pytest.mark.parametrize("error", [ValueError("odd"), IndexError(3), KeyError("x"), RecursionError("deep")])
def test_whatever_is_raised_fails_only_its_file(model, tmp_path, monkeypatch, stage, error):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("a.tsv", "b.txt", "c.txt"):
        (folder / name).write_text("text\nibm\n")

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(capfst.io.tables.Tsv, stage, fail, raising=False)
    _, lines = batch(model, folder, "--output", out, code=1)
    assert files(out) == {"b.txt": b"text\nIBM\n", "c.txt": b"text\nIBM\n"}
    (line,) = [line for line in lines if f"{folder / 'a.tsv'}: cannot be read ({type(error).__name__}: " in line]
    assert line.startswith("capfst: error: ")


def test_a_parquet_file_that_crashes_pyarrow_fails_alone(model, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    import pyarrow.parquet as pq  # noqa: PLC0415
    from support.crashing import read_metadata_or_crash  # noqa: PLC0415 - needs pyarrow

    for name in "crash.parquet", "other.parquet":
        pq.write_table(pa.table({"text": ["new york"]}), tmp_path / name)
    monkeypatch.setattr("capfst.io.parquet._metadata_apart", Apart(read_metadata_or_crash))
    report, lines = batch(model, *tmp_path.glob("*.parquet"), "--output", tmp_path / "out", code=1)
    assert (report["done"], report["failed"]) == (1, 1)
    assert f"{tmp_path}/crash.parquet: not a readable Parquet file" in "".join(lines)
    assert pq.read_table(tmp_path / "out" / "other.parquet").to_pylist() == [{"text": "New York"}]


@pytest.mark.parametrize("change", ["shrinks", "grows", "is written to", "is replaced", "goes"])
def test_an_input_that_changes_while_it_is_read_fails(model, tmp_path, monkeypatch, change):
    path, out = tmp_path / "in.txt", tmp_path / "out"
    path.write_text(TEXT * 3)
    out.mkdir()
    (out / "in.txt").write_text("of an earlier run")
    formats = capfst.io.lines

    def read_and_change(file, *rest):
        yield from raw_pieces(file, *rest)
        if change == "shrinks":
            os.truncate(file, 5)
        elif change == "grows":
            file.write_text(TEXT * 4)
        elif change == "is written to":
            with open(file, "r+b") as other:
                other.write(b"X")
        elif change == "is replaced":
            file.with_name("new").write_text(TEXT)
            file.with_name("new").replace(file)
        else:
            file.unlink()

    raw_pieces = formats.raw_pieces
    with monkeypatch.context() as patch:
        patch.setattr(formats, "raw_pieces", read_and_change)
        _, lines = batch(model, path, "--output", out, code=1)
    assert ("No such file" if change == "goes" else f"{path}: changed ") in lines[0]
    assert files(out) == {"in.txt": b"of an earlier run"}
    path.write_text(TEXT)
    assert batch(model, path, "--output", out)[0]["done"] == 1


def test_strict_stops_at_once(model, faulty, tmp_path):
    report, lines = batch(model, faulty, "--output", tmp_path / "out", "--strict", "--jobs", 1, code=1)
    assert [file["status"] for file in report["files"]] == ["failed"]
    assert re.search(r"/1\.txt[:,] line 2\b", lines[0])
    assert "--strict" in lines[-1]
    assert files(tmp_path / "out") == {}


def test_files_that_end_together_are_all_in_the_report():
    """This includes files that end after the one that stops the run. No further files are started."""
    begun, together, stopped = [], Barrier(3), Event()

    class Runner:
        jobs = 3

        def recase_file(self, file):
            begun.append(file)
            together.wait(TIMEOUT)
            return FileReport(PlannedFile(file, file), FAILED)

    taken = []
    assert "--strict" in recase_all(Runner(), stopped, "abcdef", True, taken.append)
    assert sorted(file.file.input for file in taken) == sorted(begun) == ["a", "b", "c"]
    assert stopped.is_set()


def limited_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


@pytest.mark.slow
def test_an_output_that_cannot_be_written_fails_and_the_others_are_written(model, tree, tmp_path):
    (tree / "long").write_text(TEXT * 1000)
    pq.write_table(pa.table({"text": [str(i) for i in range(9999)]}), tree / "long.parquet")
    done = run_process("batch", "-q", "--lm", model, tree, "-o", tmp_path / "out", code=1, preexec_fn=limited_files)
    errors = done.stderr.decode().splitlines()
    assert len(errors) == 3
    assert all("File too large" in error and "/out/long" in error for error in errors[:2])
    assert len(files(tmp_path / "out")) == 6


def test_a_full_disk_stops_the_run_and_leaves_nothing_half_written(model, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with mounted(out, 2 << 20):
        (tmp_path / "in").mkdir()
        for name, size in ("a", 1000), ("b", 50_000), ("c", 50_000), ("d", 1000):
            (tmp_path / "in" / name).write_text(TEXT * size)
        refused = run("batch", "--lm", model, tmp_path / "in", "--output", out, code=1).stderr.decode()
        assert re.search(r"out: the disk has [12] MB free, but the output takes about \d+ MB", refused)
        big = tmp_path / "in" / "b"
        refused = run("recase", "--lm", model, big, "-o", out / "b", code=1).stderr.decode()
        assert re.search(r"out: the disk has [12] MB free", refused)
        assert not sorted(files(out))
        monkeypatch.setattr("capfst.batch.run.check_room", lambda folder, size: None)  # another process writes, too
        report, lines = batch(model, tmp_path / "in", "--output", out, "--jobs", 1, code=1)
        assert "No space left" in report["error"]
        assert "No space left" in lines[-1]
        assert [file["status"] for file in report["files"]] == ["done"]
        assert sorted(files(out)) == ["a"]


def test_two_runs_do_not_share_a_folder(model, tree, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    descriptor = os.open(out, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(CapfstError, match=re.escape(str(out))):
            cli.main(["batch", "--lm", str(model), str(tree), "--output", str(out)], standalone_mode=False)
    finally:
        os.close(descriptor)
    batch(model, tree, "--output", out)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.jsonl", "a.tsv", "a.txt"])
def test_memory_grows_little_with_a_record(model, tmp_path, name):
    """Memory grows by less than six bytes per byte of a record."""
    peaks = []
    for size in 2 << 20, 66 << 20:
        value = TEXT.replace("\n", " ")
        value *= size // len(value)
        line = {"a.jsonl": json.dumps({"text": value}), "a.tsv": f"text\n{value}", "a.txt": value}[name]
        (tmp_path / name).write_text(line)
        command = ["batch", "-q", "--force", "--lm", model, tmp_path / name, "--output", tmp_path / "out"]
        program = "import resource, sys; from capfst.cli import cli; cli(sys.argv[1:], standalone_mode=False);" \
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"  # fmt: skip
        done = subprocess.run([sys.executable, "-c", program, *map(str, command)], capture_output=True, check=True)
        peaks.append(int(done.stdout) << 10)
        assert (tmp_path / "out" / name).stat().st_size == len(line)
    assert peaks[1] - peaks[0] < 6 * (64 << 20)


# Inputs


PLANS = [
    (["d"], ["a.txt", "e/b.txt"]),
    (["d/a.txt", "f.txt"], ["a.txt", "f.txt"]),
    (["d", "d/a.txt", "d/e/.."], ["a.txt", "e/b.txt"]),
    (["d/*/b.txt"], ["e/b.txt"]),
    (["*/*.txt"], ["d/a.txt"]),
    (["*"], ["d/a.txt", "d/e/b.txt", "f.txt"]),
    (["d/**/*.txt"], ["a.txt", "e/b.txt"]),
    (["gone"], ["gone"]),
    (["[x].txt"], ["[x].txt"]),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "d/a.txt", "d/e/b.txt", "f.txt", "[x].txt":
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return tmp_path


@pytest.mark.parametrize(("inputs", "outputs"), PLANS)
def test_outputs_have_the_relative_paths_of_their_inputs(here, inputs, outputs):
    if "*" in inputs:
        Path("[x].txt").unlink()
    found = plan(inputs, Path("out"), Path("m.fst")).files
    assert [file.output.as_posix() for file in found] == [f"out/{name}" for name in outputs]
    for file in found:
        assert file.input.name == file.output.name


BAD_PLANS = [
    (["d", "f"], "out", ["d/a.txt", "f/a.txt", "out/a.txt"]),
    (["d"], "d", ["d", "folder"]),
    (["d"], "d/e/x", ["d/e/x", "d"]),
    (["f.txt"], ".", ["f.txt", "input"]),
    (["d/e/b.txt", "l"], "l", ["l", "folder"]),
    (["d/e/b.txt"], "l", ["l/b.txt", "d/e/b.txt"]),
    (["m.fst/m"], "m.fst", ["m.fst/m", "model"]),
    (["n*"], "out", ["n*"]),
    (["empty"], "out", ["text"]),
    (["e", "d"], "out", ["e", "out/e", "out/e/b.txt"]),
    (["d/*/../../f.txt"], "out", ["out", "d/e/../../f.txt"]),
    (["*/../d/*.txt"], "out", ["*/../d/*.txt", "'..'"]),
    (["d/*/.."], "out", ["d/*/..", "'..'"]),
    (["d/a.txt"], "s", ["s/a.txt", "{here}/elsewhere", "s"]),
    (["d"], "s", ["s/e/b.txt", "{here}/f/b.txt", "s"]),
    (["f/.capfst-batch.jsonl"], "out", ["f/.capfst-batch.jsonl", "out"]),
    ([""], "out", ["empty"]),
]


@pytest.mark.parametrize(("inputs", "out", "details"), BAD_PLANS)
def test_outputs_that_would_damage_inputs_are_refused(here, inputs, out, details):
    Path("f").mkdir()
    Path("f/a.txt").touch()
    Path("empty").mkdir()
    Path("e").touch()
    Path("l").symlink_to("d/e")
    if out == "s":
        Path("s").mkdir()
        Path("s/e").symlink_to("../f")
        if inputs == ["d/a.txt"]:
            Path("s/a.txt").symlink_to("../elsewhere")
    with pytest.raises(CapfstError) as raised:
        plan(inputs, Path(out), Path("m.fst/m"))
    assert names(str(raised.value), *(detail.replace("{here}", str(here)) for detail in details))


@pytest.mark.parametrize(("to", "what"), [("f.txt", "input"), ("m.fst", "model")])
def test_an_output_that_is_a_link_is_refused(here, to, what):
    Path("out").mkdir()
    Path("out/f.txt").symlink_to(f"../{to}")
    with pytest.raises(CapfstError) as raised:
        plan(["f.txt"], Path("out"), Path("m.fst"))
    assert names(str(raised.value), "out/f.txt", what)


@pytest.mark.parametrize(("to", "what"), [("a.txt", "d/a.txt"), (MANIFEST, "manifest")])
def test_two_outputs_that_links_make_one_are_refused(here, to, what):
    Path("out").mkdir()
    Path("out/f.txt").symlink_to(to)
    with pytest.raises(CapfstError) as raised:
        plan(["d", "f.txt"], Path("out"), Path("m.fst"))
    assert names(str(raised.value), "out/f.txt", what)


def test_the_output_folder_may_be_a_link(here):
    Path("real").mkdir()
    Path("out").symlink_to("real")
    assert [str(file.output) for file in plan(["f.txt"], Path("out"), Path("m.fst")).files] == ["out/f.txt"]


def test_names_with_control_characters_stay_on_their_line(model, tmp_path):
    folder = tmp_path / "in\u2028"
    folder.mkdir()
    (folder / "a\nb\x1b.txt").write_text(TEXT)
    (folder / "a\nb.jsonl").write_text("x")
    report, lines = batch(model, folder, "--output", tmp_path / "out", code=1)
    assert sorted(files(tmp_path / "out")) == ["a\nb\x1b.txt"]
    both = "\n".join(lines[:2])  # in the order of completion
    assert re.search(r"in\\u2028/a\\nb\.jsonl[:,] line 1: ", both)
    assert "in\\u2028/a\\nb\\x1b.txt: 3 lines" in both
    assert len(lines) == 5
    assert {Path(file["input"]).name for file in report["files"]} == {"a\nb\x1b.txt", "a\nb.jsonl"}
    assert batch(model, folder, "--output", tmp_path / "out", code=1)[0]["skipped"] == 1


def test_models_are_not_inputs(here):
    for name in "cap.fst", "b.fst":
        (Path("d") / name).touch()
    found = plan(["d"], Path("out"), Path("d/cap.fst"))
    assert [str(file.input) for file in found.files] == ["d/a.txt", "d/e/b.txt"]
    assert found.left_out == ["d/b.fst", "d/cap.fst"]
    assert [str(path) for path in find_files(["d"])] == ["d/a.txt", "d/e/b.txt"]


# Display


def test_lines_show_the_time_left(capsys, monkeypatch):
    now, file, stamp = [100.0], PlannedFile(Path("in/a"), Path("out/a")), Stamp(0, "", (0, 0, 0))
    entry = ManifestEntry("a", "in/a", {}, stamp, stamp, RecaseCounts(9, 1, 1000, 20_000, 300, 4))
    monkeypatch.setattr("capfst.batch.report.time.monotonic", lambda: now[0])
    with Display() as display:
        display.begin(3, 4000)
        display.advance(10)
        display.file(FileReport(PlannedFile(Path("in/c"), Path("out/c")), DONE))
        now[0] += 10
        display.advance(990)
        display.file(FileReport(file, DONE, entry))
        display.advance(3000)
        display.file(FileReport(file, FAILED, error="in/b: bad"))
    assert capsys.readouterr().err == (
        "in/c: 0 lines, 0 tokens, 0 changed, 0 unknown (file 1 of 3, 0%)\n"
        "in/a: 1,000 lines, 20,000 tokens, 300 changed, 4 unknown, 1 of 9 records malformed"
        " (file 2 of 3, 25%, 0:00:30 left)\n"
        "capfst: error: in/b: bad\n"
    )


def test_a_terminal_gets_one_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with Display() as display:
        display.begin(1, 4000)
        display.advance(4000)
        display.file(FileReport(PlannedFile(Path("in/a"), Path("out/a")), DONE))
    shown = capsys.readouterr().err
    assert "recasing" in shown
    assert "4.0 kB" in shown
    assert "in/a" not in shown


def test_quiet_prints_nothing(model, tree, tmp_path):
    assert batch(model, tree, "--output", tmp_path / "out", "-q")[1] == []


@pytest.mark.slow
def test_pyarrow_is_needed_only_for_parquet(model, tree, tmp_path):
    (tree / "p.parquet").unlink()
    code = "import sys; sys.modules['pyarrow'] = None; from capfst.cli import main; main()"
    command = [sys.executable, "-c", code, "batch", "--lm", model, tree, "--output", tmp_path / "out"]
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT)
    pq.write_table(pa.table({"text": [TEXT]}), tree / "p.parquet")
    done = subprocess.run(command, check=False, capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 1
    assert b"capfst[parquet]" in done.stderr
