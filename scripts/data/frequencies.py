"""Rewrite published lists of cased words as evidence for `capfst train --words`: per line, an entry, a tab, and how
often it occurs.

    \b
    python scripts/data/frequencies.py classes de_wordlist.combined.gz -o de.txt    # a dictionary of Android's keyboard
    python scripts/data/frequencies.py logs unigrams.tsv.zst -o en.txt              # a word, a tab, −100 ln p
    python scripts/data/frequencies.py counts wikipedia.tsv -o pt.txt               # a word, a tab, a count
    python scripts/data/frequencies.py names cities.txt -o places.txt               # names, one per line

The numbers are made comparable: 1 for the rarest words of a list, more than 100 for frequent ones. Training needs only
their order of magnitude. A list of Android may also have a word, a tab and its class per line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import click

from capfst.cli.exit_status import exit_status
from capfst.exceptions import CorpusError
from capfst.io.blocks import read_blocks
from capfst.system.atomic import replacing

FILE = click.Path(path_type=Path)
SCALES: dict[str, Callable[[float], float]] = {
    "classes": lambda value: 2 ** ((value - 20) / 16),  # 20 … 254, logarithmic
    "logs": lambda value: 5e7 * math.exp(-value / 100),
    "counts": lambda value: value / 5,  # the lists begin with 5
    "names": lambda _: 1,
}
_COMBINED = re.compile(r" word=([^,]+),f=(\d+)")


@click.command(help=__doc__)
@click.argument("kind", type=click.Choice([*SCALES]))
@click.argument("file", type=FILE)
@click.option("-o", "--output", required=True, type=FILE, help="File to write to.")
def main(kind: str, file: Path, output: Path) -> None:
    entries = []
    for number, line in enumerate(b"".join(read_blocks([file])).decode().splitlines(), 1):
        if kind == "names":
            entry, value = line, "0"
        elif combined := _COMBINED.match(line):
            entry, value = combined.groups()
        elif "=" in line and "\t" not in line:  # another line of Android's dictionaries
            continue
        else:
            entry, _, value = line.rpartition("\t")
        try:
            occurrences = max(1, round(SCALES[kind](float(value))))
        except ValueError as error:
            raise CorpusError(f"{file}, line {number}: no number after the last tab ({error}).") from error
        if entry := " ".join(entry.split()):
            entries.append(f"{entry}\t{occurrences}\n")
    with replacing(output) as out:
        out.write("".join(entries).encode())


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
