"""Commands that restore case: recase, batch."""

from __future__ import annotations

import gc
import json
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capfst.cli.options import (
    FILE,
    align_words_option,
    casing_options,
    errors_option,
    jobs_option,
    lm_option,
    runner_options,
    spark_session,
)
from capfst.cli.streams import note, read_text, write_text
from capfst.exceptions import CapfstError
from capfst.system.budget import keep_freed_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from capfst.batch.run import Run, Runner
    from capfst.io.blocks import Errors
    from capfst.io.protocol import OnError
    from capfst.io.side_by_side import Block
    from capfst.recaser import Recaser


@click.command()
@click.argument("files", nargs=-1, type=FILE)
@lm_option
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="File to write, instead of stdout; compressed if its name ends with .gz, .zst, .bz2 or .xz.",
)
@casing_options
@click.option(
    "--source",
    type=FILE,
    help="Cased source of FILES, which are translations, line by line: it tells their case, if the model has learned"
    " from translations (capfst train-bilingual).",
)
@click.option(
    "--align",
    type=FILE,
    help="Word alignments, line by line: 0-0 1-2 …, source word first. Without them only words are aligned that are the"
    " same in both lines, such as names.",
)
@align_words_option
@click.option(
    "--document",
    is_flag=True,
    help="Lines between two blank ones are a document: what is said of a word in one line is evidence in the others.",
)
@click.option(
    "--nbest",
    type=click.IntRange(1),
    help="Print this many best casings of each line, a line each: cost (−ln), tab, text.",
)
@click.option(
    "--confidence",
    is_flag=True,
    help="Print JSON lines: the recased text, and each changed word with the log-odds of its casing.",
)
@click.option(
    "--engine",
    type=click.Choice(["fast", "openfst"]),
    default="fast",
    show_default=True,
    help="Search with compiled kernels, or, slowly, by OpenFst's composition and shortest path: the same text.",
)
@jobs_option
@errors_option
@click.option("-q", "--quiet", is_flag=True, help="Print errors only, neither progress nor notes.")
def recase(
    files: tuple[Path, ...],
    lm: Path,
    output: Path | None,
    source: Path | None,
    align: Path | None,
    align_words: bool,
    document: bool,
    nbest: int | None,
    confidence: bool,
    engine: str,
    jobs: int | None,
    errors: str,
    quiet: bool,
    **casing: Any,
) -> None:
    """Restores the case of FILES, or of stdin. Nothing but case changes, and a line stays a line.

    \b
    echo "new york has new information" | capfst recase
    capfst recase --lm cap.fst --sentence-case asr.txt -o asr.cased.txt
    capfst recase --lm bilingual.fst --source english.txt --align english-french.align french.txt
    """
    from concurrent.futures import ThreadPoolExecutor

    from capfst.io.compression import compressing, compression_of_name

    if nbest and confidence:
        raise click.UsageError("Give either --nbest or --confidence.")
    if align and not source:
        raise click.UsageError("--align is for --source.")
    if source and (align_too := [file for file in (source, align) if str(file) == "-"]):
        raise click.UsageError(f"--source and --align are files, not stdin ({align_too[0]}).")
    if align_words and not source:
        raise click.UsageError("--align-words is for --source.")
    if str(output) == "-":
        output = None  # as everywhere else, stdout
    if output:
        from capfst.system.atomic import refuse_to_replace, replacing

        refuse_to_replace(output, lm, source, align)
    if document and (nbest or confidence or source or not casing["context"]):
        raise click.UsageError("Give --document without --nbest, --confidence, --source and --no-context.")
    compression = compression_of_name(output) if output else None
    has_hinted = _hint_at_batch(files, quiet)
    with _garbage_collection_off(), ThreadPoolExecutor(1) as pool:
        from capfst.fst.read import CapFst

        opening = pool.submit(CapFst.open, lm)
        from capfst.io.side_by_side import Block
        from capfst.recaser import Recaser  # while the model is being checked

        recaser = Recaser(opening.result(), engine=engine, document=document, align_words=align_words, **casing)
    keep_freed_memory()
    _note_lack_of_context(recaser, quiet)
    if os.isatty(0) and (not files or Path("-") in files):
        note("reading from the keyboard: type lines, end with Ctrl-D", quiet)
    n_read = 0

    def on_read(data: bytes) -> None:
        nonlocal n_read
        n_read += len(data)

    blocks = _hint_at_fields(read_text(files, errors, on_read), quiet or has_hinted)
    threads = jobs or os.cpu_count() or 1
    if source:
        recaser.pipeline.check_bilingual()
        together = _aligned(blocks, files, source, align, errors)
    elif nbest or confidence:
        together = map(Block, blocks)
    if nbest:
        recased: Iterable[bytes | memoryview] = _nbest(recaser, together, nbest)
    elif confidence:
        recased = _confidence(recaser, together)
    elif source:
        recased = recaser.pipeline.recase_aligned_blocks(together, threads)
    else:
        recased = recaser.pipeline.recase_blocks(blocks, threads)
    # No bar between lines of text, be they on this terminal or of a program that reads from here.
    total = _size(files) if not quiet and sys.stderr.isatty() and (output or _file_size(1) is not None) else 0
    with closing(_with_bar(recased, total, lambda: n_read)) as recased:
        if not output:
            return write_text(recased, sys.stdout.buffer)
        with replacing(output) as out, compressing(compression, out) as write:
            for block in recased:
                write(block)


