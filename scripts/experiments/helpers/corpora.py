"""The corpora of the experiments: their folder, and the texts that the bundled model was trained on.

The default folder is `../shared/data`, next to the repository; `--data` of each experiment sets another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import click

from capfst import models
from capfst.cli.options import together
from capfst.io.blocks import read_blocks

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"

data_option = click.option(
    "--data",
    default=DATA,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the corpora.  [default: ../shared/data, next to the repository]",
)
quick_option = click.option("--quick", is_flag=True, help="Use small parts of the data, for a quick check.")
QUICK = 200
"""Number of lines taken from each of the texts with --quick."""
texts_options = together(
    click.argument("texts", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)),
    click.option("--lm", default="en", show_default=True, help="Model to measure."),
    quick_option,
)
"""What is measured, and by which model."""
document_option = click.option(
    "--document",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Write the tables into this document, between the marks with their names.",
)


def read_lines(*files: Path, most: int | None = None) -> list[str]:
    """Return the lines of files (plain or compressed), without their ends, at most this many."""
    lines = (line for block in read_blocks(files) for line in block.decode().split("\n")[:-1])
    return list(islice(lines, most))


def heads(files: Iterable[Path], n: int, folder: Path) -> list[Path]:
    """Write the first n lines of each file to a folder, as text; return the files written."""
    written = []
    for file in files:
        written.append(folder / f"{file.name.partition('.')[0]}.txt")
        written[-1].write_text("".join(f"{line}\n" for line in read_lines(file, most=n)), "utf-8")
    return written


def bundled_sources(data: Path) -> list[Path]:
    """Return the texts that the bundled model was trained on, as its model card lists them."""
    card = json.loads((models.FOLDER / f"{models.DEFAULT}.json").read_text("utf-8"))
    return [data / source["file"] for source in card["sources"] if "case" in source["use"]]
