"""`capfst train` and `train-bilingual`: a model from cased text, and from translations."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capfst.cli import options as cli
from capfst.models import Named
from capfst.options import RUNNING, RecaseOptions, TrainOptions, with_flags

if TYPE_CHECKING:
    from capfst.options import Errors


class _Formatter(logging.Formatter):
    """Formats what training logs as the other notes on stderr."""

    def format(self, record: logging.LogRecord) -> str:
        level = "warning: " if record.levelno >= logging.WARNING else ""
        return f"capfst: {level}{with_flags(record.getMessage())}"


def _show_log(quiet: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter())
    logging.basicConfig(handlers=[handler], level=logging.ERROR if quiet else logging.INFO)


@cli.command(short_help="Train a model on cased text.")
@click.argument("corpus", nargs=-1, required=True, type=cli.CORPUS)
@cli.model_output_option
@cli.options_of(TrainOptions)
@cli.runner_options
@cli.option("-q", "--quiet", is_flag=True, help="Print neither progress nor a report.", group=RUNNING)
def train(corpus: tuple[str, ...], output: Path, runner: str, master: str | None, quiet: bool, **options: Any) -> None:
    """Train a model on cased text, one sentence or paragraph per line.

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

    _show_log(quiet)
    with cli.spark_session(runner, master) as spark:
        trained = run(corpus, output, spark=spark, progress=partial(progress, quiet=quiet), **options)
    if not quiet:
        click.echo(trained.report(), err=True)


@cli.command("train-bilingual", short_help="Learn from translations how their source determines case.")
@click.argument("target", type=cli.FILE)
@click.argument("source", type=cli.FILE)
@click.argument("align", type=cli.FILE)
@cli.lm_option
@cli.model_output_option
@cli.options_of(RecaseOptions, "align_words")
@cli.errors_option
@cli.option("-q", "--quiet", is_flag=True, help="Print no report.")
def train_bilingual(
    target: Path, source: Path, align: Path, output: Path, lm: Named, align_words: bool, errors: Errors, quiet: bool
) -> None:
    """Learn from translations how their source determines their case, and write the model with these weights.

    Three files, line by line: TARGET has cased translations in the language of the model, SOURCE their cased source,
    and ALIGN word alignments (0-0 1-2 …, source index first) as fast_align and eflomal write them.

    \b
    capfst train-bilingual --lm french.fst french.txt english.txt english-french.align -o bilingual.fst
    capfst recase --lm bilingual.fst --source new.english.txt --align new.align new.french.txt
    """
    from capfst.training.bilingual import train_bilingual as run

    _show_log(quiet)
    trained = run(target, source, align, output, lm=lm, align_words=align_words, errors=errors)
    if not quiet:
        click.echo(trained, err=True)
