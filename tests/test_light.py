"""Test capfst without pynini: only the engine `openfst` and the grammars fail, and their errors name the package."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from support.command_line import message, run_python
from support.models import tiny

WITHOUT_PYNINI = "import sys; sys.modules.update(pynini=None, pywrapfst=None)\n"
IMPORT_ALL = """
import importlib, json
sys.path.append(sys.argv.pop(1))
failed = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        failed.append([name, error.name])
print(json.dumps(failed))
"""
ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join([*package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
    for folder, package in ((ROOT / "capfst", ["capfst"]), (ROOT / "grammars", ["grammars"]))
    for path in sorted(folder.rglob("*.py"))
]


def python(program: str, *arguments: str | Path, **options: Any) -> CompletedProcess[bytes]:
    return run_python(WITHOUT_PYNINI + program, *arguments, **options)


@pytest.mark.slow
def test_only_openfst_and_the_grammars_need_pynini() -> None:
    for extra in "pyarrow", "pyspark", "uvicorn":
        pytest.importorskip(extra)
    failed = json.loads(python(IMPORT_ALL, ROOT, *MODULES).stdout)
    grammars = [f"grammars.{name}" for name in ("diacritics", "lower", "names", "shapes")]
    needing = ["capfst.search.openfst", "capfst.text.character_map", *grammars]
    assert sorted(failed) == [[name, "pynini"] for name in needing]


@pytest.mark.slow
def test_the_engine_names_the_extra_with_pynini(tmp_path: Path) -> None:
    model, text = tmp_path / "cap.fst", tmp_path / "text.jsonl"
    tiny().save(model)
    text.write_text('{"text": "it works"}\n', "utf-8")
    main = "from capfst.cli import main; main()"
    assert python(main, "recase", "--lm", model, stdin="it works").stdout == b"It works"
    python(main, "batch", "--lm", model, text, "--output", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "text.jsonl").read_text("utf-8")) == {"text": "It works"}
    done = python(main, "recase", "--lm", model, "--engine", "openfst", stdin="it works", code=1)
    error = message(done)
    assert "openfst" in error and "pip install 'capfst[openfst]'" in error


def test_parquet_without_pyarrow_is_one_error_in_all_threads() -> None:
    program = """
import sys; sys.modules["pyarrow"] = None
from pathlib import Path
from threading import Barrier, Thread
from capfst.exceptions import CapfstError
from capfst.io.formats import format_of
from capfst.io.protocol import BatchOptions

errors, together = [], Barrier(8)

def read():
    together.wait()
    try:
        format_of(Path("a.parquet"), BatchOptions("text", "text"))
    except Exception as error:
        errors.append(repr(error))

threads = [Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*errors, sep="\\n")
"""
    printed = run_python(program).stdout.decode().splitlines()
    assert len(printed) == 8
    assert all("CapfstError" in line and "capfst[parquet]" in line for line in printed)
