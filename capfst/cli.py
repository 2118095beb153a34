"""The command line: one verb for each step, `capfst VERB --help` for each verb.

Text goes to stdout, everything else to stderr. Exit status: 0, or 1 for an error in the input (one line says what,
where and what to do), 2 for a wrong command, 130 after Ctrl-C, 141 if the reader of stdout has gone.
"""

from __future__ import annotations

import gc
import json
import logging
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from capfst.errors import CapfstError
from capfst.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from capfst.batch.protocol import OnError
    from capfst.batch.run import Run, Runner
    from capfst.corpus.read import Errors
    from capfst.recaser import Recaser

_ERRORS = click.Choice(["strict", "replace"])
_FILE = click.Path(path_type=Path)
_BLOCK = 1 << 20  # bytes: as fast as larger ones, and small files keep all threads busy too
_errors = click.option(
    "--errors", type=_ERRORS, default="strict", show_default=True, help="Text that is not UTF-8: stop, or put U+FFFD."
)
_CASING = (
    click.option("--start-token", default="and", show_default=True, help="Put before each line, for intrinsic case."),
    click.option("--sentence-case", is_flag=True, help="Lines are sentences: a capital for the first word."),
    click.option(
        "--oov", type=click.Choice(["guess", "pass"]), default="guess", show_default=True, help="Unseen words."
    ),
    click.option("--no-context", "context", flag_value=False, default=True, help="The LM alone, without its context."),
)


def _casing(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `capfst.load` that say what casing is wanted."""
    for option in reversed(_CASING):
        command = option(command)
    return command


_RUNNER = (
    click.option(
        "--runner",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Run on this machine or on Spark.",
    ),
    click.option("--master", help="Spark's: local[2], spark://host:7077.  [default: as Spark is configured]"),
)


def _runner(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_RUNNER):
        command = option(command)
    return command


def _session(runner: str, master: str | None) -> AbstractContextManager[SparkSession | None]:
    """Spark, if it is to do the work."""
    if runner == "local":
        if master:
            raise click.UsageError("--master is for --runner spark.")
        return nullcontext()
    from capfst.spark.session import session

    return session(master)


def _spark_runner(session: SparkSession | None, recaser: Recaser) -> Callable[[Run], Runner] | None:
    """What has the executors of a session, if there is one, recase a batch."""
    if session is None:
        return None
    from capfst.spark.batch import SparkRunner

    return lambda run: SparkRunner(run, session, recaser)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """What imports and models make stays: looking for garbage in it would take longer than making it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class _Bytes(click.ParamType):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)b?", str(value).lower())
        if not match:
            self.fail(f"{value!r} is no amount of memory: write 500M or 2G", param, context)
        return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


