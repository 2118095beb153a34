"""`capfst mix`: one model from several."""

from __future__ import annotations

from pathlib import Path

import click

from capfst.cli.options import FILE, MODEL, Weights, command, model_output_option, option
from capfst.cli.streams import read_text
from capfst.models import Named


@command(short_help="Interpolate models linearly.")
@click.argument("lms", nargs=-1, required=True, type=MODEL)
@model_output_option
@option("--weights", type=Weights(), help="Weight of each model, in order, with a sum of 1: 0.7,0.3.")
@option("--tune", type=FILE, help="Cased text that determines the best weights (by EM), instead of --weights.")
@option("--no-context", is_flag=True, help="Leave out the context model, instead of copying the heaviest model's.")
def mix(
    lms: tuple[Named, ...], output: Path, weights: tuple[float, ...] | None, tune: Path | None, no_context: bool
) -> None:
    """Interpolate models linearly into one backoff model, with the context model of the one with the largest weight,
    which also gets the other models' evidence on the shapes of words.

    \b
    capfst mix news.fst web.fst --weights 0.7,0.3 -o cap.fst
    capfst mix news.fst web.fst --tune held-out.txt -o cap.fst
    """
    from capfst.io.blocks import ended
    from capfst.models.convert import mix_models
    from capfst.system.atomic import check_output

    if (weights is None) == (tune is None):
        raise click.UsageError("Use either --weights or --tune.")
    check_output(output, tune)
    text = map(ended, read_text((tune,), "refuse")) if tune else ()
    mixed = mix_models(lms, output, weights=weights, tune_on=text, context=not no_context)
    shares = zip(lms, mixed.weights, strict=True)
    click.echo("weights: " + ", ".join(f"{lm} {weight:.4f}" for lm, weight in shares), err=True)
    click.echo(f"context model: {mixed.context or 'none, so only the LM decides'}", err=True)
