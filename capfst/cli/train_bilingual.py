"""`capfst train-bilingual`: weights for the case of translations, given their source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from capfst.cli.options import FILE, command, errors_option, lm_option, model_output_option, option, options_of
from capfst.models import Named
from capfst.options import RecaseOptions

if TYPE_CHECKING:
    from capfst.options import Errors


@command("train-bilingual", short_help="Learn from translations how their source determines case.")
@click.argument("target", type=FILE)
@click.argument("source", type=FILE)
@click.argument("align", type=FILE)
@lm_option
@model_output_option
@options_of(RecaseOptions, "align_words")
@errors_option
@option("-q", "--quiet", is_flag=True, help="Print no report.")
def train_bilingual(
    target: Path, source: Path, align: Path, output: Path, lm: Named, align_words: bool, errors: Errors, quiet: bool
) -> None:
    """Learn from translations how their source determines their case; write the model with these weights.

    TARGET holds cased translations in the language of the model, SOURCE their cased source, ALIGN word alignments
    (0-0 1-2 …, source index first) as fast_align and eflomal write them: three files, line by line.

    \b
    capfst train-bilingual --lm french.fst french.txt english.txt english-french.align -o bilingual.fst
    capfst recase --lm bilingual.fst --source new.english.txt --align new.align new.french.txt
    """
    from capfst.training.bilingual import train_bilingual as run

    trained = run(target, source, align, output, lm=lm, align_words=align_words, errors=errors)
    if not quiet:
        click.echo(trained, err=True)
