"""What paragraphs are worth as training text: models of the same sentences, each on a line of its own, and four in a
line, which `capfst train` splits.

    python scripts/paragraphs.py wikisplit.txt.zst news.txt.zst --text wikitext2_valid.txt --text ewt_dev.txt

In: files of cased text, a sentence a line, up to LINES lines of each; texts to measure on. Out: a Markdown table of the
F1 of these texts as they are, and with three lines in one (`--sentence-case`).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click
from command import run
from experiments import read_lines, table
from sentence_breaks import joined

import capfst
from capfst.text.unicode import lower

LINES = 50_000
TOGETHER = 4

FILE = click.Path(exists=True, path_type=Path)


@click.command(help=__doc__.replace("\n\n    ", "\n\n\b\n    "))
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--text", "texts", multiple=True, required=True, type=FILE, help="What to measure on (repeatable).")
def main(files: tuple[Path, ...], texts: tuple[Path, ...]) -> None:
    sentences = [line for file in files for line in read_lines(file)[:LINES]]
    references = []
    for text in texts:
        lines = read_lines(text)
        references += [lines, [" ".join(group) for group in joined(lines, False)]]
    rows = []
    with TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus.txt", Path(folder) / "cap.fst"
        paragraphs = [" ".join(sentences[k : k + TOGETHER]) for k in range(0, len(sentences), TOGETHER)]
        for name, lines in ("a sentence a line", sentences), ("four in a line", paragraphs):
            corpus.write_text("".join(line + "\n" for line in lines), "utf-8")
            trained = capfst.train(corpus, model)
            recaser = capfst.load(model, sentence_case=True)
            f1 = [
                capfst.score(references=lines, hypotheses=recaser([lower(line) for line in lines])).f1
                for lines in references
            ]
            rows.append([name, f"{trained.sentences:,}", *(f"{value:.2f}" for value in f1)])
    head = [cell for text in texts for cell in (text.name.partition(".")[0], "three in one")]
    click.echo(table(["training text", "sentences", *head], rows))


if __name__ == "__main__":
    run(main)
