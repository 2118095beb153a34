"""`capfst batch`: the case of whole corpora, file by file."""

import json
import os
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from capfst.cli import options as cli
from capfst.cli.hints import beginning_of, note_foreign_language, note_lack_of_context
from capfst.exceptions import CapfstError, OptionError, quantity
from capfst.models import Named
from capfst.options import CASING, RUNNING, RecaseOptions
from capfst.system.budget import keep_freed_memory


@cli.command(short_help="Restore the case of corpora, file by file.")
@click.argument("inputs", nargs=-1, required=True, type=cli.CORPUS)
@cli.lm_option
@cli.option(
    "-o",
    "--output",
    required=True,
    type=cli.FILE,
    help="Output folder, which gets the same tree of files as the inputs.",
)
@cli.texts_options
@cli.format_option
@cli.option(
    "--on-error",
    type=click.Choice(["fail", "pass", "drop"]),
    default="fail",
    help="Malformed records: fail the file, copy them unchanged, or drop them.",
)
@cli.option("--report", type=cli.FILE, help="JSON file for the counts and the outcome of each file.")
@cli.options_of(RecaseOptions)
@cli.option(
    "--document-field",
    help="Field or column with the same value in all records of a document, which must be consecutive; implies"
    " --document. Without it, each record is a document, except in text files.",
    group=CASING,
    excludes=("source", "context"),
)
@cli.translation_options(
    "Field or column with the cased source of the text, which is a translation",
    "Field or column with the word alignments",
    "-field",
)
@cli.option("--strict", is_flag=True, help="Stop at the first file that fails.", group=RUNNING)
@cli.option("--force", is_flag=True, help="Also recase the files that are already done.", group=RUNNING)
@cli.jobs_option
@cli.runner_options
@cli.option("-q", "--quiet", is_flag=True, help="Print errors only, no progress or summary.", group=RUNNING)
def batch(
    inputs: tuple[str, ...],
    runner: str,
    master: str | None,
    lm: Named,
    output: Path,
    document: bool,
    document_field: str | None,
    report: Path | None,
    jobs: int | None,
    quiet: bool,
    strict: bool,
    force: bool,
    **given: Any,
) -> None:
    """Restore the case of whole corpora, file by file.

    INPUTS are files, folders or quoted glob patterns: text, .jsonl, .json, .tsv, .csv, subtitles and transcripts
    (plain, .gz, .zst, .bz2, .xz), and .parquet. The outputs have the same formats and the same tree below --output.
    Files that an earlier run finished are skipped. The default field or column is `text`. Without --field or --format,
    .json files in folders are skipped if no field is known.

    \b
    capfst batch --lm cap.fst news/ 'web/*.jsonl.zst' -o cased/
    """
    from capfst.batch.report import FAILED, Display
    from capfst.batch.run import run_batch
    from capfst.io.files import suffix_of
    from capfst.io.formats import SUFFIXES
    from capfst.io.outputs import MANIFEST, make_folder, plan
    from capfst.io.protocol import BatchOptions
    from capfst.recaser import load
    from capfst.system.atomic import check_output, writing

    casing = {each.name: given[each.name] for each in fields(RecaseOptions) if each.name != "document"}
    document = document or document_field is not None
    options = BatchOptions(
        # The paragraphs of different records are not joined.
        document=(document_field or "") if document or casing["wrapped"] else None,
        **{each.name: given[each.name] for each in fields(BatchOptions) if given.get(each.name, ()) != ()},
    )
    todo = plan(inputs, output, lm, options)
    if report:
        if os.path.realpath(report) in map(
            os.path.realpath, [output / MANIFEST, *(item.output for item in todo.files)]
        ):
            raise OptionError(f"{report}: the report would overwrite an output. Choose another path for it.")
        if os.path.realpath(report.parent) == os.path.realpath(output):
            make_folder(output)
        also_read = [*casing["words"], *casing["abbreviations"], *(item.input for item in todo.files)]
        check_output(report, lm, *also_read, streams=True)
    if options.format or any(suffix_of(item.input.name) in SUFFIXES for item in todo.files):
        cli.refuse_excluded("cues")
    recaser = load(lm, document=document, **casing)
    if options.source:
        recaser.pipeline.check_bilingual()
    keep_freed_memory()
    note_lack_of_context(recaser, quiet)
    if not quiet:
        note_foreign_language(beginning_of((item.input for item in todo.files), options), recaser)
    with cli.spark_session(runner, master) as spark, Display(quiet) as display:
        on_spark = None
        if spark:
            from capfst.spark.batch import SparkRunner

            on_spark = partial(SparkRunner, session=spark, recaser=recaser)
        done = run_batch(
            todo, output, recaser, options,
            jobs=jobs or os.cpu_count() or 1, strict=strict, force=force, display=display, runner=on_spark,
        )  # fmt: skip
    if report:
        with writing(report) as file:
            file.write(json.dumps(done.to_dict(), indent=1).encode())
    if not quiet:
        click.echo(done, err=True)
    if done.error:
        raise CapfstError(done.error)
    if failed := done.number(FAILED):
        raise CapfstError(
            f"{failed} of {quantity(len(done.files), 'file')} failed (see above). Fix the cause and run again; finished"
            " files are skipped."
        )