_HEAD, _HEAD_LINES = 1 << 16, 11
"""Bytes and lines of a text that tell whether it has fields."""
_MIN_ROWS = 3


def _note_lack_of_context(recaser: Recaser, quiet: bool) -> None:
    """Says if the casings come from the LM alone although that was not asked for."""
    if recaser.options.context and recaser.pipeline.context is None and recaser.pipeline.spellings is None:
        note(f"{recaser.model.path} has no context model: casings come from the LM alone", quiet)


def _hint_at_batch(files: tuple[Path, ...], quiet: bool) -> bool:
    """Says of files with fields or columns what they are for, if their names tell; whether one does."""
    from capfst.io.files import suffix_of

    for file in files:
        suffix = suffix_of(file.name)
        if suffix in ("", ".txt"):
            continue
        from capfst.io.formats import FORMATS  # not needed for text, and slow to import

        if suffix == ".parquet":
            raise CapfstError(f"{file}: Parquet is no text: capfst batch recases a column of it (--column NAME)")
        if suffix in FORMATS:
            part = "field" if "json" in suffix else "column"
            note(
                f"{file}: all of each line is recased; to recase one {part} of {suffix} files, use capfst batch", quiet
            )
            return True
    return False


def _hint_at_fields(blocks: Iterator[bytes], quiet: bool) -> Iterator[bytes]:
    """The blocks; says of text that looks like JSON lines, TSV or CSV what is for them."""
    for k, block in enumerate(blocks):
        if k == 0 and not quiet:
            found = _fields(block[:_HEAD].split(b"\n")[:_HEAD_LINES])
            if found:
                part, suffix = found
                note(
                    f"the text looks like {suffix}: all of each line is recased; "
                    f"to recase one {part} of {suffix} files, use capfst batch"
                )
        yield block


def _fields(lines: list[bytes]) -> tuple[str, str] | None:
    """(what the lines are made of, the suffix of such files), if they look so: a record of JSON first, or three lines
    and more with the same number of tabs, or of commas without space behind."""
    if lines[0].startswith((b'{"', b'["', b"[{")):
        return "field", ".jsonl"
    whole = lines[:-1]  # the last one may be cut off
    for delimiter, least, suffix in ((b"\t", 1, ".tsv"), (b",", 2, ".csv")):
        counts = {line.count(delimiter) for line in whole}
        spaced = any(delimiter + b" " in line for line in whole)
        if len(whole) >= _MIN_ROWS and len(counts) == 1 and min(counts) >= least and not spaced:
            return "column", suffix
    return None


def _size(files: tuple[Path, ...]) -> int:
    """The bytes of all files, or of what stdin is redirected from; 0 if that is not known beforehand."""
    sizes = [_file_size(0 if str(file) == "-" else file) for file in files or (Path("-"),)]
    return 0 if None in sizes else sum(filter(None, sizes))


