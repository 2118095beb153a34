"""Commands that make models: train, import, export, mix."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capfst.cli.options import (
    FILE,
    MODEL,
    Bytes,
    Cutoffs,
    Weights,
    align_words_option,
    errors_option,
    jobs_option,
    lm_option,
    model_output_option,
    runner_options,
    spark_session,
    together,
)
from capfst.cli.streams import read_text

if TYPE_CHECKING:
    from capfst.io.blocks import Errors

language_options = together(
    click.option(
        "--language",
        help="Language whose rules of case hold, such as tr, or several: de,fr.  [default: Unicode's rules]",
    ),
    click.option(
        "--restore",
        type=click.Choice(["case", "diacritics", "both"]),
        help="What the model restores: case, diacritics of text that has its case, or both.  [default: case, or both"
        " with --grammar]",
    ),
    click.option(
        "--grammar",
        type=FILE,
        help="Grammar of pynini, .far or .py: what it takes away is restored, in the place of diacritics.",
    ),
)


@click.command(short_help="Trains a capitalization LM on cased text.")
@click.argument("corpus", nargs=-1, required=True)
@model_output_option
@click.option(
    "--words",
    multiple=True,
    metavar="FILE",
    help="Word list: words and names that the model is to know, one a line, in the case that they have inside a"
    " sentence (repeatable).",
)
@click.option("--order", type=click.IntRange(1, 5), default=3, show_default=True, help="Length of the longest n-grams.")
@click.option(
    "--min-count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Surface forms that occur less often than this become <unk>, but for those of word lists.",
)
@click.option(
    "--max-words",
    type=click.IntRange(1),
    help="Keep this many surface forms, the most frequent, and those of word lists; the others become <unk>.  [default:"
    " all]",
)
@click.option(
    "--cutoff",
    type=Cutoffs(),
    default="0",
    show_default=True,
    help="Drop n-grams that occur at most this often: a count for each order from 1, of which the last holds for all"
    " higher orders. 0,0,1 drops what occurs once, from order 3 on.",
)
@click.option(
    "--max-ngrams",
    type=click.IntRange(1),
    help="Prune by entropy (Stolcke 1998) until this many n-grams of all orders are left.  [default: do not prune]",
)
@click.option(
    "--prune-threshold",
    type=click.FloatRange(0),
    help="Prune n-grams whose loss raises the model's entropy by less than this, in nats (Stolcke 1998).  [default: do"
    " not prune]",
)
@click.option("--no-clean", is_flag=True, help="Learn from every line, not only from well-cased sentences.")
@click.option(
    "--skip-filter",
    "skip",
    multiple=True,
    metavar="NAME",
    help="Disable this cleaning filter (repeatable). The report lists the filters' names.",
)
@click.option("--pretokenized", is_flag=True, help="Tokens are separated by white space: do not tokenize further.")
@language_options
@click.option("--no-context", is_flag=True, help="Train the n-gram model alone, without a context model.")
@click.option("--field", help="Field that is the text in the objects of .jsonl files.")
@click.option(
    "--column", help="Column that is the text in .tsv, .csv and .parquet files: its name, or its number, from 1."
)
@errors_option
@click.option(
    "--memory",
    type=Bytes(),
    help="Memory to stay below, such as 2G; what does not fit goes to temporary files.  [default: no limit]",
)
@click.option("--tmp", type=FILE, help="Folder for temporary files.  [default: the system's]")
@jobs_option
@runner_options
@click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor report.")
def train(
    corpus: tuple[str, ...],
    output: Path,
    runner: str,
    master: str | None,
    no_clean: bool,
    no_context: bool,
    skip: tuple[str, ...],
    cutoff: tuple[int, ...],
    quiet: bool,
    **options: Any,
) -> None:
    """Trains a capitalization LM on cased text, a sentence or a paragraph a line.

    CORPUS names files, folders or quoted glob patterns: text, .jsonl, .tsv, .csv and Wikimedia's dumps (.xml), plain or
    compressed (.gz, .zst, .bz2, .xz), and .parquet. de=NAME names their language: the model tells several apart.

    \b
    capfst train news/ 'web/*.zst' -o cap.fst --order 3 --memory 2G
    capfst train crawl.jsonl.xz simplewiki-20260101-pages-articles.xml.bz2 --field text -o cap.fst
    capfst train de=nachrichten/ fr='presse/*.zst' -o cap.fst
    capfst train nieuws/ --words /usr/share/dict/dutch -o cap.fst
    """
    from capfst.system.progress import progress
    from capfst.training import train as run

    logging.basicConfig(format="%(message)s", level=logging.ERROR if quiet else logging.INFO)
    options |= {
        "clean": not no_clean,
        "context": not no_context,
        "skip_filters": skip,
        "cutoffs": cutoff,
        "progress": partial(progress, quiet=quiet),
    }
    with spark_session(runner, master) as spark:
        trained = run(corpus, output, spark=spark, **options)
    if not quiet:
        click.echo(trained.report(), err=True)


@click.command("train-bilingual", short_help="Learns from translations how their source tells case.")
@click.argument("target", type=FILE)
@click.argument("source", type=FILE)
@click.argument("align", type=FILE)
@lm_option
@model_output_option
@align_words_option
@errors_option
@click.option("-q", "--quiet", is_flag=True, help="Print no report.")
def train_bilingual(
    target: Path, source: Path, align: Path, output: Path, lm: Path, align_words: bool, errors: Errors, quiet: bool
) -> None:
    """Learns from translations how their source tells their case; writes the model with what it has learned.

    TARGET are cased translations, in the language of the model; SOURCE is what they are translated from, ALIGN word
    alignments, 0-0 1-2 …, source word first, as fast_align and eflomal write them: each a file, line by line.

    \b
    capfst train-bilingual --lm french.fst french.txt english.txt english-french.align -o bilingual.fst
    capfst recase --lm bilingual.fst --source new.english.txt --align new.align new.french.txt
    """
    from capfst.bilingual_training import train_bilingual as run

    trained = run(target, source, align, output, lm=lm, align_words=align_words, errors=errors)
    if not quiet:
        click.echo(trained, err=True)


@click.command("import")
@click.argument("arpa", type=FILE)
@model_output_option
@click.option(
    "--pretokenized",
    is_flag=True,
    help="The ARPA model's words are what white space separates in text, not capfst's tokens.",
)
@language_options
def import_(arpa: Path, output: Path, pretokenized: bool, **options: Any) -> None:
    """Compiles an ARPA model whose words are surface forms.

    ARPA is the file of another toolkit (KenLM, SRILM, IRSTLM, OpenGrm), plain, .gz, .zst, .bz2 or .xz.

    \b
    capfst import model.arpa.gz -o cap.fst
    """
    from capfst.models.convert import import_arpa

    import_arpa(arpa, output, pretokenized=pretokenized, **options)
    click.echo(
        f"{output} has no context model, which only `capfst train` makes: its casings come from the LM alone", err=True
    )


@click.command()
@click.argument("lm", type=MODEL)
@click.argument("arpa", type=FILE)
def export(lm: Path, arpa: Path) -> None:
    """Writes a model as ARPA, for other LM toolkits.

    \b
    capfst export cap.fst model.arpa
    """
    from capfst.models.convert import export_arpa

    export_arpa(lm, arpa)


@click.command(short_help="Interpolates models linearly.")
@click.argument("lms", nargs=-1, required=True, type=MODEL)
@model_output_option
@click.option("--weights", type=Weights(), help="Weight of each model, in order, 1 in all: 0.7,0.3.")
@click.option("--tune", type=FILE, help="Cased text for which to find the best weights (by EM), instead of --weights.")
@click.option("--no-context", is_flag=True, help="Leave the context model out, instead of taking the heaviest model's.")
def mix(
    lms: tuple[Path, ...], output: Path, weights: tuple[float, ...] | None, tune: Path | None, no_context: bool
) -> None:
    """Interpolates models linearly, into one backoff model, with the context model of the one that weighs most.

    \b
    capfst mix news.fst web.fst --weights 0.7,0.3 -o cap.fst
    capfst mix news.fst web.fst --tune held-out.txt -o cap.fst
    """
    from capfst.io.blocks import ended
    from capfst.models.convert import mix_models
    from capfst.system.atomic import refuse_to_replace

    if (weights is None) == (tune is None):
        raise click.UsageError("Give either --weights or --tune.")
    refuse_to_replace(output, tune)
    text = map(ended, read_text((tune,), "refuse")) if tune else ()
    mixed = mix_models(lms, output, weights=weights, tune_on=text, context=not no_context)
    shares = zip(lms, mixed.weights, strict=True)
    click.echo("weights: " + ", ".join(f"{lm} {weight:.4f}" for lm, weight in shares), err=True)
    click.echo(f"context model: {mixed.context or 'none: casings come from the LM alone'}", err=True)


COMMANDS = train, train_bilingual, import_, export, mix
