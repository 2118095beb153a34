"""Train a model: its options and its report; an error, a kill or a full disk leaves the old model; the memory limit."""

import gc
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import contextual
from support.command_line import TIMEOUT, run_python
from support.disk import mounted
from support.folders import contents
from support.models import trailer_start

import capfst
from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.fst.read import CapFst
from capfst.models.convert import export_arpa, import_model, mix_models
from capfst.options import TrainOptions


@pytest.fixture
def corpus(contextual_model):
    return [contextual_model.with_name(name) for name in ("help.txt", "rot13.txt")]


@pytest.fixture(scope="module")
def unheard(tmp_path_factory):
    """Return a folder with a corpus, and with a folder `models` that holds a model of this corpus."""
    folder = tmp_path_factory.mktemp("unheard")
    (folder / "models").mkdir()
    (folder / "old.txt").write_text("\n".join(contextual.UNHEARD), "utf-8")
    capfst.train(folder / "old.txt", folder / "models" / "cap.fst", clean=False)
    return folder


@pytest.fixture
def old(unheard, tmp_path):
    """Return a folder with one model, which has a context model."""
    shutil.copytree(unheard, tmp_path, dirs_exist_ok=True)
    return tmp_path / "models"


def test_the_signature_and_the_docstring_list_the_options():
    parameters = inspect.signature(capfst.train).parameters
    for each in fields(TrainOptions):
        assert parameters[each.name].default == each.default
        assert f"\n    {each.name}: " in capfst.train.__doc__
    assert "options" not in parameters
    with pytest.raises(TypeError, match=r"train\(\) .*'oder'"):
        capfst.train("corpus.txt", "cap.fst", oder=3)


def test_an_option_takes_one_value_or_many(tmp_path):
    (tmp_path / "a.txt").write_text("The cat met Tom.\nno start\nNo end\n" * 9, "utf-8")
    (tmp_path / "words").write_text("Xyzzy\nNew York\n", "utf-8")
    models = []
    for words, filters, cutoffs in (
        (tmp_path / "words", "end", 0),
        (str(tmp_path / "words"), ["end"], [0]),
        (iter([tmp_path / "words"]), {"end"}, (0,)),
    ):
        options = {"words": words, "skip_filters": filters, "cutoffs": cutoffs, "context": False}
        trained = capfst.train(tmp_path / "a.txt", tmp_path / "cap.fst", **options)
        assert (trained.sentences, trained.listed) == (18, 3)
        models.append((tmp_path / "cap.fst").read_bytes())
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"order": 6}, "`order` is 6"),
        ({"cutoffs": (1,)}, "`cutoffs` is 1"),
        ({"cutoffs": (0, 2, 1)}, "`cutoffs` is 0,2,1"),
        ({"cutoffs": (0, 0, 1), "order": 2}, "`cutoffs` is 0,0,1"),
        ({"errors": "ignore"}, "`errors` is 'ignore'"),
        ({"max_words": 0}, "`max_words` is 0"),
    ],
)
def test_unsupported_values_are_refused_before_the_corpus_is_read(tmp_path, options, named):
    with pytest.raises(OptionError, match=named):
        capfst.train(tmp_path / "nowhere", tmp_path / "cap.fst", **options)


def test_each_kind_of_error_has_its_class(tmp_path):
    (tmp_path / "a.txt").write_text("lower case\n", "utf-8")
    with pytest.raises(CorpusError, match=r"a\.txt: .*start 1"):
        capfst.train(tmp_path / "a.txt", tmp_path / "cap.fst")
    with pytest.raises(OptionError, match=r"`min_count` is 2\b.*/a\.txt"):
        capfst.train(tmp_path / "a.txt", tmp_path / "cap.fst", clean=False, min_count=2)
    with pytest.raises(OptionError, match=r"`language` is '?fr\b.* de\b"):
        capfst.train(f"de={tmp_path}/a.txt", tmp_path / "cap.fst", language="fr")


