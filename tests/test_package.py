"""Test that the source distribution and the wheel are complete, and that setuptools builds them without warnings."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from support.command_line import TIMEOUT

from capfst.kernels.library import own_level, path_of

ROOT = Path(__file__).parent.parent
FOLDERS = (".ci", "capfst", "docs", "grammars", "scripts", "tests")
FILES = """
    .dockerignore CHANGELOG.md CITATION.cff CONTRIBUTING.md Dockerfile LICENSE MANIFEST.in Makefile README.md
    constraints.txt mkdocs.yml pyproject.toml setup.py
""".split()  # noqa: SIM905
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_{}(sys.argv[1]))"

pytestmark = pytest.mark.slow


def build(kind: str, tree: Path, out: Path) -> Path:
    """Build as `python -m build` does, but without fetching setuptools. Return the path of the archive."""
    command = [sys.executable, "-c", BUILD.format(kind), str(out)]
    # setuptools warns if PYTHONDONTWRITEBYTECODE is set.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=10 * TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower()
    return out / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source without build outputs."""
    pytest.importorskip("setuptools", minversion="77")
    tree = tmp_path_factory.mktemp("tree")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.tmp", "*.so", "lib"))
    for name in FILES:
        shutil.copy(ROOT / name, tree)
    return tree


@pytest.fixture(scope="module")
def files(tree: Path) -> set[str]:
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def unpacked(tree: Path, files: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", tree, folder)) as archive:
        archive.extractall(folder)  # trusted: the archive was just built
    unpacked = next(path for path in folder.iterdir() if path.is_dir())
    if (ROOT / "build" / "kernels").exists():  # saves compiling unchanged kernels
        shutil.copytree(ROOT / "build" / "kernels", unpacked / "build" / "kernels")
    return unpacked


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build("wheel", unpacked, tmp_path_factory.mktemp("wheel")))


def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_source_distribution_has_all_source_files(files: set[str], unpacked: Path) -> None:
    texts = {name for name in files if name.startswith("scripts/data/") and name.endswith(".txt")}  # large
    assert {name for name in files if not (unpacked / name).is_file()} == texts


def test_the_wheel_has_the_code_and_its_data(files: set[str], wheel: zipfile.ZipFile) -> None:
    code = {name for name in files if name.startswith("capfst/")}
    code |= {f"capfst/{name}" for name in files if name.startswith("grammars/")}
    code -= {"capfst/kernels/_call.c"}
    assert {"capfst/py.typed", "capfst/grammars/lower.tsv"} < code
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    suffix = next(suffix for suffix in EXTENSION_SUFFIXES if suffix in (".abi3.so", ".pyd"))
    made = {f"capfst/kernels/_call{suffix}", "capfst/kernels/lib/digests.json"}
    assert packed == code | made | {f"capfst/kernels/lib/{path_of(own_level()).name}"}
    assert "-cp310-abi3-" in str(wheel.filename)
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())


def test_the_core_has_few_dependencies(wheel: zipfile.ZipFile) -> None:
    needed = [line for line in metadata(wheel).get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {re.match(r"[\w.-]+", line)[0] for line in needed} == {"backports.zstd", "click", "numpy", "tqdm"}


def test_the_description_is_readable_outside_the_source(wheel: zipfile.ZipFile) -> None:
    described = metadata(wheel)
    text = described.get_payload()
    assert described["Description-Content-Type"] == "text/markdown"
    assert text.startswith("# capfst\n")
    assert "`docs/recase.md`" in text
    assert [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("https://")] == []


def test_the_package_runs_from_a_checkout() -> None:
    """Python prefers modules in the current folder to installed ones."""
    hidden = "import sys; sys.meta_path = [each for each in sys.meta_path if 'editable' not in repr(each)]; "
    program = f"{hidden}sys.path.insert(0, {str(ROOT)!r}); from capfst.text.facts import rows; assert rows('names.tsv')"
    subprocess.run([sys.executable, "-c", program], check=True, cwd="/")
