"""Without pynini, all works but the engine `openfst` and the grammars, which say what they need."""

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import capfst.grammars
import pytest
from support.command_line import CORPUS, TIMEOUT, message

import capfst

WITHOUT_PYNINI = "import sys; sys.modules.update(pynini=None, pywrapfst=None)\n"
IMPORT_ALL = """
import importlib, json
failed = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        failed.append([name, error.name])
print(json.dumps(failed))
"""
MODULES = [
    module.name
    for package in (capfst, capfst.grammars)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
]


def python(program: str, *arguments: str | Path, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", WITHOUT_PYNINI + program, *map(str, arguments)]
    done = subprocess.run(command, input=stdin.encode(), capture_output=True, check=False, timeout=TIMEOUT)
    assert done.returncode == code, done.stderr.decode()
    return done


@pytest.mark.slow
def test_modules_that_need_pynini() -> None:
    for extra in "pyarrow", "pyspark":
        pytest.importorskip(extra)
    failed = json.loads(python(IMPORT_ALL, *MODULES).stdout)
    needing = ["capfst.grammars.lower", "capfst.grammars.names", "capfst.search.openfst"]
    assert sorted(failed) == [[name, "pynini"] for name in needing]


@pytest.mark.slow
def test_the_engine_says_how_to_get_pynini(tmp_path: Path) -> None:
    corpus, model, text = (tmp_path / name for name in ("corpus.txt", "cap.fst", "text.jsonl"))
    corpus.write_text(CORPUS * 3, "utf-8")
    text.write_text('{"text": "paris"}\n', "utf-8")
    main = "from capfst.cli import main; main()"
    python(main, "train", "-q", corpus, "-o", model)
    assert python(main, "recase", "--lm", model, stdin="new york").stdout == b"New York"
    python(main, "batch", "--lm", model, text, "--out", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "text.jsonl").read_text("utf-8")) == {"text": "Paris"}
    done = python(main, "recase", "--lm", model, "--engine", "openfst", stdin="new york", code=1)
    assert message(done) == "capfst: error: the engine openfst needs pynini: pip install 'capfst[openfst]'"