def test_the_report_opens_the_model(tmp_path):
    (tmp_path / "a.txt").write_text("We met in Paris.\n" * 9, "utf-8")
    trained = capfst.train(tmp_path / "a.txt", tmp_path / "cap.fst", context=False)
    assert trained.load()("in paris") == "in Paris"
    assert trained.load(sentence_case=True)("in paris") == "In Paris"


@pytest.mark.parametrize("way", ["train", "import", "mix"])
def test_a_model_without_context_replaces_one_with_context(old, tmp_path, way):
    path = old / "cap.fst"
    other = tmp_path / "other.fst"
    shutil.copy(path, other)
    if way == "train":
        capfst.train(tmp_path / "old.txt", path, clean=False, context=False)
    elif way == "import":
        export_arpa(other, tmp_path / "arpa")
        import_model(tmp_path / "arpa", path)
    else:
        mixed = mix_models([path, other], path, weights=[0.5, 0.5], context=False)
        assert mixed.context is None
    assert sorted(contents(old)) == ["cap.fst"]
    assert capfst.load(path).pipeline.context is None


def test_a_failure_leaves_the_old_model(old, tmp_path):
    before = contents(old)
    (tmp_path / "bad").write_bytes(b"lower case\n")
    for fails, named in (
        (lambda: capfst.train(tmp_path / "bad", old / "cap.fst"), "/bad: .*start 1"),
        (lambda: capfst.train(tmp_path / "bad", old / "cap.fst", context=False), "/bad: .*start 1"),
        (lambda: capfst.train(tmp_path / "old.txt", old / "cap.fst", clean=False, max_ngrams=9), r"\b9\b"),
        (lambda: capfst.train(tmp_path / "old.txt", old / "cap.fst", clean=False, min_count=10**9), r"/old\.txt"),
        (lambda: import_model(tmp_path / "bad", old / "cap.fst"), "/bad, line 1:"),
        (lambda: mix_models([old / "cap.fst"], old / "cap.fst", weights=[0.5]), r"\b0\.5\b"),
    ):
        with pytest.raises(CapfstError, match=named):
            fails()
        assert contents(old) == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list open files")
def test_a_failure_leaves_no_file_open(tmp_path):
    (tmp_path / "bad").write_bytes(b"A good line of it.\n" * 9 + b"\xff\n")
    left = set()
    for _ in range(3):
        with pytest.raises(CapfstError, match=r"/bad\b.*\b171\b.*\(0xff\)"):
            capfst.train(tmp_path / "bad", tmp_path / "cap.fst")
        gc.collect()
        left.add(len(os.listdir("/proc/self/fd")))
    assert len(left) == 1


_KILLING = """
import os, signal, sys
import capfst
replace, left = os.replace, int(sys.argv[1])
def replace_or_die(*paths):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(*paths)
os.replace = replace_or_die
capfst.train(sys.argv[3:], sys.argv[2], clean=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize("files", [0, 1])
def test_a_killed_training_leaves_the_old_or_the_new_model(contextual_model, corpus, old, files):
    path = old / "cap.fst"
    before = contents(old)
    run_python(_KILLING, files, path, *corpus, code=0 if files else -signal.SIGKILL)
    assert path.read_bytes() == (contextual_model.read_bytes() if files else before["cap.fst"])
    assert capfst.load(path).pipeline.context is not None


_WAITING = """
import os, sys, time
from capfst.cli import main
def wait(*paths):
    print("written", flush=True)
    time.sleep(100)
