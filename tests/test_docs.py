"""The documentation is complete, names what exists, and its examples run.

README.md, CONTRIBUTING.md, CHANGELOG.md, docs/*.md, docs/research/*.md and scripts/experiments/README.md are the
documents; docs/*.md are the pages of the site. In README.md and on these pages, a `console` block is a shell session,
and a `pycon` block a Python session: both are run, page by page, in a folder with the content of docs/examples/ and
cap.fst, a model of corpus.txt. In their output, `...` stands for anything.
"""

import ast
import copy
import doctest
import importlib.util
import json
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import capfst
from capfst import models
from capfst.cli import COMMANDS as CLI_COMMANDS
from capfst.cli import cli
from capfst.corpus.filters import FILTERS
from capfst.options import RecaseOptions

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
RESEARCH = sorted((DOCS / "research").glob("*.md"))
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS = [*TOP, *PAGES, *RESEARCH, ROOT / "scripts" / "experiments" / "README.md"]
COMMANDS = sorted(CLI_COMMANDS)
FOLDERS = ("capfst", "grammars", "scripts", "tests")
README = ROOT / "README.md"
LEADERBOARD = DOCS / "research" / "leaderboard.md"
EXECUTED = [README, *PAGES]
"""The documents whose sessions run."""
FENCED = re.compile(r"^```.*\n((?:.*\n)*?)```$", re.MULTILINE)
OPTIONS = {
    name: {
        spelling
        for option in command.params
        if isinstance(option, click.Option)
        for spelling in (*option.opts, *option.secondary_opts)
    }
    for name, command in ((name, cli.get_command(None, name)) for name in CLI_COMMANDS)
}


def text_of(document: Path) -> str:
    return document.read_text("utf-8")


def code(document: Path) -> Iterator[str]:
    """Yield the lines of all code in a document: fenced and indented blocks, and spans."""
    text = text_of(document)
    for block in FENCED.findall(text):
        yield from block.splitlines()
    text = FENCED.sub("", text)
    yield from re.findall(r"^    (.*)$", text, re.MULTILINE)
    yield from re.findall(r"`([^`\n]+)`", text)


def test_the_reference_of_commands_is_that_of_the_program():
    reference = runpy.run_path(str(ROOT / "scripts" / "maintain" / "command_reference.py"))["with_reference"]
    assert reference(text_of(DOCS / "commands.md")) == text_of(DOCS / "commands.md")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example(name):
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert re.search(rf"capfst {name}\b", result.output.split("Usage:")[1].split("\n", 1)[1])


