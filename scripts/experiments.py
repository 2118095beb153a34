"""What the experiments share: their data, packages and models, overlap with training text, bootstrap intervals, tables.

DATA is the folder of the corpora, `../shared/data` beside the repository; `--data` of each experiment names another.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

import capfst
from capfst import models
from capfst.evaluate.bootstrap import CONFIDENCE
from capfst.exceptions import CapfstError
from capfst.io.blocks import read_blocks
from capfst.recaser import Recaser

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RUN = 8
"""Words in a row that no test text should have in common with a training text."""
RESAMPLES, SEED = 1000, 12345

data_option = click.option(
    "--data",
    default=DATA,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the corpora.  [default: ../shared/data beside the repository]",
)
quick_option = click.option("--quick", is_flag=True, help="Small parts of the data, to see that all works.")

_NO_WORD = re.compile(r"[\W_]+")
_FACTORS = np.random.default_rng(SEED).integers(0, 2**64, RUN, np.uint64) | np.uint64(1)


def help_text(docstring: str) -> str:
    """What `--help` shows of a script's docstring, whose commands and lists keep their lines."""
    return re.sub(r"\n\n(?=    |\* )", "\n\n\b\n", docstring)


def require(*packages: str) -> None:
    """Ends the program, if a package is not installed, before it has worked for long."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise click.ClickException(f"not installed: {', '.join(missing)}; pip install '.[experiments]'")


def kept_model(path: Path, train: Callable[[Path], object]) -> Path:
    """The model in a file; trains it if there is none, or one of another version."""
    try:
        capfst.load(path)
    except CapfstError:
        path.parent.mkdir(parents=True, exist_ok=True)
        train(path)
    return path


def read_lines(*files: Path) -> list[str]:
    """The lines of files (plain or compressed), without their ends."""
    return [line for block in read_blocks(files) for line in block.decode().split("\n")[:-1]]


def ready_sources(data: Path) -> list[Path]:
    """The texts that the ready model was trained on, as its card names them."""
    card = json.loads((models.FOLDER / f"{models.DEFAULT}.json").read_text("utf-8"))
    return [data / "train" / models.DEFAULT / source["file"] for source in card["sources"]]


def ready_text(data: Path) -> Iterator[bytes]:
    """These texts, in blocks."""
    return read_blocks(ready_sources(data))


def fastest(recasers: Sequence[Recaser], texts: Sequence[str], turns: int) -> list[float]:
    """Seconds of processor time that each recaser takes for its text: the least of several turns."""
    least = [float("inf")] * len(recasers)
    for _ in range(turns):
        for k, (recaser, text) in enumerate(zip(recasers, texts, strict=True)):
            begin = time.process_time()
            recaser(text)
            least[k] = min(least[k], time.process_time() - begin)
    return least


@dataclass(frozen=True)
class Overlap:
    """What lines have in common with other text. lines: bool[n], which of them have a run of words in common with it;
    runs, common_runs: the runs of `RUN` words of the lines, and those of them that the other text has, too."""

    lines: npt.NDArray[np.bool_]
    runs: int
    common_runs: int

    def __str__(self) -> str:
        return (
            f"{self.common_runs:,} of {self.runs:,} runs of {RUN} words, in {int(self.lines.sum()):,} of "
            f"{len(self.lines):,} lines"
        )


def overlap(lines: Sequence[str], others: Iterable[bytes | str]) -> Overlap:
    """What lines have in common with other text, which comes in blocks of whole lines, as of `read_blocks`.

    Words are what stands between characters that are neither letters nor digits; case doesn't matter. Runs of the other
    text may go over the ends of its lines.
    """
    runs = [_runs(line) for line in lines]
    line_of = np.repeat(np.arange(len(lines)), [len(of_line) for of_line in runs])
    known, which = np.unique(np.concatenate([np.zeros(0, np.uint64), *runs]), return_inverse=True)
    common = np.zeros(len(known), np.bool_)
    for block in others if len(known) else ():
        found = _runs(block.decode() if isinstance(block, bytes) else block)
        places = np.minimum(np.searchsorted(known, found), len(known) - 1)
        common[places[known[places] == found]] = True
    flags = np.zeros(len(lines), np.bool_)
    flags[line_of[common[which]]] = True
    return Overlap(flags, len(line_of), int(common[which].sum()))


def _runs(text: str) -> npt.NDArray[np.uint64]:
    """A hash of each run of words."""
    words = _NO_WORD.sub(" ", text.lower()).split()
    hashes = np.fromiter(map(hash, words), np.int64, len(words)).astype(np.uint64)
    if len(words) < RUN:
        return np.zeros(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(hashes, RUN)
    return (windows * _FACTORS).sum(axis=1, dtype=np.uint64)


def bootstrap(
    counts: npt.NDArray[np.float64],
    measure: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Measures of counts that add up, and the ends of their 95 % intervals: (measures, lower ends, upper ends).

    The units, which are drawn with replacement, are lines, documents or calls; several systems in one array are
    compared on the same draws.

    Args:
        counts: float64[units, …], what is counted in each unit.
        measure: gives the measures, float64[…], of the sums of the counts over all units, float64[…].
    """
    sums = counts.reshape(len(counts), -1)
    random = np.random.default_rng(seed)
    drawn = (np.bincount(random.integers(0, len(sums), len(sums)), minlength=len(sums)) for _ in range(resamples))
    measured = np.stack([measure((times @ sums).reshape(counts.shape[1:])) for times in drawn])
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(measured, [tail, 100 - tail], axis=0)
    return measure(counts.sum(axis=0)), low, high


def with_interval(value: float, low: float, high: float, form: str = ".1f") -> str:
    """A cell of a table: "48.2 (47.1–49.0)"."""
    return f"{value:{form}} ({low:{form}}–{high:{form}})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Markdown: the first `texts` columns are aligned to the left, the others (numbers) to the right."""
    rule = ["---"] * texts + ["--:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
