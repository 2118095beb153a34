"""Compare paragraphs with sentences as training text: the same sentences with one per line, and with four per line,
which `capfst train` splits.

    \b
    python scripts/experiments/paragraphs.py wikisplit.txt.zst news.txt.zst --text wikitext2_valid.txt

FILES are cased text, one sentence per line; at most 50,000 lines of each are used. Prints a table of F1 on each text as
it is, and with three lines joined into one (`--sentence-case`).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click
from helpers.corpora import quick_option, read_lines
from helpers.markdown import table
from sentence_boundaries import joined

import capfst
from capfst.cli.exit_status import exit_status
from capfst.text.unicode import lower

LINES, QUICK = 50_000, 1_000
"""Numbers of lines taken from each file, and of each file and text with --quick."""
TOGETHER = 4

FILE = click.Path(exists=True, path_type=Path)


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--text", "texts", multiple=True, required=True, type=FILE, help="Text to measure on (repeatable).")
@quick_option
def main(files: tuple[Path, ...], texts: tuple[Path, ...], quick: bool) -> None:
    sentences = [line for file in files for line in read_lines(file, most=QUICK if quick else LINES)]
    references = []
    for text in texts:
        lines = read_lines(text, most=QUICK if quick else None)
        references += [lines, [" ".join(group) for group in joined(lines, False)]]
    rows = []
    with TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus.txt", Path(folder) / "cap.fst"
        paragraphs = [" ".join(sentences[k : k + TOGETHER]) for k in range(0, len(sentences), TOGETHER)]
        for name, lines in ("one sentence per line", sentences), ("four per line", paragraphs):
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
    with exit_status():
        main(standalone_mode=False)
