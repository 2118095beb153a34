"""`capfst info`, `models`, `tokenize`, `mix`, `import` and `export`: models, also for and from other LM toolkits."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from capfst.cli import options as cli
from capfst.cli.streams import note, read_text, show, write_text
from capfst.models import Named
from capfst.options import TrainOptions


@cli.command(short_help="Describe a model.")
@cli.lm_option
@cli.json_option
def info(lm: Named, as_json: bool) -> None:
    """Describe a model.

    Prints its signature, sizes, n-grams by order, and most ambiguous words; for a bundled model also its model card:
    the texts it was trained on, its scores and its limits.

    \b
    capfst info --lm cap.fst
    """
    from capfst import models as known
    from capfst.models.info import describe, render

    description = describe(known.open(lm))
    show(json.dumps(description, ensure_ascii=False) if as_json else render(description))


@cli.command(short_help="List the bundled models.")
def models() -> None:
    """List the bundled models, which need no training. `capfst info --lm en` describes one of them.

    \b
    capfst models
    """
    from capfst.models import card, find, names

    for name in names():
        path = find(name)
        described = card(path)
        assert described
        show(f"{name:<6} {path.stat().st_size / 1e6:5.1f} MB  {described['about']}\n{'':<6} {path}")


@cli.command(short_help="Print text as the model's tokens.")
@click.argument("files", nargs=-1, type=cli.FILE)
@cli.lm_option
@cli.errors_option
def tokenize(files: tuple[Path, ...], lm: Named, errors: str) -> None:
    """Print cased text as the model's tokens, separated by spaces, for other LM toolkits.

    The text is that of FILES, or of stdin.

    \b
    capfst tokenize --lm cap.fst held-out.txt
    """
    from capfst.recaser import load

    loaded = load(lm).pipeline.loaded
    write_text((loaded.spaced(block) for block in read_text(files, errors)), sys.stdout.buffer)


@cli.command(short_help="Interpolate models linearly.")
@click.argument("lms", nargs=-1, required=True, type=cli.MODEL)
@cli.model_output_option
@cli.option(
    "--weights", type=cli.weights, metavar="W,W,…", help="Weight of each model, in order, with a sum of 1: 0.7,0.3."
)
@cli.option("--tune", type=cli.FILE, help="Cased text that determines the best weights (by EM), instead of --weights.")
@cli.option("--no-context", is_flag=True, help="Leave out the context model, instead of copying the heaviest model's.")
def mix(
    lms: tuple[Named, ...], output: Path, weights: tuple[float, ...] | None, tune: Path | None, no_context: bool
) -> None:
    """Interpolate models linearly into one backoff model. It gets the context model of the one with the largest weight,
    with the other models' evidence on the shapes of words.

    \b
    capfst mix news.fst web.fst --weights 0.7,0.3 -o cap.fst
    capfst mix news.fst web.fst --tune held-out.txt -o cap.fst
    """
    from capfst.io.blocks import ended
    from capfst.models.convert import mix_models
    from capfst.system.atomic import check_output

    if (weights is None) == (tune is None):
        raise click.UsageError("Use either --weights or --tune.")
    check_output(output, tune, *lms)
    text = map(ended, read_text((tune,), "refuse")) if tune else ()
    mixed = mix_models(lms, output, weights=weights, tune_on=text, context=not no_context)
    shares = zip(lms, mixed.weights, strict=True)
    click.echo("weights: " + ", ".join(f"{lm} {weight:.4f}" for lm, weight in shares), err=True)
    click.echo(f"context model: {mixed.context or 'none, so only the LM decides'}", err=True)


@cli.command("import", short_help="Compile an ARPA model, or convert an FST.")
@click.argument("source", type=cli.FILE)
@cli.model_output_option
@cli.option(
    "--pretokenized",
    is_flag=True,
    help="The words of the ARPA model are separated by white space in text; they are not capfst's tokens.",
)
@cli.options_of(TrainOptions, "language", "restore", "grammar")
@cli.option("-q", "--quiet", is_flag=True, help="Print errors only, no notes.")
def import_(source: Path, output: Path, pretokenized: bool, quiet: bool, **options: Any) -> None:
    """Compile an ARPA model whose words are surface forms, or convert a model that OpenFst or pynini wrote again.

    SOURCE is an ARPA file of another toolkit (KenLM, SRILM, IRSTLM, OpenGrm): plain, .gz, .zst, .bz2 or .xz. Or it is
    a capfst model that OpenFst wrote again, as type vector or const; it needs no options.

    \b
    capfst import model.arpa.gz -o cap.fst
    capfst import vector.fst -o cap.fst
    """
    from capfst.models.convert import import_model

    if problem := import_model(source, output, pretokenized=pretokenized, **options):
        note(f"warning: {source}: {problem}", quiet)
    note(f"{output}: no context model, so only the LM decides. Only `capfst train` makes context models.", quiet)


@cli.command(short_help="Write a model as ARPA.")
@cli.lm_option
@cli.option(
    "-o", "--output", required=True, type=cli.FILE, help="ARPA file to write; compressed if it ends in .gz, .zst, …."
)
def export(lm: Named, output: Path) -> None:
    """Write a model as ARPA, for other LM toolkits.

    \b
    capfst export --lm cap.fst -o model.arpa
    """
    from capfst.models.convert import export_arpa

    export_arpa(lm, output)