class _Numbers(click.ParamType):
    name = "n,n,…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[int, ...]:
        try:
            numbers = tuple(map(int, str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers: write 0,0,1", param, context)
        if numbers[0] != 0 or list(numbers) != sorted(numbers):
            self.fail(f"{value}: the numbers must begin with 0 and rise: 0,0,1", param, context)
        return numbers


class _Shares(click.ParamType):
    name = "w,w,…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[float, ...]:
        try:
            return tuple(map(float, str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers: write 0.7,0.3", param, context)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="capfst")
def cli() -> None:
    """Restores the case of text: P = bestpath(S ∘ T ∘ LM).

    \b
    capfst train corpus/ -o cap.fst
    echo "new york has new information" | capfst recase --lm cap.fst
    """


@cli.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=_FILE, help="The model to write.")
@click.option("--order", type=click.IntRange(1, 5), default=3, show_default=True, help="The longest n-grams.")
@click.option("--min-count", type=click.IntRange(1), default=1, show_default=True, help="Rarer words become <unk>.")
@click.option("--max-words", type=click.IntRange(1), help="Keep the most frequent words; others become <unk>.")
@click.option(
    "--cutoff", type=_Numbers(), default="0", help="Drop n-grams that occur at most so often: 0,0,1 by order."
)
@click.option("--max-ngrams", type=click.IntRange(1), help="Prune to this many n-grams, by entropy (Stolcke 1998).")
@click.option("--prune-threshold", type=click.FloatRange(0), help="Prune n-grams that matter less than this (nats).")
@click.option("--no-clean", is_flag=True, help="Take every line, not only well-cased sentences.")
@click.option("--skip-filter", "skip", multiple=True, metavar="NAME", help="Leave out one filter of the cleaning.")
@click.option("--pretokenized", is_flag=True, help="Tokens are what white space separates, taken as they are.")
@click.option("--no-context", is_flag=True, help="The LM alone, without what words in their context tell.")
@_errors
@click.option("--memory", type=_Bytes(), help="Stay below this (2G, 500M); the rest goes to temporary files.")
@click.option("--tmp", type=click.Path(path_type=Path), help="Their folder.  [default: the system's]")
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@_runner
@click.option("-q", "--quiet", is_flag=True, help="No progress, no report.")
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
    """Trains a capitalization LM on files, folders or quoted globs of cased text (plain, .gz, .zst), a sentence a line.

    \b
    capfst train news/ 'web/*.zst' -o cap.fst --order 3 --memory 2G
    """
    from capfst.system.progress import progress
    from capfst.training import train as run

    logging.basicConfig(format="%(message)s", level=logging.ERROR if quiet else logging.INFO)
    show = partial(progress, quiet=quiet)
    options |= {
        "clean": not no_clean,
        "context": not no_context,
        "skip_filters": skip,
        "cutoffs": cutoff,
        "progress": show,
    }
    with _session(runner, master) as spark:
        trained = run(corpus, output, spark=spark, **options)
    if not quiet:
        click.echo(trained.report(), err=True)


@cli.command("import")
@click.argument("arpa", type=_FILE)
@click.option("-o", "--output", required=True, type=_FILE, help="The model to write.")
@click.option("--pretokenized", is_flag=True, help="Its words are what white space separates, not capfst's tokens.")
def import_(arpa: Path, output: Path, pretokenized: bool) -> None:
    """Compiles an ARPA model (of KenLM, SRILM, IRSTLM, OpenGrm; .gz too) whose words are surface forms.

    \b
    capfst import model.arpa.gz -o cap.fst
    """
    from capfst.convert import import_arpa

    import_arpa(arpa, output, pretokenized=pretokenized)


@cli.command()
@click.argument("lm", type=_FILE)
@click.argument("arpa", type=_FILE)
def export(lm: Path, arpa: Path) -> None:
    """Writes the model as ARPA, for other LM tools.

    \b
    capfst export cap.fst model.arpa
    """
    from capfst.convert import export_arpa

    export_arpa(lm, arpa)


@cli.command()
@click.argument("lms", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", required=True, type=_FILE, help="The model to write.")
@click.option("--weights", type=_Shares(), help="One for each model, 1 in all: 0.7,0.3.")
@click.option("--tune", type=_FILE, help="Find the weights that suit this cased text best (EM).")
def mix(lms: tuple[Path, ...], output: Path, weights: tuple[float, ...] | None, tune: Path | None) -> None:
    """Interpolates models linearly: one backoff model of all.

    \b
    capfst mix news.fst web.fst --weights 0.7,0.3 -o cap.fst
    capfst mix news.fst web.fst --tune held-out.txt -o cap.fst
    """
    from capfst.convert import mix_models

    if (weights is None) == (tune is None):
        raise click.UsageError("Give either --weights or --tune.")
    text = map(_whole, _read((tune,), "strict")) if tune else ()
    found = mix_models(lms, output, weights=weights, tune_on=text)
    click.echo("weights: " + ", ".join(f"{lm} {weight:.4f}" for lm, weight in zip(lms, found, strict=True)), err=True)


@cli.command()
@click.argument("files", nargs=-1, type=_FILE)
@click.option("--lm", required=True, type=_FILE, help="The model, as `capfst train` writes it.")
@click.option("-o", "--output", type=_FILE, help="Write here instead of to stdout.")
@_casing
@click.option("--nbest", type=click.IntRange(1), help="The N best casings of each line: cost, tab, sentence.")
@click.option("--confidence", is_flag=True, help="JSON lines: the text, and each changed word with its log-odds.")
@click.option("--engine", type=click.Choice(["fast", "openfst"]), default="fast", show_default=True, help="The search.")
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@_errors
def recase(
    files: tuple[Path, ...],
    lm: Path,
    output: Path | None,
    nbest: int | None,
    confidence: bool,
    engine: str,
    jobs: int | None,
    errors: str,
    **casing: Any,
) -> None:
    """Restores the case of FILES, or of stdin: nothing but case changes, a line stays a line.

    \b
    echo "new york has new information" | capfst recase --lm cap.fst
    capfst recase --lm cap.fst --sentence-case asr.txt -o asr.cased.txt
    """
    from concurrent.futures import ThreadPoolExecutor

    if nbest and confidence:
        raise click.UsageError("Give either --nbest or --confidence.")
    with _no_garbage(), ThreadPoolExecutor(1) as pool:
        from capfst.fst.read import CapFst

        opening = pool.submit(CapFst.open, lm)
        from capfst.recaser import Recaser  # while the model is being checked

        recaser = Recaser(opening.result(), engine=engine, **casing)
    blocks = _read(files, errors)
    if nbest:
        recased: Iterable[bytes | memoryview] = _nbest(recaser, blocks, nbest)
    elif confidence:
        recased = _confidence(recaser, blocks)
    else:
        recased = recaser.recase_blocks(blocks, jobs or os.cpu_count() or 1)
    if not output:
        return _write(recased, sys.stdout.buffer)
    from capfst.system.atomic import replacing

    with replacing(output) as out:
        _write(recased, out)


@cli.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option("--lm", required=True, type=_FILE, help="The model, as `capfst train` writes it.")
@click.option("--out", required=True, type=_FILE, help="The folder for the outputs: the input tree again.")
@_casing
@click.option("--field", default="text", show_default=True, help="What to recase of .jsonl objects.")
@click.option("--column", default="text", show_default=True, help="Of .tsv and .parquet: a name, or a number from 1.")
@_errors
@click.option(
    "--on-error",
    type=click.Choice(["fail", "pass", "drop"]),
    default="fail",
    show_default=True,
    help="Malformed records: their file fails, or they pass as they are, or are left out.",
)
@click.option("--strict", is_flag=True, help="Stop at the first file that fails.")
@click.option("--force", is_flag=True, help="Do again what is done.")
@click.option("--report", type=_FILE, help="Write what became of each file, as JSON.")
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@_runner
@click.option("-q", "--quiet", is_flag=True, help="Errors only: no progress, no summary.")
def batch(
    inputs: tuple[str, ...],
    runner: str,
    master: str | None,
    lm: Path,
    out: Path,
    field: str,
    column: str,
    errors: Errors,
    on_error: OnError,
    report: Path | None,
    jobs: int | None,
    quiet: bool,
    strict: bool,
    force: bool,
    **casing: Any,
) -> None:
    """Recases corpora: files, folders, quoted globs of text, .jsonl and .tsv (plain, .gz, .zst), and .parquet.

    The outputs have the inputs' formats, and their tree below --out. The same command again does what is not done.

    \b
    capfst batch --lm cap.fst news/ 'web/*.jsonl.zst' --out cased/
    """
    from capfst.batch.display import Display
    from capfst.batch.inputs import plan
    from capfst.batch.protocol import Options
    from capfst.batch.report import FAILED
    from capfst.batch.run import run
    from capfst.recaser import load
    from capfst.system.atomic import replacing

    todo = plan(inputs, out, lm)
    options = Options(field, column, errors, on_error)
    threads = jobs or os.cpu_count() or 1
    recaser = load(lm, **casing)
    with _session(runner, master) as spark, Display(quiet) as display:
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
            f"{failed} of {len(done.files)} files failed, as said above: mend them, and give the command again, which"
            " does not do again what is done"
        )


@cli.command()
@click.argument("reference", type=_FILE)
@click.argument("hypotheses", nargs=-1, required=True, type=_FILE)
@click.option("--lm", type=_FILE, help="Scores also in and out of this model's vocabulary.")
@click.option("--skip-first", is_flag=True, help="Leave out each line's first word (positional capitals).")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def score(reference: Path, hypotheses: tuple[Path, ...], lm: Path | None, skip_first: bool, as_json: bool) -> None:
    """Accuracy, precision, recall, F1 and capitalization error rate; of several hypotheses, also their significance.

    \b
    capfst score cased.txt recased.txt
    """
    from capfst.evaluate.bootstrap import compare_hypotheses
    from capfst.evaluate.score import score_files
    from capfst.recaser import load

    known = load(lm).knows if lm else None
    if len(hypotheses) == 1:
        result = score_files(reference, hypotheses[0], skip_first, known)
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.table())
    else:
        comparison = compare_hypotheses(reference, hypotheses, skip_first, known)
        click.echo(json.dumps(comparison.to_dict(), ensure_ascii=False) if as_json else comparison.table())


@cli.command()
@click.argument("reference", type=_FILE)
@click.argument("hypothesis", type=_FILE)
@click.option("--lm", type=_FILE, help="Tells words apart by what this model knows of them.")
@click.option("--html", type=_FILE, help="Writes a page, too.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables.")
@click.option("--top", type=click.IntRange(0), default=30, show_default=True, help="So many of the wrong words.")
def errors(reference: Path, hypothesis: Path, lm: Path | None, html: Path | None, as_json: bool, top: int) -> None:
    """What a hypothesis gets wrong: by shape, by kind of word, and the most frequent wrong words in their contexts.

    \b
    capfst errors cased.txt recased.txt --lm cap.fst --html errors.html
    """
    from capfst.evaluate.error_analysis import analyse_files
    from capfst.evaluate.error_page import page
    from capfst.recaser import load
    from capfst.system.atomic import replacing

    analysis = analyse_files(reference, hypothesis, load(lm) if lm else None)
    if html:
        with replacing(html) as file:
            file.write(page(analysis, top, (str(reference), str(hypothesis))).encode("utf-8", "replace"))
    click.echo(json.dumps(analysis.to_dict(top), ensure_ascii=False) if as_json else analysis.text(top))


@cli.command()
@click.argument("files", nargs=-1, type=_FILE)
@click.option("--lm", required=True, type=_FILE, help="The model.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
@_errors
def perplexity(files: tuple[Path, ...], lm: Path, as_json: bool, errors: str) -> None:
    """Perplexity of cased text under the model, with and without OOV words, as KenLM's `query` has it.

    \b
    capfst perplexity --lm cap.fst held-out.txt
    """
    from capfst.evaluate.perplexity import perplexity as measure
    from capfst.recaser import load

    recaser = load(lm)
    model = recaser.model
    labels = (recaser.labels(_whole(block)) for block in _read(files, errors))
    result = measure(model.states, model.arcs, model.start, labels, recaser.lm.unknown)
    if as_json:
        click.echo(json.dumps(result._asdict()))
    else:
        click.echo(f"Perplexity including OOVs:\t{result.including_oov:.6f}")
        click.echo(f"Perplexity excluding OOVs:\t{result.excluding_oov:.6f}")
        click.echo(f"OOVs:\t{result.oov}\nTokens:\t{result.tokens}")


@cli.command()
@click.argument("files", nargs=-1, type=_FILE)
@click.option("--lm", required=True, type=_FILE, help="The model.")
@_errors
def tokenize(files: tuple[Path, ...], lm: Path, errors: str) -> None:
    """Text as the words that the model sees, with spaces between: input for other LM tools.

    \b
    capfst tokenize --lm cap.fst held-out.txt
    """
    from capfst.recaser import load

    recaser = load(lm)
    _write((recaser.words_utf8(block) for block in _read(files, errors)), sys.stdout.buffer)


@cli.command()
@click.argument("lm", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def info(lm: Path, as_json: bool) -> None:
    """A model's signature, n-grams by order, sizes, and most ambiguous words.

    \b
    capfst info cap.fst
    """
    from capfst.fst.read import CapFst
    from capfst.info import describe, render

    description = describe(CapFst.open(lm))
    click.echo(json.dumps(description, ensure_ascii=False) if as_json else render(description))


def _read(files: tuple[Path, ...], errors: str) -> Iterator[bytes]:
    """The blocks of all files, or of stdin; a file's last line is ended if another file follows."""
    from capfst.corpus.read import read_stream

    for k, file in enumerate(files or (Path("-"),), 1):
        block = b"\n"
        # The raw stream: no lock of Python's is held while a thread waits for input and another one ends the program.
        source = open(0, "rb", 0, closefd=False) if str(file) == "-" else file  # noqa: SIM115
        for block in read_stream(source, size=_BLOCK, errors=errors):  # type: ignore[arg-type]
            yield block
        if k < len(files) and not block.endswith(b"\n"):
            yield b"\n"


def _whole(block: bytes) -> bytes:
    """The block with its last line ended."""
    return block if block.endswith(b"\n") else block + b"\n"


def _lines(blocks: Iterable[bytes]) -> Iterator[str]:
    for block in blocks:
        yield from block.decode().removesuffix("\n").split("\n")


def _nbest(recaser: Recaser, blocks: Iterable[bytes], n: int) -> Iterator[bytes]:
    for line in _lines(blocks):
        yield b"".join(f"{cost:.6f}\t{casing}\n".encode() for cost, casing in recaser.nbest(line, n))


def _confidence(recaser: Recaser, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """JSON has no infinity: null."""
    for line in _lines(blocks):
        text, changes = recaser.confidence(line)
        words = [
            change._asdict() | {"log_odds": round(change.log_odds, 6) if change.log_odds < math.inf else None}
            for change in changes
        ]
        yield json.dumps({"text": text, "words": words}, ensure_ascii=False).encode() + b"\n"


class _Closed(Exception):  # noqa: N818
    """Nobody reads stdout any more. (Click would answer a BrokenPipeError itself.)"""


def _write(blocks: Iterable[bytes | memoryview], out: BinaryIO) -> None:
    try:
        for block in blocks:
            out.write(block)
            out.flush()
    except BrokenPipeError as error:
        raise _Closed from error
    except OSError as error:
        raise CapfstError(f"cannot write to stdout: {error.strerror}: check where it leads") from error


def _empty_stdout() -> None:
    """Has nothing left that stdout does not take: Python would complain of it once more when it closes stdout."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Runs the command line; every way out has its exit status."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except CapfstError as error:
        click.echo(f"capfst: error: {error}", err=True)
        _empty_stdout()
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("capfst: stopped", err=True)
        sys.exit(128 + signal.SIGINT)
    except _Closed:
        _empty_stdout()
        sys.exit(128 + signal.SIGPIPE)
    except MemoryError:
        click.echo("capfst: error: out of memory: give it more, or less to do at once (--jobs 1)", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
