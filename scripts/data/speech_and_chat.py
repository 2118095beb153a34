"""Rewrite edited text as people chat, or as recognizers write speech, as training text for such input.

    \b
    python scripts/data/speech_and_chat.py chat common_voice.txt.zst -o chat.txt.zst
    python scripts/data/speech_and_chat.py speech wikinews.txt.zst usgov_web.txt.zst -o speech.txt.zst

The lines are sentences in their proper case. `chat` shortens words ("Are you there?" → "R u there?") and inserts
interjections and fillers ("That omg is it."), by the table chat.tsv. `speech` spells abbreviations, except Roman
numerals, and removes marks that are not spoken ("An FBI agent, he said." → "An F B I agent he said."). Unchanged lines
are left out. The output is deterministic.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from capfst.cli.exit_status import exit_status
from capfst.io.blocks import read_blocks
from capfst.io.compression import compressing, compression_of_name
from capfst.system.atomic import replacing

FILE = click.Path(path_type=Path)
_PUT_IN = 4
"""One line in this many gets an interjection."""


def _table() -> tuple[dict[str, str], list[str]]:
    lines = (Path(__file__).parent / "chat.tsv").read_text("utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    return {edited.lower(): short for edited, short in pairs if edited}, [put for edited, put in pairs if not edited]


SHORT, INTERJECTIONS = _table()
EDITED = re.compile(rf"\b({'|'.join(sorted(map(re.escape, SHORT), key=len, reverse=True))})\b(?!['’])", re.IGNORECASE)
WORD = re.compile(r"\w")
BEGIN = re.compile(r"(?:(I\b)|([TWHSY])(?=(?:h(?:at|is|e|ere|ey)|e|hat|ou|he)\b)|(I)(?=t\b))")
"""Matches lines that begin with a closed-class word, which is lowercased after an interjection, except I (group 1)."""
ABBREVIATION = re.compile(r"\b([A-Z]{2,5}|(?:[A-Z]\.){2,})(s|['’]s)?(?![\w.])")
ROMAN = re.compile("M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
UNSAID = re.compile(r'[,;:"“”()]')
PREFIX = re.compile(r"\b([a-z])-(?=[a-z])")


def chat(line: str) -> str:
    """Write a sentence as people chat."""

    def shortened(found: re.Match[str]) -> str:
        short = SHORT[found[0].lower()]
        return short if WORD.search(line, 0, found.start()) else short.capitalize()

    line = EDITED.sub(shortened, line)
    position, which = divmod(zlib.crc32(line.encode()), len(INTERJECTIONS))
    word = INTERJECTIONS[which]
    position %= 3 * _PUT_IN
    if position == 0 and line[-1:] in (".", "?", "!"):
        return f"{line[:-1]} {word}{line[-1]}"
    if position == 1 and (begin := BEGIN.match(line)):
        return f"{word.capitalize()} {line if begin[1] else line[0].lower() + line[1:]}"
    if position == 2:
        return re.sub(r"(?<=\w)(,?) ", rf"\1 {word}\1 ", line, count=1)
    return line


def speech(line: str) -> str:
    """Write a sentence as a recognizer does."""

    def spelled(found: re.Match[str]) -> str:
        letters = found[1].replace(".", "")
        return found[0] if ROMAN.fullmatch(letters) else " ".join(letters) + (found[2] or "")

    said = PREFIX.sub(r"\1 ", ABBREVIATION.sub(spelled, line))
    if said == line:
        return line
    said = UNSAID.sub("", said)
    return said if said.endswith((".", "?", "!")) else f"{said}."


def lines(files: tuple[Path, ...], write: Callable[[str], str], one_in: int) -> Iterator[bytes]:
    """Yield every `one_in`-th line that `write` changes, as changed."""
    n = 0
    for block in read_blocks(files):
        for line in block.decode().splitlines():
            written = write(line)
            if written != line:
                n += 1
                if n % one_in == 0:
                    yield written.encode() + b"\n"


@click.command(help=__doc__)
@click.argument("kind", type=click.Choice(["chat", "speech"]))
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", required=True, type=FILE, help="File to write (.gz and .zst are compressed).")
@click.option("--one-in", default=1, show_default=True, type=click.IntRange(1), help="Keep one line in N.")
def main(kind: str, files: tuple[Path, ...], output: Path, one_in: int) -> None:
    compression = compression_of_name(output)
    with replacing(output) as out, compressing(compression, out) as write:
        for line in lines(files, chat if kind == "chat" else speech, one_in):
            write(line)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
