"""The documentation: each command and option is in the README, each command there exists, help has an example."""

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import capfst
from capfst.cli import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = sorted(cli.commands)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_in_the_readme_with_its_options(name):
    row = next((line for line in README.splitlines() if line.startswith(f"| `capfst {name} ")), "")
    assert row, f"README.md has no row for capfst {name}"
    options = [option.opts[-1] for option in cli.commands[name].params if isinstance(option, click.Option)]
    shown = {"--lm", "--output", "-o"} if "-o" in row or "--lm" in row else set()
    assert [option for option in options if option not in row and option not in shown and option != "--help"] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example(name):
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert f"capfst {name} " in result.output.split("Usage:")[1].split("\n", 1)[1]


def test_the_readme_has_no_unknown_command_or_option():
    for command in re.findall(r"`?(?:\.venv/bin/)?capfst ([a-z]+ [^`|\n]*)", README):
        name, *arguments = shlex.split(command.split("#")[0].replace("'", ""))
        if name not in cli.commands:
            continue
        known = {spelling for parameter in cli.commands[name].params for spelling in parameter.opts}
        used = {argument.strip("[]") for argument in arguments if argument.strip("[]").startswith("-")}
        assert used <= known, command
    for name in re.findall(r"`capfst ([a-z]+)", README):
        assert name in cli.commands


@pytest.mark.parametrize("target", ["demo", "test", "lm"])
def test_make_has_the_targets_of_the_readme(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_the_modules_named_in_the_documents_are_there():
    for document in (README, (ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        for name in re.findall(r"`(?:capfst/|grammars/)?(\w+\.py)`", document):
            assert list(ROOT.glob(f"*/{name}")), name


def test_the_python_api_is_documented_and_there():
    for name in re.findall(r"capfst\.(\w+)\(", README):
        assert name in capfst.__all__
    for name in re.findall(r"recaser\.(\w+)\(", README):
        assert hasattr(capfst.Recaser, name)


def test_the_changelog_has_this_version():
    assert f"## {capfst.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