os.replace = wait
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_new_model_is_renamed_leaves_the_old_one(corpus, old, number, code):
    before = contents(old)
    command = [sys.executable, "-c", _WAITING, "train", "-q", "--no-clean", *corpus, "-o", old / "cap.fst"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"written\n"
        assert len(os.listdir(old)) == 2
        process.send_signal(number)
        assert process.wait(TIMEOUT) == code
        assert process.stderr
        assert b"Traceback" not in process.stderr.read()
    assert contents(old) == before


@pytest.mark.parametrize("memory", [None, 64 << 30])
@pytest.mark.parametrize("part", ["arcs", "trailer"])
def test_a_full_disk_is_an_error_and_leaves_no_file(contextual_model, corpus, tmp_path, part, memory):
    begin = trailer_start(CapFst.open(contextual_model))
    disk = tmp_path / "disk"
    with mounted(disk, begin // 2 if part == "arcs" else begin + (contextual_model.stat().st_size - begin) // 2):
        with pytest.raises(CapfstError, match="No space left on device"):
            capfst.train(corpus, disk / "cap.fst", clean=False, memory=memory)
        assert list(disk.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"max_ngrams": 9}, {"min_count": 10**9}, {"memory": 8 << 30, "jobs": 1024}], ids=str
)
def test_limits_that_the_corpus_exceeds_are_refused_before_contexts_are_learned(corpus, tmp_path, options):
    begun = []

    def progress(total, stage, unit):
        begun.append(stage)
        return nullcontext(lambda size: None)

    with pytest.raises(OptionError, match=f"`{next(iter(options))}"):
        capfst.train(corpus, tmp_path / "m.fst", clean=False, progress=progress, **options)
    assert begun == ["reading"]


