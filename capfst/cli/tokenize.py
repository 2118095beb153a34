"""`capfst tokenize`: text as the tokens of a model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from capfst.cli.options import FILE, command, errors_option, lm_option
from capfst.cli.streams import read_text, write_text
from capfst.models import Named


@command(short_help="Print text as the model's tokens.")
@click.argument("files", nargs=-1, type=FILE)
@lm_option
@errors_option
def tokenize(files: tuple[Path, ...], lm: Named, errors: str) -> None:
    """Print cased text as the model's tokens, separated by spaces, for other LM toolkits.

    The text is that of FILES, or of stdin.

    \b
    capfst tokenize --lm cap.fst held-out.txt
    """
    from capfst.recaser import load

    loaded = load(lm).pipeline.loaded
    write_text((loaded.spaced(block) for block in read_text(files, errors)), sys.stdout.buffer)
