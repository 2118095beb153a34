"""Write the generated part of docs/commands.md: what `--help` prints, as tables; options of several commands once.

python scripts/maintain/command_reference.py
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import click

from capfst.cli import COMMANDS, cli
from capfst.cli.options import Option
from capfst.options import CASING

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BEGIN, END = "<!-- Written by scripts/maintain/command_reference.py, from here on -->\n", "<!-- to here -->\n"

Used = list[tuple[click.Option, click.Command]]
"""An option of several commands: what it is in each of them."""


def main() -> None:
    PAGE.write_text(with_reference(PAGE.read_text("utf-8")), "utf-8")


def with_reference(page: str) -> str:
    """Return the page with its generated part as it should be."""
    before, rest = page.split(BEGIN)
    commands: dict[str, click.Command] = {name: cli.get_command(None, name) for name in COMMANDS}  # type: ignore
    used: defaultdict[tuple[str, str], Used] = defaultdict(list)
    for command in commands.values():
        for option in _options(command):
            used[_key(option)].append((option, command))
    meant = dict(sorted(used, key=lambda key: len(used[key])))  # what each flag means in most commands
    shared = {
        key: uses for key, uses in used.items() if len(uses) > 1 and meant[key[0]] == key[1] and not uses[0][0].required
    }
    sections = [section(name, command, shared) for name, command in commands.items()]
    table = "\n".join(["## Shared options", "", *_table(shared.values()), ""])
    return before + BEGIN + "\n" + "\n".join([*sections, table]) + "\n" + END + rest.split(END)[1]


def section(name: str, command: click.Command, shared: dict[tuple[str, str], Used]) -> str:
    """Return what `capfst NAME --help` prints, as Markdown; of the shared options, the names."""
    assert command.help is not None
    help, _, example = inspect.cleandoc(command.help).partition("\b\n")
    usage = f"capfst {name} {' '.join(command.collect_usage_pieces(click.Context(command)))}"
    lines = [f"## capfst {name}", "", f"    {usage}", "", _prose(help), "", "```sh", example.strip(), "```", ""]
    own = [[(option, command)] for option in _options(command) if _key(option) not in shared]
    of_all = [uses[0][0] for uses in shared.values() if getattr(uses[0][0], "group", "") == CASING]
    has_all = all(any(_key(option) == _key(each) for each in _options(command)) for option in of_all)
    also = [
        f"`{option.opts[-1]}`"
        for option in _options(command)
        if _key(option) in shared and not (has_all and getattr(option, "group", "") == CASING)
    ] + ["all of *Casing*"] * has_all
    lines += [*_table(own), ""] if own else []
    lines += [f"{'Also' if own else 'Options'}: {', '.join(also)} ([shared](#shared-options)).", ""] if also else []
    return "\n".join(lines)


def _options(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option)]


def _key(option: click.Option) -> tuple[str, str]:
    return option.opts[-1], option.help or ""


def _table(rows: Iterable[Used]) -> list[str]:
    """Return a table of options, by their groups."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for uses in rows:
        groups[getattr(uses[0][0], "group", "Options")].append(_row(uses))
    lines = ["| option | meaning | default |", "|---|---|---|"]
    for group, of_group in groups.items():
        lines += [f"| **{group}** | | |", *of_group] if len(groups) > 1 else of_group
    return lines


def _prose(text: str) -> str:
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
    parts = "\n\n".join(paragraphs).split("`")  # every other one is code
    parts[::2] = [re.sub(r"(?<!\w)(<unk>|--[a-z][\w-]*)(?!\w)", r"`\1`", part) for part in parts[::2]]
    return "`".join(parts)


def _row(uses: Used) -> str:
    option = uses[0][0]
    spelling = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice):
        choices = (f'"{choice}"' if "," in choice else choice for choice in option.type.choices)
        spelling = f"`{option.opts[-1]} {{{','.join(choices)}}}`"
    elif not option.is_flag:
        metavar = (option.metavar or option.type.name).upper().replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
        spelling = spelling[:-1] + f" {metavar}`"
    meaning, _, default = (option.help or "").partition("  [default: ")
    default = default.removesuffix("]")
    if option.required:
        default = "required"
    elif not default and isinstance(option.default, str | int) and not isinstance(option.default, bool):
        default = f"`{option.default}`"
    return f"| {spelling} | {_prose(meaning + _limits(uses))} | {_prose(default)} |"


def _limits(uses: Used) -> str:
    """Return which other options an option excludes, and which one it requires, unless its help names it."""
    excluded, required = dict[str, None](), dict[str, None]()
    limited: list[str] = []
    for option, command in uses:
        for other in _options(command):
            if isinstance(option, Option) and isinstance(other, Option) and other is not option:
                limited = list(option.limited)
                if other.calls.intersection(option.excludes):
                    excluded[other.flag] = None
                if option.requires in other.calls and other.flag not in str(option.help):
                    required[" ".join([other.flag, *other.limited])] = None
    values = f"{' and '.join(limited)}: not" if limited else "Not"
    without = f" {values} with {', '.join(excluded)}." if excluded else ""
    return without + (f" Requires {' or '.join(required)}." if required else "")


if __name__ == "__main__":
    main()
