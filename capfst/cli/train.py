"""`capfst train`: a model from cased text."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

import click

from capfst.cli.options import command, model_output_option, option, options_of, runner_options, spark_session
from capfst.options import RUNNING, TrainOptions, with_flags


class _Formatter(logging.Formatter):
    """Formats what training logs as the other notes on stderr."""

    def format(self, record: logging.LogRecord) -> str:
        level = "warning: " if record.levelno >= logging.WARNING else ""
        return f"capfst: {level}{with_flags(record.getMessage())}"


@command(short_help="Train a capitalization LM on cased text.")
@click.argument("corpus", nargs=-1, required=True)
@model_output_option
@options_of(TrainOptions)
@runner_options
@option("-q", "--quiet", is_flag=True, help="Print neither progress nor a report.", group=RUNNING)
def train(corpus: tuple[str, ...], output: Path, runner: str, master: str | None, quiet: bool, **options: Any) -> None:
    """Train a capitalization LM on cased text, one sentence or paragraph per line.

    CORPUS names files, folders or quoted glob patterns: text, .jsonl, .tsv, .csv and Wikimedia dumps (.xml), plain
    or compressed (.gz, .zst, .bz2, .xz), and .parquet. de=NAME sets their language; the model distinguishes several.

    \b
    capfst train news/ 'web/*.zst' -o cap.fst --order 3 --memory 2G
    capfst train crawl.jsonl.xz simplewiki-20260101-pages-articles.xml.bz2 --field text -o cap.fst
    capfst train de=nachrichten/ fr='presse/*.zst' -o cap.fst
    capfst train notes.txt --base en -o notes.fst
    capfst train nieuws/ --words /usr/share/dict/dutch -o cap.fst
    """
    from capfst.system.progress import progress
    from capfst.training.stages import train as run

    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter())
    logging.basicConfig(handlers=[handler], level=logging.ERROR if quiet else logging.INFO)
    with spark_session(runner, master) as spark:
        trained = run(corpus, output, spark=spark, progress=partial(progress, quiet=quiet), **options)
    if not quiet:
        click.echo(trained.report(), err=True)
