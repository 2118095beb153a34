"""Write the generated part of docs/commands.md: what `--help` prints, as tables.

python scripts/maintain/command_reference.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from capfst.cli import COMMANDS, cli
from capfst.cli.options import Option

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BEGIN, END = "<!-- Written by scripts/maintain/command_reference.py, from here on -->\n", "<!-- to here -->\n"


def main() -> None:
    PAGE.write_text(with_reference(PAGE.read_text("utf-8")), "utf-8")


def with_reference(page: str) -> str:
    """Return the page with its generated part as it should be."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(map(section, COMMANDS)) + "\n" + END + rest.split(END)[1]


def section(name: str) -> str:
    """Return what `capfst NAME --help` prints, as Markdown."""
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None and command.help is not None
    context = click.Context(command, info_name=f"capfst {name}")
    help, _, example = inspect.cleandoc(command.help).partition("\b\n")
    usage = f"capfst {name} {' '.join(command.collect_usage_pieces(context))}"
    lines = [f"## capfst {name}", "", f"    {usage}", "", _prose(help), "", "```sh", example.strip(), "```", ""]
    groups: dict[str, list[click.Option]] = {}
    for option in command.params:
        if isinstance(option, click.Option):
            groups.setdefault(getattr(option, "group", "Options"), []).append(option)
    if groups:
        lines += ["| option | meaning | default |", "|---|---|---|"]
    for group, options in groups.items():
        lines += [f"| **{group}** | | |"] if len(groups) > 1 else []
        lines += [_row(option, context) for option in options]
    return "\n".join([*lines, ""])


def _prose(text: str) -> str:
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
    parts = "\n\n".join(paragraphs).split("`")  # every other one is code
    parts[::2] = [re.sub(r"(?<!\w)(<unk>|--[a-z][\w-]*)(?!\w)", r"`\1`", part) for part in parts[::2]]
    return "`".join(parts)


def _row(option: click.Option, context: click.Context) -> str:
    spelling = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice):
        spelling = f"`{option.opts[-1]} {{{','.join(option.type.choices)}}}`"
    elif not option.is_flag:
        metavar = (option.metavar or option.type.name).upper().replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
        spelling = spelling[:-1] + f" {metavar}`"
    meaning, _, default = (option.help or "").partition("  [default: ")
    default = default.removesuffix("]")
    if option.required:
        default = "required"
    elif not default and isinstance(option.default, str | int) and not isinstance(option.default, bool):
        default = f"`{option.default}`"
    return f"| {spelling} | {_prose(meaning + _limits(option, context))} | {_prose(default)} |"


def _limits(option: click.Option, context: click.Context) -> str:
    """Return which other options of the command it excludes, and which one it requires."""
    others = [each for each in context.command.params if isinstance(each, Option) and each is not option]
    if not isinstance(option, Option):
        return ""
    excluded = [each.flag for each in others if each.is_named(option.excludes)]
    required = [
        " ".join([each.flag, *each.limited]) for each in others if option.requires and each.is_named((option.requires,))
    ]
    values = f"{' and '.join(option.limited)}: not" if option.limited else "Not"
    return (f" {values} with {', '.join(excluded)}." if excluded else "") + "".join(
        f" Requires {each}." for each in required
    )


if __name__ == "__main__":
    main()