def _file_size(file: Path | int) -> int | None:
    """The bytes of a file, given by its path or as a descriptor; None if it is no regular file."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


_BAR_AFTER = 1.0  # seconds


def _with_bar(
    blocks: Iterable[bytes | memoryview], total: int, n_read: Callable[[], int]
) -> Generator[bytes | memoryview, None, None]:
    """The blocks, and meanwhile, if it takes long, a bar of how many bytes of `total` have been read; 0: no bar."""
    from capfst.system.progress import progress

    begin = time.monotonic()
    shown = 0
    with ExitStack() as stack:
        advance: Callable[[int], object] | None = None
        for block in blocks:
            yield block
            if total and advance is None and time.monotonic() - begin > _BAR_AFTER:
                advance = stack.enter_context(progress(total, "recasing"))
            if advance is not None:
                now = n_read()
                advance(now - shown)
                shown = now


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Imports and models stay in use: searching them for garbage would take longer than loading them."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _aligned(
    blocks: Iterable[bytes], files: tuple[Path, ...], source: Path, align: Path | None, errors: str
) -> Iterator[Block]:
    """Blocks of translations with their source and alignments."""
    from capfst.io.side_by_side import Names, side_by_side

    names = Names(", ".join(map(str, files)) or "<stdin>", str(source), str(align))
    return side_by_side(blocks, read_text((source,), errors), read_text((align,), errors) if align else None, names)


def _line_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from block.lines()


def _nbest(recaser: Recaser, blocks: Iterable[Block], n: int) -> Iterator[bytes]:
    for line in _line_blocks(blocks):
        yield b"".join(b"%.6f\t%s\n" % (cost, casing) for cost, casing in recaser.pipeline.nbest(line, n))


def _confidence(recaser: Recaser, blocks: Iterable[Block]) -> Iterator[bytes]:
    """A line of JSON for each line of text; infinite log-odds, for which JSON has no number, are null."""
    for line in _line_blocks(blocks):
        text, changes = recaser.pipeline.confidence(line)
        words = [
            change._asdict() | {"log_odds": round(change.log_odds, 6) if change.log_odds < math.inf else None}
            for change in changes
        ]
        yield json.dumps({"text": text, "words": words}, ensure_ascii=False).encode() + b"\n"


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@lm_option
@click.option("--out", required=True, type=FILE, help="Output folder, which gets the tree of the inputs.")
@casing_options
@click.option("--field", default="text", show_default=True, help="Field to recase in the objects of .jsonl files.")
@click.option(
    "--column",
    default="text",
    show_default=True,
    help="Column to recase in .tsv, .csv and .parquet files: its name, or its number, from 1.",
)
@click.option(
    "--source-field",
    help="Field or column with the cased source of the text, which is a translation: it tells its case, if the model"
    " has learned from translations (capfst train-bilingual).",
)
@click.option("--document", is_flag=True, help="As for capfst recase; of other files, a record is a document.")
@click.option(
    "--document-field",
    help="Field or column that is the same in the records of a document, which follow each other; implies --document.",
)
@click.option(
    "--align-field",
    help="Field or column with the alignment of the words: 0-0 1-2 …, source word first. Without it only words are"
    " aligned that are the same in both texts, such as names.",
)
@errors_option
@click.option(
    "--on-error",
    type=click.Choice(["fail", "pass", "drop"]),
    default="fail",
    show_default=True,
    help="Malformed records: fail their file, pass them on unchanged, or drop them.",
)
@click.option("--strict", is_flag=True, help="Stop at the first file that fails.")
@click.option("--force", is_flag=True, help="Recase files again that are already done.")
@click.option("--report", type=FILE, help="JSON file for the counts, and the outcome of each file.")
@jobs_option
@runner_options
@click.option("-q", "--quiet", is_flag=True, help="Print errors only, neither progress nor summary.")
def batch(
    inputs: tuple[str, ...],
    runner: str,
    master: str | None,
    lm: Path,
    out: Path,
    field: str,
    column: str,
    source_field: str | None,
    align_field: str | None,
    document: bool,
    document_field: str | None,
    errors: Errors,
    on_error: OnError,
    report: Path | None,
    jobs: int | None,
    quiet: bool,
    strict: bool,
    force: bool,
    **casing: Any,
) -> None:
    """Recases whole corpora, file by file.

    INPUTS are files, folders or quoted glob patterns: text, .jsonl, .tsv and .csv (plain, .gz, .zst, .bz2, .xz), and
    .parquet. The outputs have the same formats and the same tree, below --out. Files that an earlier run has finished
    are skipped.

    \b
    capfst batch --lm cap.fst news/ 'web/*.jsonl.zst' --out cased/
    """
    from capfst.batch.display import Display
    from capfst.batch.report import FAILED
    from capfst.batch.run import run
    from capfst.io.inputs import plan
    from capfst.io.protocol import BatchOptions
    from capfst.recaser import load
    from capfst.system.atomic import refuse_to_replace, refuse_unwritable, replacing

    todo = plan(inputs, out, lm)
    if report:
        refuse_to_replace(report, lm, *(item.input for item in todo.items))
        refuse_unwritable(report)
    if align_field and not source_field:
        raise click.UsageError("--align-field is for --source-field.")
    document = document or document_field is not None
    if document and (source_field or not casing["context"]):
        raise click.UsageError("Give --document without --source-field and --no-context.")
    options = BatchOptions(
        field, column, errors, on_error, source=source_field, align=align_field,
        document=(document_field or "") if document else None,
    )  # fmt: skip
    threads = jobs or os.cpu_count() or 1
    recaser = load(lm, document=document, **casing)
    if source_field:
        recaser.pipeline.check_bilingual()
    keep_freed_memory()
    _note_lack_of_context(recaser, quiet)
    with spark_session(runner, master) as spark, Display(quiet) as display:
        done = run(
            todo, out, recaser, options, jobs=threads, strict=strict, force=force, listener=display,
            runner=_spark_runner(spark, recaser),
        )  # fmt: skip
    if report:
        with replacing(report) as file:
            file.write(json.dumps(done.to_dict(), indent=1).encode())
    if not quiet:
        click.echo(done, err=True)
    if done.error:
        raise CapfstError(done.error)
    if failed := done.number(FAILED):
        raise CapfstError(
            f"{failed} of {len(done.files)} files failed, for the reasons above: fix them and rerun; finished files are"
            " skipped"
        )


def _spark_runner(session: SparkSession | None, recaser: Recaser) -> Callable[[Run], Runner] | None:
    """Makes the runner of a batch on a Spark session; None on this machine."""
    if session is None:
        return None
    from capfst.spark.batch import SparkRunner

    return lambda run: SparkRunner(run, session, recaser)


COMMANDS = recase, batch
