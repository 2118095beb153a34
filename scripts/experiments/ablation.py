"""Measure the parts of the model: the paper's pipeline, then OOV words, context weights and unseen casings added in
turn. Prints a table of accuracy, F1, CER and tokens per second on one core, with training time and size.

    \b
    python scripts/experiments/ablation.py 'wiki/*.zst' 'train/*.zst' --text valid.txt --text test.txt

Each corpus (a folder or a quoted glob) or trained model (`.fst`) adds a row per part. Texts are lowercased and recased
as sentences (--sentence-case). Every twentieth line of --speech is held out from training; the words of these lines,
without punctuation, are a further text. The column `intrinsic` is the first text, recased without --sentence-case, with
each first word in the case that the training text nearly always gives it; lines whose first word has no such case are
left out.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from helpers.corpora import document_option, heads, quick_option
from helpers.markdown import fill, table

import capfst
from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.types import CasingCosts, Words
from capfst.cli.exit_status import exit_status
from capfst.context.lexicon import UNSEEN, evidence_parts, has_case
from capfst.evaluate.score import score_files
from capfst.io.alignments import Block
from capfst.io.blocks import read_blocks
from capfst.io.files import find_files
from capfst.recaser import Recaser, load

HELD_OUT = 20
SPEED = 4_000_000
"""Number of characters that are recased to measure speed."""
QUICK = 1_000
"""Number of lines taken from each file and text with --quick."""
PARTS = ("the paper's pipeline", "+ OOV words guessed", "+ context weights", "+ unseen casings")


def part(model: Path, number: int, **options: object) -> Recaser:
    """Load a model with only the first `number` parts, 1 … 4."""
    recaser = load(model, context=number > 1, **options)
    whole = recaser.pipeline.costs

    def of_part(
        buf: np.ndarray,
        words: Words,
        block: Block | None = None,
        include_pruned: bool = False,
        style: object = None,
        restricts: bool = False,
    ) -> CasingCosts:
        costs = whole(buf, words, block, include_pruned=True)
        assert costs.arc_costs is not None and costs.shapes is not None and costs.options is not None
        shapes = np.where(words.n_forms == 0, costs.shapes, AS_FORM).astype(np.uint8)
        if number == 2:
            return CasingCosts(None, shapes)
        arc_costs = costs.arc_costs.copy()
        most_frequent = (np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms)[words.n_forms > 0]
        arc_costs[most_frequent] = costs.options[words.n_forms > 0, N_SHAPES]
        return CasingCosts(arc_costs, shapes)

    if number in (2, 3):
        recaser.pipeline.costs = of_part  # type: ignore[method-assign]
    return recaser


def held_out(file: Path, folder: Path) -> tuple[Path, str]:
    """Write the file without every twentieth line; return its path, and the words of those lines."""
    lines = b"".join(read_blocks([file])).decode().splitlines()
    rest = folder / f"rest-of-{file.name}.txt"
    rest.write_text("\n".join(line for k, line in enumerate(lines) if k % HELD_OUT) + "\n", "utf-8")
    words = [re.findall(r"[^\W_]+(?:['’.&-][^\W_]+)*", line) for line in lines[::HELD_OUT]]
    return rest, "\n".join(" ".join(line) for line in words if line) + "\n"


def intrinsic(recaser: Recaser, text: str) -> str:
    """Return the lines whose first word has a usual case, with the first word in that case."""
    assert recaser.pipeline.context
    evidence_of, lines = recaser.pipeline.context.words["shape_evidence"], []
    for line in text.split("\n"):
        first = re.match(r"\W*(\w+)", line)
        forms = recaser.model.symbols.forms(first[1].lower(), recaser.model.starts) if first else range(0)
        evidence = int(evidence_of[forms[0]]) if forms else UNSEEN
        if first and evidence != UNSEEN and has_case(evidence):
            shape, impurity, frequency = evidence_parts(evidence)
            if impurity <= 1 and frequency >= 4:  # at least 98 % in this shape, and seen more than 20 times
                word = first[1].lower() if shape == Shape.LOWER else first[1]
                lines.append(line[: first.start(1)] + word + line[first.end(1) :])
    return "\n".join(lines) + "\n"


def speed(recaser: Recaser, text: str, size: int) -> float:
    """Return tokens per second in one thread, the best of three runs of the text, repeated up to a size."""
    data = (text.lower() * (1 + size // max(1, len(text)))).encode()
    best = min(_seconds(recaser, data) for _ in range(3))
    return len(data.split()) / best


def _seconds(recaser: Recaser, data: bytes) -> float:
    begin = time.perf_counter()
    for _ in recaser.pipeline.recase_blocks(_blocks(data)):
        pass
    return time.perf_counter() - begin


def _blocks(data: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin + (1 << 20)) + 1 or len(data)
        yield data[begin:end]
        begin = end


def scores(recaser: Recaser, text: str, folder: Path) -> str:
    reference, hypothesis = folder / "reference", folder / "hypothesis"
    reference.write_text(text, "utf-8")
    hypothesis.write_text(recaser(text.lower()), "utf-8")
    score = score_files(references=reference, hypotheses=hypothesis)
    return f"{score.accuracy:.2f} / {score.f1:.2f} / {score.capitalization_error_rate:.2f}"


@click.command(help=__doc__)
@click.argument("corpora", nargs=-1, required=True)
@click.option("--text", "texts", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--speech", type=click.Path(exists=True, path_type=Path), help="File of the last corpus.")
@click.option("--order", default=3, show_default=True)
@document_option
@quick_option
def main(
    corpora: tuple[str, ...],
    texts: tuple[Path, ...],
    speech: Path | None,
    order: int,
    document: Path | None,
    quick: bool,
) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if quick:
            texts = tuple(heads(texts, QUICK, folder))
        named = {path.name.split(".")[0]: b"".join(read_blocks([path])).decode() for path in texts}
        for corpus in corpora:
            files = find_files([corpus])
            if speech and any(file.samefile(speech) for file in files):
                rest, words = held_out(speech, folder)
                named["speech, no punctuation"] = words
                files = [rest if file.samefile(speech) else file for file in files]
            if quick and not corpus.endswith(".fst"):
                files = heads(files, QUICK, folder)
            if corpus.endswith(".fst"):
                model, about = files[0], files[0].stem
            else:
                model = folder / "cap.fst"
                begin = time.perf_counter()
                trained = capfst.train(files, model, order=order)
                print(f"trained in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
                about = f"{trained.tokens:,} tokens"
            about += f", {model.stat().st_size / 1e6:.0f} MB"
            print(about, file=sys.stderr)
            first = next(iter(named.values()))
            for number, name in enumerate(PARTS, 1):
                recaser = part(model, number, sentence_case=True)
                cells = [scores(recaser, text, folder) for text in named.values()]
                bare = part(model, number)
                cells.append(scores(bare, intrinsic(load(model), first), folder))
                rows.append(
                    [about if number == 1 else "", name, *cells, f"{speed(recaser, first, 0 if quick else SPEED):,.0f}"]
                )
        head = ["trained on", "model", *named, "intrinsic", "tokens/s"]
        rows = [row[:-2] + [""] * (len(head) - len(row)) + row[-2:] for row in rows]
    print(table(head, rows, texts=2))
    if document:  # without the speed, which depends on the machine
        fill(document, "ablation", table(head[:-1], [row[:-1] for row in rows], texts=2))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