def script_options(script: Path) -> set[str]:
    """Return the options in the text of a script, with those that it imports from helpers/corpora.py."""
    text = text_of(script)
    if "from helpers.corpora import" in text:
        text += text_of(ROOT / "scripts" / "experiments" / "helpers" / "corpora.py")
    return set(re.findall(r'"(--?[\w-]+)"', text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_has_an_unknown_command_or_option(document):
    scripts = set().union(*map(script_options, (ROOT / "scripts").rglob("*.py")))
    everywhere = set().union(*OPTIONS.values()) | scripts | {"--help", "--version"}
    for line in code(document):
        for command in re.findall(r"(?:^|[|;&$] |bin/|-m )capfst ([^|;&#`)]*)", line):
            words = [word.strip("[]") for word in command.replace("'", "").split()]
            if not words or words[0].isupper() or words[0].startswith("-"):
                continue  # COMMAND, VERB: any
            assert words[0] in COMMANDS, line
            assert {word for word in words if word.startswith("-")} <= OPTIONS[words[0]] | {"--help"}, line
        for script, arguments in re.findall(r"python (?:\S*/)?scripts/([\w/]+\.py)([^|;&#`]*)", line):
            known = script_options(ROOT / "scripts" / script)
            assert {word.strip("[]") for word in shlex.split(arguments) if word.strip("[]").startswith("-")} <= known, (
                line
            )
        if re.fullmatch(r"--[\w-]+( \S+)*", line):
            assert line.split()[0] in everywhere, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_make_has_the_targets_of_the_documents(document):
    targets = set(re.findall(r"^(\w+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    assert {target for line in code(document) for target in re.findall(r"(?:^|[;&$] )make (\w+)", line)} <= targets


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_the_help_of_make_lists_its_targets():
    targets = re.search(r"^\.PHONY: help (.*)$", text_of(ROOT / "Makefile"), re.MULTILINE).group(1).split()
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert sorted(re.findall(r"^make (\S+)", shown, re.MULTILINE)) == sorted(targets)


@pytest.mark.parametrize("target", ["demo", "test", "lm"])
def test_the_readme_shows_how_to_begin(target):
    assert f"make {target}" in text_of(ROOT / "README.md")
    assert re.search(rf"^{target}:", text_of(ROOT / "Makefile"), re.MULTILINE)


def test_the_readme_is_short():
    assert len(text_of(README).splitlines()) <= 100


def test_the_blocks_of_the_readme_run_unless_they_install_or_have_files_of_the_reader():
    languages = re.findall(r"^```(\w+)$", text_of(README), re.MULTILINE)
    assert {"console", "pycon"} <= set(languages) <= {"console", "pycon", "sh"}
    for block in sessions(README, "sh"):
        assert re.fullmatch(r"((make|pip install|capfst (recase|batch|train)) .*\n)+", block), block


def leaderboard() -> dict[str, tuple[str, str, str, str]]:
    """Return what each program was trained on, its F1 on WikiText-2 and EWT (test), and its tokens/s."""
    table = text_of(LEADERBOARD).partition("<!-- leaderboard -->\n")[2].partition("\n\n")[0]
    head, _, *rows = ([cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines())
    trained, rate = head.index("trained on"), head.index("tokens/s")
    texts = [head.index(name) for name in ("wikipedia_wikitext2_test", "web_ewt_test")]
    return {row[0]: (row[trained], *(row[text].split(" / ")[1] for text in texts), row[rate]) for row in rows}


def test_the_table_of_the_readme_is_that_of_the_leaderboard():
    known = leaderboard()
    rows = re.findall(r"^\| (\w[^|]*) \| ([^|]*) \| ([\d.]+) \| ([\d,]+) \|$", text_of(README), re.MULTILINE)
    assert len(rows) == 3
    for title, trained, f1, rate in rows:
        assert (known[title][1], known[title][3]) == (f1, rate)
        assert known[title][0] == "0.8 M words" and (trained == "the same" or trained.startswith("0.8 M words"))
    assert f"an F1 of {known['capfst, en'][1]}" in text_of(README)


def test_the_table_of_accuracy_is_that_of_the_leaderboard():
    known = leaderboard()
    row = r"^\| (\w[^|]*) \| [^|]* \| ([\d.]+) \| ([\d.]+) \| ([\d,]+) \|$"
    rows = re.findall(row, text_of(DOCS / "accuracy.md"), re.MULTILINE)
    assert len(rows) > 5
    assert {title: tuple(figures) for title, *figures in rows} == {title: known[title][1:] for title, *_ in rows}


def test_the_speeds_of_accuracy_are_those_of_the_benchmark():
    page, figures = text_of(DOCS / "accuracy.md"), text_of(DOCS / "research" / "figures.md")
    rows = re.findall(r"^\| (\d+ M n-grams, .*?) \| (\d) \| ([\d,]+) \| .*? \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(rows) == 5
    for title, cores, rate, f1 in rows:
        assert re.search(rf"^\| capfst, {title} \| {cores} \| {rate} \| .* \| {f1} \|$", figures, re.MULTILINE)


def test_the_picture_of_peers_is_drawn_from_the_leaderboard():
    draw = runpy.run_path(str(ROOT / "scripts" / "maintain" / "draw_charts.py"))["peers"]
    assert text_of(DOCS / "images" / "peers.svg") == str(draw(text_of(LEADERBOARD)))


def messages() -> Iterator[str]:
    """Yield the string literals of capfst; in f-strings, the parts between expressions."""
    for path in (ROOT / "capfst").rglob("*.py"):
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_the_messages_in_troubleshooting_are_those_of_the_program():
    rows = re.findall(r"^\| (.*?) \|", text_of(DOCS / "troubleshooting.md"), re.MULTILINE)
    quoted = [part.strip() for row in rows for span in re.findall(r"`([^`]*)`", row) for part in span.split("…")]
    program = "\n".join(messages())
    assert len(quoted) > 10
    assert [part for part in quoted if part not in program and not part.startswith("-")] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_files_that_a_document_names_are_there(document):
    for span in re.findall(r"`([^`\n]+)`", text_of(document)):
        if re.fullmatch(rf"(?:docs|{'|'.join(FOLDERS)})/[\w./-]*", span):
            assert (ROOT / span).exists(), span
        elif re.fullmatch(r"\w+\.py", span):
            assert any(path for folder in FOLDERS for path in (ROOT / folder).rglob(span)), span
        elif re.fullmatch(r"capfst(?:\.\w+)+", span):
            pkgutil.resolve_name(span)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_links_of_a_document_lead_to_files(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(document)):
        if not re.match("https?://|#", target):
            assert (document.parent / target.split("#")[0]).exists(), target


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as MkDocs makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text_of(page)), re.MULTILINE)
    ascii_only = [unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode() for heading in headings]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in ascii_only}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_anchors_in_links_are_those_of_headings(document):
    for target, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", text_of(document)):
        page = (document.parent / target).resolve() if target else document
        assert anchor in anchors(page), f"{target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_python_api_of_the_documents_is_there(document):
    for name in re.findall(r"\bcapfst\.(\w+)\(", text_of(document)):
        assert name in capfst.__all__
    for name in re.findall(r"\brecaser\.(\w+)\(", text_of(document)):
        assert hasattr(capfst.Recaser, name)


def test_the_options_of_recasing_are_on_the_pages_of_python_and_the_service():
    requests = pytest.importorskip("capfst.serve.requests", reason="the extra `serve` is not installed")
    for page, start, names in (
        ("python.md", "The options are those of", {each.name for each in fields(RecaseOptions)}),
        ("service.md", "Options are fields of the object", set(requests.NAMES)),
    ):
        shown = text_of(DOCS / page).partition(start)[2].partition(". ")[0]
        assert set(re.findall(r"`([a-z_]+)`", shown)) - {"model", "recase"} == names


def test_the_extras_that_are_named_are_those_of_the_package():
    project = text_of(ROOT / "pyproject.toml").partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = set(re.findall(r"^(\w+) = ", project, re.MULTILINE))
    assert {"parquet", "serve"} <= extras
    for document in DOCUMENTS:
        for named in re.findall(r"pip install (?:-\S+ \S+ )*'(?:\.|capfst)\[([\w,]+)\]'", text_of(document)):
            assert set(named.split(",")) <= extras
    sources = [text_of(path) for path in (ROOT / "capfst").rglob("*.py")]
    named = [extra for source in sources for extra in re.findall(r'missing_extra\(".*?", "(\w+)"', source)]
    assert len(named) > 5 and set(named) <= extras
    assert sum("pip install 'capfst[" in source for source in sources) == 1  # one place makes the hint


def test_each_public_name_is_on_the_page_of_the_api():
    shown = re.findall(r"^::: (\S+)$", text_of(DOCS / "api.md"), re.MULTILINE)
    assert {f"capfst.{name}" for name in capfst.__all__ if name != "__version__"} <= set(shown)


def test_each_filter_is_documented_as_in_the_program():
    table = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text_of(DOCS / "train.md"), re.MULTILINE))
    assert table == {filter.name: filter.rejects for filter in FILTERS}


@pytest.mark.parametrize("name", ["en", "multi"])
def test_the_page_of_models_has_the_scores_and_limits_of_their_cards(name):
    card = json.loads(text_of(ROOT / "capfst" / "models" / f"{name}.json"))
    page = text_of(DOCS / "models.md")
    for row in card["figures"]:
        assert f"| `{row['text']}` | {row['accuracy']:.2f} | {row['f1']:.2f} | {row['cer']:.2f} |" in page
    plain = re.sub(r"\]\([^)]*\)|[`[]", "", page)
    assert [limit for limit in card["limits"] if limit not in plain] == []
    assert all(each["origin"] and each["license"] for each in card["sources"])  # which the page names the card for


def test_the_navigation_has_each_page_once_and_no_others():
    navigation = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE)
    assert sorted(navigation) == [page.name for page in PAGES]


