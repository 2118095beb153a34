"""`capfst import`: a model from an ARPA file, or from an FST that OpenFst wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from capfst.cli.options import FILE, command, model_output_option, option, options_of
from capfst.cli.streams import note
from capfst.options import TrainOptions


@command("import", short_help="Compile an ARPA model, or align an FST.")
@click.argument("source", type=FILE)
@model_output_option
@option(
    "--pretokenized",
    is_flag=True,
    help="The words of the ARPA model are separated by white space in text; they are not capfst's tokens.",
)
@options_of(TrainOptions, "language", "restore", "grammar")
@option("-q", "--quiet", is_flag=True, help="Print errors only, no notes.")
def import_(source: Path, output: Path, pretokenized: bool, quiet: bool, **options: Any) -> None:
    """Compile an ARPA model whose words are surface forms, or align a model that OpenFst or pynini wrote.

    SOURCE is an ARPA file of another toolkit (KenLM, SRILM, IRSTLM, OpenGrm): plain, .gz, .zst, .bz2 or .xz. Or it is
    a capfst model that OpenFst wrote again, as type vector or const; what it records needs no options.

    \b
    capfst import model.arpa.gz -o cap.fst
    capfst import vector.fst -o cap.fst
    """
    from capfst.models.convert import import_model

    import_model(source, output, pretokenized=pretokenized, **options)
    note(f"{output}: no context model, so only the LM decides. Only `capfst train` makes context models.", quiet)
