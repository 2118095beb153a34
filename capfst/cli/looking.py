"""Commands that look into text and models: tokenize, info, models."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from capfst.cli.options import FILE, MODEL, errors_option, lm_option
from capfst.cli.streams import read_text, show, write_text
from capfst.models import DEFAULT, VARIABLE


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
    write_text((recaser.pipeline.loaded.spaced(block) for block in read_text(files, errors)), sys.stdout.buffer)


@click.command(short_help="Describes a model.")
@click.argument("lm", type=MODEL, default=DEFAULT, envvar=VARIABLE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def info(lm: Path, as_json: bool) -> None:
    """Describes a model, a file or a ready one; without LM the one that recase uses.

    Prints its signature, sizes, n-grams by order, and most ambiguous words; of a ready model also what it was made
    from, its figures and its limits.

    \b
    capfst info cap.fst
    capfst info en
    """
    from capfst.fst.read import CapFst
    from capfst.models.info import describe, render

    description = describe(CapFst.open(lm))
    show(json.dumps(description, ensure_ascii=False) if as_json else render(description))


@click.command()
def models() -> None:
    """Lists the ready models, which need no training.

    `capfst info en` describes one of them.

    \b
    capfst models
    """
    from capfst.models import card, find, names

    for name in names():
        path = find(name)
        described = card(path)
        assert described
        show(f"{name:<6} {path.stat().st_size / 1e6:5.1f} MB  {described['about']}\n{'':<6} {path}")


COMMANDS = tokenize, info, models