@pytest.mark.parametrize("document", RESEARCH, ids=lambda path: path.name)
def test_research_says_at_which_commit_it_was_measured(document):
    first = text_of(document).partition("\n\n")[2].partition("\n\n")[0]
    assert re.fullmatch(r"\*Measured (at|at or before) commit [0-9a-f]{7} \(.*\).*\.\*", first)


def test_each_example_is_used():
    pages = "\n".join(map(text_of, EXECUTED))
    assert [path.name for path in (DOCS / "examples").rglob("*.*") if path.name not in pages] == []


def test_the_changelog_has_this_version():
    assert f"## {capfst.__version__}" in text_of(ROOT / "CHANGELOG.md")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of docs/examples/ with cap.fst, a model of corpus.txt."""
    folder = tmp_path_factory.mktemp("docs") / "examples"
    shutil.copytree(DOCS / "examples", folder)
    capfst.train(folder / "corpus.txt", folder / "cap.fst")
    return folder


@pytest.fixture
def folder(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a copy of the examples, where the commands `capfst` and `python` are those under test."""
    shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, arguments in (("capfst", "-m capfst"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        (commands / name).chmod(0o755)
    monkeypatch.delenv(models.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def address(page: Path) -> Iterator[str]:
    """Return the address of a service if the page asks one at localhost:8000, which the reader has started."""
    if "localhost:8000" not in "".join(sessions(page, "console")):
        yield ""
        return
    from support.service import serving  # noqa: PLC0415 - skips, unless the extra is installed

    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    with serving() as service:
        yield f"127.0.0.1:{service.port}"


def sessions(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in EXECUTED if sessions(page, "console")], ids=lambda path: path.name)
def test_the_shell_sessions_of_a_page_run(page, folder, address):
    for session in sessions(page, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
            done = subprocess.run(
                ["sh", "-c", command.replace("localhost:8000", address)],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            # Printed only if kernels have changed since the last build.
            printed = re.sub(r".*: compiling .*kernels.*\n", "", done.stderr) + done.stdout
            assert done.returncode == 0, f"{command}\n{printed}"
            alike = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
            assert alike, f"$ {command}\nexpected:\n{expected}\nprinted:\n{printed}"


@pytest.mark.parametrize("page", [page for page in EXECUTED if sessions(page, "pycon")], ids=lambda path: path.name)
def test_the_python_sessions_of_a_page_run(page, folder):
    session = "\n".join(sessions(page, "pycon"))
    for package, pattern in (("pynini", "pynini|openfst|pywrapfst"), ("spacy", "import spacy")):
        if re.search(pattern, session):
            pytest.importorskip(package)
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert runner.run(test, out=printed.append).failed == 0, "".join(printed)


def outputs(notebook: dict) -> list:
    """Return the outputs of a notebook's cells without the version, and of pictures only the texts, because the lines
    depend on the version of Graphviz, if it is installed."""
    draws = shutil.which("dot") and importlib.util.find_spec("graphviz")
    made = [output for cell in notebook["cells"] for output in copy.deepcopy(cell.get("outputs", []))]
    for output in made:
        picture = "".join(output.get("data", {}).pop("image/svg+xml", []))
        output["texts"] = sorted(re.findall("<text .*?>(.*?)</text>", picture)) if draws else []
    return json.loads(re.sub(r"\|v:[^|]+", "", json.dumps(made)))


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_prints(monkeypatch):
    monkeypatch.delenv(models.VARIABLE, raising=False)
    notebook = json.loads(text_of(DOCS / "notebook.ipynb"))
    shown = outputs(notebook)
    runpy.run_path(str(ROOT / "scripts" / "maintain" / "run_notebook.py"))["run"](notebook)
    assert outputs(notebook) == shown