_MEASURING = """
import re, sys
from pathlib import Path
import capfst
try:
    capfst.train(sys.argv[3:], sys.argv[2], order=1, clean=False, memory=int(sys.argv[1]) << 20)
except capfst.CapfstError as error:
    print(error)
else:
    print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not show the memory of a process")
def test_the_memory_that_the_error_names_is_enough_and_not_exceeded(corpus, tmp_path):
    """The corpus is large enough for large tables."""
    files = [tmp_path / file.name for file in corpus]
    for file, text in zip(files, corpus, strict=True):
        file.write_text(f"{text.read_text('utf-8')}\n" * 3, "utf-8")
    path = tmp_path / "models" / "cap.fst"
    path.parent.mkdir()

    def train(memory: int) -> str:
        return run_python(_MEASURING, memory, path, *files).stdout.decode()

    refused = train(170)
    assert "`context" in refused
    assert list(path.parent.iterdir()) == []
    needed = max(map(int, re.findall(r"(\d+) MiB", refused)))
    assert needed > 170
    assert int(train(needed)) <= needed << 10
    assert capfst.load(path).pipeline.context is not None


def test_the_memory_that_the_error_adds_for_ngrams_is_enough(corpus, tmp_path):
    options = {"context": False, "clean": False, "jobs": 2}
    with pytest.raises(OptionError, match="too little for the n-grams") as refused:
        capfst.train(corpus, tmp_path / "m.fst", memory=100 << 20, **options)
    more = int(re.search(r"Raise it by (\d+) MiB", str(refused.value))[1])
    capfst.train(corpus, tmp_path / "m.fst", memory=100 + more << 20, **options)


def test_warnings_name_one_of_many_inputs_and_the_cause_alone(tmp_path, caplog):
    files = [tmp_path / f"{n}.txt" for n in range(5)]
    for file in files:
        file.write_text("it is new.\n" * 200)
    files[0].write_text("It is new.\n")
    capfst.train(files, tmp_path / "m.fst", context=False)
    (warning,) = caplog.messages  # which does not advise to disable the filter that rejects lower case
    assert warning.startswith(f"{files[0]} and 4 other inputs: it has hardly any capitals")


def test_a_small_disk_for_temporary_files_is_a_warning(corpus, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
    capfst.train(corpus, tmp_path / "m.fst", context=False, clean=False, tmp=tmp_path)
    (warning,) = caplog.messages
    assert warning.startswith(f"{tmp_path}: temporary files may take 0.0 GB, but 0.0 GB are free")


TURKISH = "Ahmet bugün Isparta'dan geldi.\nAyşe yarın İstanbul'a gider.\nO kız ırmak kenarında ızgara yapar.\n"


def test_a_model_follows_its_language(tmp_path):
    (tmp_path / "tr.txt").write_text(TURKISH, "utf-8")
    for name, language in ("tr", "tr"), ("default", None):
        trained = capfst.train(tmp_path / "tr.txt", tmp_path / f"{name}.fst", language=language, context=False)
        assert trained.signature.lowercasing == name
    recaser = capfst.load(tmp_path / "tr.fst", sentence_case=True)
    assert recaser("ahmet ısparta'dan geldi ISPARTA'DAN İSTANBUL'A") == "Ahmet Isparta'dan geldi Isparta'dan İstanbul'a"
    assert recaser("ırmak") == "Irmak"
    assert recaser("istanbul'a IZGARA") == "İstanbul'a ızgara"
    assert capfst.load(tmp_path / "default.fst")("ısparta'dan istanbul'a") == "ısparta'dan istanbul'a"
    with pytest.raises(CapfstError, match=r"\(default, tr\)"):
        mix_models([tmp_path / "tr.fst", tmp_path / "default.fst"], tmp_path / "m.fst", weights=[0.5, 0.5])
    mix_models([tmp_path / "tr.fst", tmp_path / "tr.fst"], tmp_path / "m.fst", weights=[0.5, 0.5])
    assert capfst.load(tmp_path / "m.fst")("ısparta'dan istanbul'a") == "Isparta'dan İstanbul'a"
    export_arpa(tmp_path / "tr.fst", tmp_path / "tr.arpa")
    import_model(tmp_path / "tr.arpa", tmp_path / "again.fst", language="tr")
    assert capfst.load(tmp_path / "again.fst")("ısparta'dan istanbul'a") == "Isparta'dan İstanbul'a"


def test_unseen_words_have_the_shapes_of_their_language(tmp_path):
    names, others = ("IJsland", "Utrecht", "IJmuiden"), ("bij", "ijzer")
    lines = [f"Van {name} naar ijs of {other}.\n" for name in names for other in others]
    (tmp_path / "nl.txt").write_text("".join(lines) * 9, "utf-8")
    for language in "nl", None:
        capfst.train(tmp_path / "nl.txt", tmp_path / "nl.fst", language=language)
        recaser = capfst.load(tmp_path / "nl.fst", sentence_case=True)
        assert (recaser("ijburg") == "IJburg") == (language == "nl")


def test_an_unknown_language_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text(TURKISH, "utf-8")
    with pytest.raises(CapfstError, match=r"language.*'turkish'.* az\b"):
        capfst.train(tmp_path / "a.txt", tmp_path / "a.fst", language="turkish")
    capfst.train(tmp_path / "a.txt", tmp_path / "a.fst", language="tr", context=False)
    data = (tmp_path / "a.fst").read_bytes()
    (tmp_path / "b.fst").write_bytes(data.replace(b"lowercasing:tr", b"lowercasing:zz"))
    with pytest.raises(CapfstError, match=r"/b\.fst: .*'zz'"):
        capfst.load(tmp_path / "b.fst")


def test_entities_and_inclusive_forms_are_learned_as_they_are_meant(tmp_path):
    plain, given = tmp_path / "plain.txt", tmp_path / "given.txt"
    plain.write_text("It's O'Neill's \"house\" in New\u00a0York.\nDie Schülerinnen und die député in Köln.\n")
    given.write_text(
        "It&apos;s O&#039;Neill&apos;s &quot;house&quot; in New&nbsp;York.\n"
        "Die Schüler:innen und die député·e·s in K&ouml;ln.\n"
    )
    models = [
        capfst.train(file, file.with_suffix(".fst"), context=False, clean=False).load().model for file in (plain, given)
    ]
    assert [*map(str, models[0].symbols)] == [*map(str, models[1].symbols)]
    assert (models[0].arcs == models[1].arcs).all()
