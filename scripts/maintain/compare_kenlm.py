"""Compare the probabilities and backoffs of capfst's LM with KenLM's, n-gram by n-gram.

    \b
    python scripts/maintain/compare_kenlm.py --kenlm FOLDER [--order N] [--cutoff 0,0,1] TOKENS…

FOLDER contains KenLM's `lmplz`; TOKENS are files of tokens separated by spaces. Prints the largest differences (log10)
of each order; the exit status is 1 if one exceeds 1e-5.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError
from capfst.lm.arpa_lines import LN10
from capfst.lm.arpa_read import read_arpa
from capfst.lm.estimate import EstimationOptions, estimate

TOLERANCE = 1e-5


def sentences(files: tuple[Path, ...]) -> Iterator[list[bytes]]:
    for path in files:
        with path.open("rb") as file:
            for line in file:
                yield line.translate(bytes.maketrans(b"\t\r\0", b"   ")).rstrip(b"\n").split(b" ")


def largest(one: npt.NDArray, other: npt.NDArray) -> float:
    """Return the largest difference, 0 between equal infinities or empty arrays."""
    return float(np.max(np.abs(np.where(one == other, 0.0, one - other)), initial=0.0)) / LN10


@click.command(help=__doc__)
@click.option(
    "--kenlm",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with KenLM's program `lmplz`.",
)
@click.option("--order", default=3, show_default=True, help="Length of the longest n-grams.")
@click.option("--cutoff", default="0", show_default=True, help="Cutoffs by order, as of lmplz's --prune, with commas.")
@click.argument("tokens", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(kenlm: Path, order: int, cutoff: str, tokens: tuple[Path, ...]) -> None:
    cutoffs = tuple(map(int, cutoff.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        arpa = f"{folder}/kenlm.arpa"
        options = f"-o {order} -S 1G -T {folder}/ --arpa {arpa} --discount_fallback --prune".split()
        command = [str(kenlm / "lmplz"), *options, *map(str, cutoffs)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as lmplz:
            assert lmplz.stdin is not None
            for sentence in sentences(tokens):
                lmplz.stdin.write(b" ".join(sentence) + b"\n")
            lmplz.stdin.close()
        if lmplz.returncode:
            raise CapfstError(f"{command[0]}: failed with status {lmplz.returncode}")
        theirs = read_arpa(arpa)
    label = {word.encode(): i for i, word in enumerate(theirs.words, 1)}
    labels = np.fromiter(
        (number for line in sentences(tokens) for number in (*(label[word] for word in line if word), 0)), np.uint32
    )
    worst = 0.0
    ours = estimate(labels, len(label), order, EstimationOptions(cutoffs=cutoffs))
    if any(map(len, ours[len(theirs.levels) :])):
        raise CapfstError(f"KenLM's model ends at order {len(theirs.levels)}, capfst's does not.")
    for n, (our, their) in enumerate(zip(ours, theirs.levels, strict=False), 1):
        if any(not np.array_equal(getattr(our, part), getattr(their, part)) for part in ("word", "prefix", "suffix")):
            raise CapfstError(f"order {n}: the n-grams differ: {len(our)} of capfst, {len(their)} of KenLM")
        differences = largest(our.cost, their.cost), largest(our.backoff, their.backoff)
        worst = max(worst, *differences)
        click.echo(f"order {n}: {len(our)} n-grams, probability {differences[0]:.1e}, backoff {differences[1]:.1e}")
    sys.exit(worst > TOLERANCE)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
