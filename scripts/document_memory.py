"""What document memory is worth: texts recased line by line, and as documents.

    python scripts/document_memory.py wikitext2_valid.txt ewt_dev.txt gum_train.conll.zst [--lm cap.fst] [--quick]

A text has a sentence a line; blank lines part its documents. Of a `.conll` file the first column is taken: a line
`# name` begins a document, a blank line ends a sentence. Both F1 are those of `--sentence-case`.
"""

from __future__ import annotations

from pathlib import Path

import click

import capfst
from capfst.io.blocks import read_blocks
from capfst.io.documents import documents
from capfst.text.unicode import lower

QUICK = 500  # lines


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


@click.command(help=__doc__.replace("\n\n    ", "\n\n\b\n    "))
@click.argument("texts", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--lm", default="en", show_default=True, help="Model.")
@click.option("--quick", is_flag=True, help=f"Take the first {QUICK} lines of each text only.")
def main(texts: tuple[Path, ...], lm: str, quick: bool) -> None:
    recasers = [capfst.load(lm, sentence_case=True, document=document) for document in (False, True)]
    print("| text | documents | F1 | F1, `--document` |\n|---|--:|--:|--:|")
    for text in texts:
        lines = lines_of(text)[: QUICK if quick else None]
        lowered = [lower(line) for line in lines]
        f1 = [capfst.score(references=lines, hypotheses=recaser(lowered)).f1 for recaser in recasers]
        print(
            f"| {text.name.partition('.')[0]} | {len(list(documents(lines)))} | {f1[0]:.2f} | {f1[1]:.2f} |", flush=True
        )


if __name__ == "__main__":
    main()
