"""Measure the gain of `--document`: F1 of texts recased line by line, and as documents.

    \b
    python scripts/experiments/document_memory.py wikitext2_valid.txt ewt_dev.txt gum_train.conll.zst

A text has one sentence per line; blank lines separate its documents. The words of a `.conll` file are its first column;
a line `# name` begins a document, and a blank line ends a sentence. Both F1 are with `--sentence-case`.
"""

from __future__ import annotations

from pathlib import Path

import click
from helpers.markdown import table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.io.blocks import read_blocks
from capfst.io.documents import documents
from capfst.text.unicode import lower

QUICK = 500
"""Number of lines taken from each text with --quick."""


def lines_of(path: Path) -> list[str]:
    lines = b"".join(read_blocks([path])).decode().splitlines()
    if ".conll" not in path.suffixes:
        return lines
    sentences: list[str] = []
    words: list[str] = []
    for line in [*lines, ""]:
        if line and not line.startswith("# "):
            words.append(line.split("\t")[0])
            continue
        sentences += [" ".join(words)] * bool(words) + [""] * bool(line)
        words = []
    return sentences


@click.command(help=__doc__)
@click.argument("texts", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--lm", default="en", show_default=True, help="Model to measure.")
@click.option("--quick", is_flag=True, help=f"Use only the first {QUICK} lines of each text.")
def main(texts: tuple[Path, ...], lm: str, quick: bool) -> None:
    recasers = [capfst.load(lm, sentence_case=True, document=document) for document in (False, True)]
    rows = []
    for text in texts:
        lines = lines_of(text)[: QUICK if quick else None]
        lowered = [lower(line) for line in lines]
        f1 = [capfst.score(references=lines, hypotheses=recaser(lowered)).f1 for recaser in recasers]
        rows.append([text.name.partition(".")[0], str(len(list(documents(lines)))), *(f"{each:.2f}" for each in f1)])
    print(table(["text", "documents", "F1", "F1, `--document`"], rows))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
