"""Commands that look into text and models: tokenize, info."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from capfst.cli.common import FILE, errors_option, lm_option, read_text, write_text


@click.command()
@click.argument("files", nargs=-1, type=FILE)
@lm_option
@errors_option
def tokenize(files: tuple[Path, ...], lm: Path, errors: str) -> None:
    """Prints cased text as the model's tokens.

    Tokens are separated by spaces: input for other LM toolkits. The text is that of FILES, or of stdin.

    \b
    capfst tokenize --lm cap.fst held-out.txt
    """
    from capfst.recaser import load

    recaser = load(lm)
    write_text((recaser.words_utf8(block) for block in read_text(files, errors)), sys.stdout.buffer)


@click.command()
@click.argument("lm", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def info(lm: Path, as_json: bool) -> None:
    """Describes a model.

    Prints its signature, sizes, n-grams by order, and most ambiguous words.

    \b
    capfst info cap.fst
    """
    from capfst.fst.read import CapFst
    from capfst.info import describe, render

    description = describe(CapFst.open(lm))
    click.echo(json.dumps(description, ensure_ascii=False) if as_json else render(description))


COMMANDS = tokenize, info
