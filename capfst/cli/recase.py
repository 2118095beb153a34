"""`capfst recase`: the case of text, line by line."""

from __future__ import annotations

import gc
import json
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capfst import models
from capfst.cli import options as cli
from capfst.cli.hints import hint_at_batch, hint_at_language, hint_at_layout, note_lack_of_context
from capfst.cli.streams import note, read_text, write_text
from capfst.exceptions import OptionError
from capfst.options import FORMATS, IN_LATTICES, KEEP, MAX_CASINGS, RUNNING, RecaseOptions, Rescoring
from capfst.system.budget import keep_freed_memory

if TYPE_CHECKING:
    from capfst.io.encodings import Transcoding
    from capfst.io.protocol import TextOptions
    from capfst.pipeline import Pipeline
    from capfst.recaser import Recaser
    from capfst.repair import Stretch
    from capfst.search.confidence import Change


@cli.command(short_help="Restore the case of text.")
@click.argument("files", nargs=-1, type=cli.FILE)
@cli.lm_option
@cli.output_option
@cli.option(
    "--nbest",
    type=click.IntRange(1, MAX_CASINGS),
    help="Print this many best casings of each line, one per line: cost (−ln), tab, text.",
    call="single_line",
    excludes=("confidence", "stream", "running"),
)
@cli.option(
    "--confidence",
    is_flag=True,
    help="Print JSON lines: the recased text, and each changed word with the log-odds of its casing.",
    call="single_line",
    excludes=("stream", "running"),
)
@cli.option(
    "--stream",
    "is_stream",
    is_flag=True,
    help="Recase stdin while it is being spoken: print each word as soon as --look-ahead words follow it, and the rest"
    " of a line at its end. Text that ends with a carriage return is a partial result, which the next one replaces."
    " With --format vosk, stdin is the recognizer's JSON.",
    call="stream",
)
@cli.option(
    "--look-ahead",
    type=click.IntRange(0),
    default=4,
    help="Number of words that must follow a word of a --stream before it is printed.",
    requires="stream",
)
@cli.option(
    "--rescore",
    type=cli.weights,
    metavar="WEIGHT[,BONUS]",
    help="Put the best hypothesis first in each list of alternatives in a recognizer's JSON: that with the highest"
    " score + WEIGHT · (ln P + BONUS · words), where P is the probability of its best casing. Paths of --format lattice"
    " are scored in the same way.  [default: keep the order; in a lattice 0.5,8; without BONUS 0]",
    excludes=("single_line", "stream", "source"),
)
@cli.formats_option(
    (*FORMATS, cli.LATTICE),
    " lattice: word lattices of OpenFst or Kaldi as text, or Kaldi's confusion networks, whose best paths are recased.",
)
@cli.field_option
@cli.encoding_option
@cli.errors_option
@cli.options_of(RecaseOptions)
@cli.translation_options(
    "Cased source of FILES, which are translations, line by line",
    "Word alignments, line by line",
    type=cli.FILE,
    excludes=("stream", "running"),
)
@cli.jobs_option
@cli.option("-q", "--quiet", is_flag=True, help="Print errors only, no progress or notes.", group=RUNNING)
def recase(
    files: tuple[Path, ...],
    lm: models.Named,
    output: Path | None,
    source: Path | None,
    align: Path | None,
    nbest: int | None,
    confidence: bool,
    jobs: int | None,
    is_stream: bool,
    look_ahead: int,
    rescore: tuple[float, ...] | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Restore the case of FILES, or of stdin. Only case changes; in subtitles, transcripts, JSON and the like, only in
    their text.

    \b
    echo "new york has new information" | capfst recase
    capfst recase film.srt -o film.cased.srt
    recognizer | capfst recase --stream
    capfst recase --lm cap.fst --sentence-case asr.txt -o asr.cased.txt
    capfst recase --lm bilingual.fst --source english.txt --align english-french.align french.txt
    """
    from capfst.io.encodings import UTF8, Transcoding
    from capfst.io.protocol import RecaseCounts, TextOptions

    inputs = [0 if str(file) == "-" else file for file in files or (Path("-"),)]
    options = {each.name: given[each.name] for each in fields(RecaseOptions)}
    of_text = ("field", "encoding", "errors", "format", "markup", "remarks")
    text = TextOptions(**{name: given[name] for name in of_text})
    if any(str(file) == "-" for file in (source, align)):
        raise click.UsageError("--source and --align must be files, not stdin (-).")
    if rescore and len(rescore) > 2:
        raise click.UsageError("--rescore requires a weight, and perhaps nats per word, such as 0.5,8.")
    rescoring = Rescoring(*rescore).check() if rescore else None
    if is_stream and text.format not in (None, "vosk"):
        raise click.UsageError("--stream reads words, or the JSON of --format vosk.")
    if is_stream and inputs != [0]:
        raise click.UsageError("--stream reads stdin. Redirect the file or pipe to it.")
    speech = None if is_stream else _checked(_speech(files, text), files, text)
    if str(output) in ("-", "/dev/stdout"):  # replacing that file would lose what others write to it
        output = None
    if not output:
        for file in inputs:  # the shell has emptied it, or (`>>`) it would grow for ever
            if None not in (_file_size(1), _file_size(file)) and os.path.samefile(1, file):
                raise OptionError(
                    f"stdout: the output is also an input ({file or '<stdin>'}). To replace a file, use -o FILE instead"
                    " of >."
                )
    else:
        from capfst.io.compression import compression_of_name
        from capfst.system.atomic import check_output

        size = 0 if compression_of_name(output) or nbest or confidence else _size(inputs)
        also_read = [*options["words"], *options["abbreviations"], *(files if len(files) > 1 else ())]
        check_output(output, lm, source, align, *also_read, streams=True, size=size)
    has_hinted = is_stream or bool(speech) or hint_at_batch(files, quiet)
    transcoding = None if text.encoding == UTF8 else Transcoding(text.encoding, text.errors)
    recaser = _load(lm, options)
    note_lack_of_context(recaser, quiet)
    if is_stream:
        from capfst.cli.live import recase_stream, recase_stream_json

        recase_live = recase_stream_json if text.format else recase_stream
        with open(0, "rb", 0, closefd=False) as stdin:
            stream = recaser.stream(look_ahead)
            return _write(recase_live(stream, stdin, text.errors, transcoding), output, transcoding)
    if os.isatty(0) and 0 in inputs:
        note("reading from the keyboard. Type lines, and end with Ctrl-D.", quiet)
    from capfst.io.files import suffix_of
    from capfst.io.formats import format_of_text
    from capfst.text.markup import AUTO, NONE, Hiding, markup_of

    n_read = 0

    def on_read(data: bytes) -> None:
        nonlocal n_read
        n_read += len(data)

    pipeline, threads, name = recaser.pipeline, jobs or os.cpu_count() or 1, str(inputs[0] or "<stdin>")
    markups = {file: markup_of(suffix_of(file.name), text.markup) for file in files or (Path("-"),)}
    is_hidden = {*markups.values()} != {NONE} and not (source or nbest or confidence or speech)
    hiding = Hiding(options["repair"]) if is_hidden else None

    def hide(blocks: Iterator[bytes], file: Path) -> Iterator[bytes]:
        return hiding.hide(blocks, markups[file]) if hiding else blocks

    blocks = read_text(files, text.errors, on_read, transcoding, hide)
    if not speech and not hiding and text.format is None and text.markup in (AUTO, NONE):
        first = next(blocks, b"")
        speech = _checked(format_of_text(first), files, text)
        blocks = chain(filter(None, [first]), blocks)
    if speech == cli.LATTICE:
        speech, blocks = _best_words(pipeline, blocks, name, rescoring or IN_LATTICES, threads)
        rescoring = None
    if running := _running(blocks, name, speech, text, pipeline, rescoring):
        blocks = running
    elif not quiet:
        blocks = hint_at_layout(blocks, not has_hinted, not options["wrapped"])
    blocks = blocks if quiet else hint_at_language(blocks, recaser)
    recased: Iterable[bytes | memoryview]
    repaired = RecaseCounts()

    def take(stretches: list[Stretch]) -> None:
        nonlocal repaired
        counts = RecaseCounts.of_repair(stretches)
        repaired += counts.at(hiding.line_of) if hiding else counts

    if source or nbest or confidence:
        from capfst.io.alignments import Block, Names, side_by_side

        together: Iterator[Block] = map(Block, blocks)
        if source:
            pipeline.check_bilingual()
            names = Names(", ".join(map(str, files)) or "<stdin>", str(source), str(align))
            sources = read_text((source,), text.errors, transcoding=transcoding)
            together = side_by_side(blocks, sources, read_text((align,), text.errors) if align else None, names)
        lines = (line for block in together for line in block.lines())
        if nbest:
            recased = (b"".join([b"%.6f\t%s\n" % each for each in pipeline.nbest(line, nbest)]) for line in lines)
        elif confidence:
            recased = (_confidence(*pipeline.confidence(line)) for line in lines)
        else:
            recased = pipeline.recase_aligned_blocks(together, threads)
    else:
        recased = pipeline.recase_blocks(blocks, threads, take)
        recased = hiding.show(recased) if hiding else recased
    # No bar among the lines of a text, on this terminal or on that of a program that reads from here.
    total = _size(inputs) if not quiet and sys.stderr.isatty() and (output or _file_size(1) is not None) else 0
    with closing(_with_bar(recased, total, lambda: n_read)) as recased:
        _write(recased, output, transcoding)
    if options["repair"]:
        note(repaired.repair, quiet)


def _speech(files: tuple[Path, ...], text: TextOptions) -> str | None:
    """Return the format of files whose texts are parts of them, by the options, names and contents. That of stdin and
    of a single file of text is recognized when it is read."""
    if text.field and text.format not in (None, "json", "transcript"):
        raise click.UsageError("--field requires --format json or transcript.")
    if text.format or text.field:
        return {"text": None, None: "json"}.get(text.format, text.format)
    if len(files) < 2 and all(file.suffix in ("", ".txt") for file in files):
        return None
    from capfst.io.files import suffix_of
    from capfst.io.formats import JSONS, speech_format

    for file in filter(Path.is_file, files):
        if found := speech_format(file, text) or "json" * (suffix_of(file.name) in JSONS):
            return found
    return None


def _checked(format: str | None, files: tuple[Path, ...], text: TextOptions) -> str | None:
    """Return the format of subtitles, transcripts and the like, or raise a usage error for what it excludes."""
    as_text = "" if text.format else "; with --format text, they are recased as plain text"
    if format:
        cli.refuse_excluded("running", as_text)
    if format and len(files) > 1:
        raise click.UsageError(
            f"Recase one file of subtitles, JSON or the like at a time, or use capfst batch{as_text}."
        )
    return format


def _running(
    blocks: Iterator[bytes],
    name: str,
    format: str | None,
    text: TextOptions,
    pipeline: Pipeline,
    rescoring: Rescoring | None,
) -> Iterator[bytes] | None:
    """Yield the running text of each part of a file whose texts are parts of it; None for plain text."""
    if format is None and rescoring is None and text.remarks == KEEP:
        return None
    from capfst.io.formats import SUBTITLES, reader
    from capfst.io.transcripts import Transcript
    from capfst.io.word_lattices import sentence

    reading = reader(name, format, text.field, text.remarks) if format else None
    if rescoring:
        if not isinstance(reading, Transcript):
            raise click.UsageError("--rescore requires the JSON of a recognizer, or --format lattice.")
        reading.cost = lambda words: pipeline.best_words(sentence(words), rescoring)[0]
    if text.remarks != KEEP and format not in SUBTITLES:
        raise click.UsageError(f"--remarks requires subtitles: --format {', '.join(SUBTITLES)}.")
    return (part.text for part in reading.read(blocks)) if reading else None


def _best_words(
    pipeline: Pipeline, blocks: Iterator[bytes], name: str, rescoring: Rescoring, threads: int
) -> tuple[str | None, Iterator[bytes]]:
    """Return the best words of each lattice as a line, and the format of the lines: Kaldi's text, if the first lattice
    has a name, or plain text."""
    from capfst.exceptions import CorpusError
    from capfst.io.blocks import PIECE, joined
    from capfst.io.word_lattices import WordLattice, word_lattices
    from capfst.system.parallel import map_stream

    def line(lattice: WordLattice) -> bytes:
        if bool(lattice.name) != bool(first[0].name):
            raise CorpusError(f"{name}: some lattices have an identifier, and others have none. Give all of them one.")
        words = pipeline.best_words(lattice, rescoring)[1]
        return b" ".join(filter(None, [lattice.name, words])) + b"\n"

    lattices = word_lattices(blocks, name)
    first = list(islice(lattices, 1))
    lines = joined(map_stream(line, chain(first, lattices), threads), PIECE)
    return "kaldi" if first and first[0].name else None, lines


def _load(lm: models.Named, options: dict[str, Any]) -> Recaser:
    """Load a model. Without garbage collection: searching imports and models, which stay in use, takes longer than
    loading them."""
    from concurrent.futures import ThreadPoolExecutor

    gc.disable()
    try:
        with ThreadPoolExecutor(1) as pool:
            import capfst.fst.read  # noqa: F401 - here, so that no two threads import it at once

            opening = pool.submit(models.open, lm)
            from capfst.recaser import Recaser  # while the model is being checked

            recaser = Recaser(opening.result(), **lm.options(options))
    finally:
        gc.freeze()
        gc.enable()
    keep_freed_memory()
    return recaser


def _write(recased: Iterable[bytes | memoryview], output: Path | None, transcoding: Transcoding | None) -> None:
    if transcoding:
        recased = map(transcoding.writer(bytes, str(output or "<stdout>")), recased)  # type: ignore[arg-type]
    if not output:
        return write_text(recased, sys.stdout.buffer)
    from capfst.io.compression import compressing, compression_of_name
    from capfst.system.atomic import writing

    with writing(output) as out, compressing(compression_of_name(output), out) as write:
        for block in recased:
            write(block)


def _size(inputs: Iterable[Path | int]) -> int:
    """Return the bytes of all files, or of the file that stdin is redirected from; 0 if unknown beforehand."""
    sizes = list(map(_file_size, inputs))
    return 0 if None in sizes else sum(filter(None, sizes))


def _file_size(file: Path | int) -> int | None:
    """Return the bytes of a file, given by its path or descriptor; None if it is not a regular file."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


_BAR_AFTER = 1.0  # seconds


def _with_bar(
    blocks: Iterable[bytes | memoryview], total: int, n_read: Callable[[], int]
) -> Generator[bytes | memoryview, None, None]:
    """Yield the blocks; if that takes long, show a bar of the bytes read so far, of `total` (0: no bar)."""
    from capfst.system.progress import progress

    begin, shown, advance = time.monotonic(), 0, None
    with ExitStack() as stack:
        for block in blocks:
            yield block
            if total and advance is None and time.monotonic() - begin > _BAR_AFTER:
                advance = stack.enter_context(progress(total, "recasing"))
            if advance is not None:
                advance((now := n_read()) - shown)
                shown = now


def _confidence(text: str, changes: list[Change]) -> bytes:
    """Return a line of JSON for a line of text; infinite log-odds, which JSON cannot express, are null."""
    words = [
        change._asdict() | {"log_odds": round(change.log_odds, 6) if change.log_odds < math.inf else None}
        for change in changes
    ]
    return json.dumps({"text": text, "words": words}, ensure_ascii=False).encode() + b"\n"
