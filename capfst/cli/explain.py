"""`capfst explain`: why a line is cased as it is."""

import json
import os
from pathlib import Path
from typing import Any

import click

from capfst.cli import options as cli
from capfst.cli.streams import note, read_text, show
from capfst.exceptions import CorpusError
from capfst.models import Named
from capfst.options import MAX_CASINGS, RecaseOptions

_LARGEST = 1 << 24  # bytes of text


@cli.command(short_help="Show why a line is cased as it is.")
@click.argument("text", required=False)
@cli.lm_option
@cli.option(
    "-o",
    "--output",
    type=cli.FILE,
    help="Picture (.svg) or page (.html) to write instead; they need Graphviz.",
    excludes=("as_json",),
)
@cli.json_option
@cli.option("--nbest", type=click.IntRange(1, MAX_CASINGS), default=3, help="Number of casings of the line to list.")
@cli.option("--line", type=click.IntRange(1), default=1, help="Line of the text to explain, with --document.")
@cli.options_of(RecaseOptions, calls=("explain", "single_line"))
@cli.translation_options("Cased source of TEXT, which is a translation", "Word alignment of TEXT")
def explain(
    text: str | None,
    lm: Named,
    output: Path | None,
    as_json: bool,
    nbest: int,
    line: int,
    source: str | None,
    align: str | None,
    **options: Any,
) -> None:
    """Show why TEXT, or the line on stdin, is cased as it is.

    For each word: the casings that competed, how much more the line would cost in each (−ln P), and the parts of these
    costs: the n-gram model, the context, the word list …. The parts add up to the costs of `capfst recase --nbest`.

    \b
    capfst explain "the who played in the us"
    capfst explain "the who played in the us" -o who.svg
    capfst explain --document --line 7 --json < article.txt
    """
    if output and output.suffix not in (".svg", ".html"):
        raise click.UsageError(f"{output}: name a picture (.svg) or a page (.html).")
    given = _stdin() if text is None else _utf8(text, "TEXT")
    if output:
        from capfst.system.atomic import check_output

        check_output(output, lm, *map(Path, options["words"]), streams=True)
    from capfst.recaser import load

    recaser = load(lm, **options)
    there = None if source is None else _utf8(source, "--source")
    explanation = recaser.explain(given, nbest, line, there, align)
    if not explanation.words:
        raise CorpusError("the line is blank: there is nothing to explain. Give a line with words.")
    if output:
        from capfst.system.atomic import writing

        made = explanation.svg() if output.suffix == ".svg" else explanation.html()
        with writing(output) as file:
            file.write(made.encode())
    else:
        show(json.dumps(explanation.to_dict(), ensure_ascii=False) if as_json else explanation.table())


def _utf8(text: str, name: str) -> str:
    """Return an argument; CorpusError if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(f"{name} is not UTF-8. Convert it.") from error
    return text


def _stdin() -> str:
    """Return the text on stdin, without the last line break."""
    if os.isatty(0):
        note("reading from the keyboard. Type a line, and end with Ctrl-D.")
    text = bytearray()
    for block in read_text((), "strict"):
        text += block
        if len(text) > _LARGEST:
            raise CorpusError("<stdin>: too much text to explain. Give a line, or a document.")
    return text.decode().removesuffix("\n")
