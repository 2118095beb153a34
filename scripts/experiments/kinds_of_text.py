"""Measure how each kind of text is cased (Lita et al. 2003, Figure 2), and how well it is recased (their Figure 3).

    \b
    python scripts/experiments/kinds_of_text.py --plot docs/images/kinds.svg --document docs/research/experiments.md

A model of the bundled model's sources (at most 200,000 lines of each, without the parts that are tested here) recases
the lowercase of each kind of text at each level. Tables give accuracy, F1 and CER with 95 % intervals over lines, which
are treated as sentences, and the percentages of tokens in each casing. Tokens are those of the model's tokenizer. The
model is kept in build/kinds, and trained if it is not there.

\b
* news: the end of Wikinews. headlines: its sentences of 4 to 14 words,
  without the period, as they are (sentence case), and with capitals for all
  words except articles, conjunctions and short prepositions (title case).
  They replace real headlines, which the corpora lack.
* encyclopedia, web: the test parts of WikiText-2 and UD English EWT.
* speech: the references of Earnings-21, with their punctuation, and without.
* novels: five blocks of ELTeC, which the model is not trained on.
* chat: the end of the Taskmaster dialogs.

Lines that have a run of eight words in common with the training text are counted, and left out of the scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from helpers import earnings21
from helpers.bootstrap import bootstrap
from helpers.corpora import bundled_sources, data_option, document_option, quick_option, read_lines
from helpers.markdown import fill, table, with_interval
from helpers.models import LEVELS, Recase, kept_model, levels
from helpers.overlap import overlap
from helpers.packages import require

import capfst
from capfst.cli.exit_status import exit_status
from capfst.evaluate.compare import SHAPE_NAMES, TOKENS, compare
from capfst.evaluate.score import MEASURES, measures
from capfst.io.blocks import read_blocks
from capfst.text.unicode import lower

BUILD = Path(__file__).resolve().parents[2] / "build" / "kinds"
HELD_OUT = {"wikinews.txt.zst": 2000, "taskmaster_dialogs.txt.zst": 3000}
"""Number of lines at the end of sources of the bundled model that are held out."""
MOST = 200_000
"""Number of lines taken from each source; only one has more."""
QUICK = 300
"""Number of lines per kind, and of each source, with --quick."""
SAMPLE = 10_000
"""Number of tokens per kind in which ambiguous words are counted; a longer text has a larger fraction of them."""
SHOWN = ("accuracy", "f1", "capitalization_error_rate")

SMALL_WORD = re.compile("an?|the|and|but|n?or|for|so|yet|as|at|by|in|off?|on|per|to|up|via|from|into|with|over")
CHARACTER = re.compile(r"\w")


class Result(NamedTuple):
    percentages: list[float]  # of tokens in each shape (SHAPE_NAMES), and of ambiguous tokens
    values: npt.NDArray[np.float64]  # [levels, measures]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


# The texts


def title_case(line: str) -> str:
    """Write a sentence as a headline in title case."""
    words = line.split(" ")
    last = len(words) - 1
    return " ".join(
        word
        if (SMALL_WORD.fullmatch(word) and 0 < k < last) or word != lower(word)
        else CHARACTER.sub(_upper, word, count=1)
        for k, word in enumerate(words)
    )


def _upper(found: re.Match[str]) -> str:
    return found[0].upper()


def headlines(sentences: list[str]) -> list[str]:
    return [line[:-1] for line in sentences if line.endswith(".") and 4 <= line.count(" ") + 1 <= 14]


def speech(data: Path) -> Iterator[tuple[str, str]]:
    """Yield the sentences of the calls, with and without punctuation."""
    for call in earnings21.read(data / "speech" / "earnings21.tar.zst").values():
        words = call.texts[earnings21.REFERENCE]
        begin = 0
        for end in earnings21.sentence_ends(words):
            sentence = words[begin:end]
            yield " ".join(word.text + word.mark for word in sentence), " ".join(word.text for word in sentence)
            begin = end


def blocks(lines: list[str], n: int, length: int) -> list[str]:
    """Return n blocks of lines, evenly spaced."""
    begins = [k * len(lines) // n for k in range(n)]
    return [line for begin in begins for line in lines[begin : begin + length]]


def texts(data: Path) -> dict[str, list[str]]:
    """Read the lines of each kind."""
    train = data / "train" / "en"
    news, chat = (read_lines(train / name)[-n:] for name, n in HELD_OUT.items())
    marked, bare = map(list, zip(*speech(data), strict=True))
    return {
        "news": news,
        "headlines, sentence case": headlines(news),
        "headlines, title case": [title_case(line) for line in headlines(news)],
        "encyclopedia": read_lines(data / "test" / "en" / "wikipedia_wikitext2_test.txt.zst"),
        "web": read_lines(data / "test" / "en" / "web_ewt_test.txt.zst"),
        "speech": marked,
        "speech, words alone": bare,
        "novels": blocks(read_lines(train / "eltec_novels.txt.zst"), 5, 1000),
        "chat": chat,
    }


def training_text(data: Path, quick: bool) -> list[Path]:
    """Write the first lines of the bundled model's sources, without the held-out lines; return the files."""
    files = []
    BUILD.mkdir(parents=True, exist_ok=True)
    for source in bundled_sources(data):
        held_out, most = HELD_OUT.get(source.name, 0), QUICK if quick else MOST
        lines = read_lines(source, most=None if held_out else most)
        lines = lines[: len(lines) - held_out][:most]
        files.append(BUILD / source.stem)
        files[-1].write_text("\n".join(lines) + "\n", "utf-8")
    return files


# Scores


def ambiguous(lines: list[str]) -> float:
    """Return the percentage of words that occur in several casings, among the first SAMPLE; first words are ignored."""
    tokens = [token for line in lines for token in line.split()[1:] if token[0].isalpha()][:SAMPLE]
    forms: dict[str, set[str]] = {}
    for token in tokens:
        forms.setdefault(lower(token), set()).add(token)
    return 100 * sum(len(forms[lower(token)]) > 1 for token in tokens) / max(1, len(tokens))


def measured(lines: list[str], recasers: dict[str, Recase]) -> Result:
    lowered = [lower(line) for line in lines]
    counts = [np.concatenate(list(compare(lines, recase(lowered)))) for recase in recasers.values()]
    columns = [list(MEASURES).index(name) for name in SHOWN]
    values = bootstrap(np.stack(counts, axis=1).astype(np.float64), lambda sums: measures(sums)[..., columns])
    tokens = counts[0][:, TOKENS : TOKENS + len(SHAPE_NAMES)].sum(axis=0)
    return Result([*(100 * tokens / tokens.sum()).tolist(), ambiguous(lines)], *values)


# Tables and plot


def draw(file: Path, results: dict[str, Result]) -> None:
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.rcParams.update({"svg.hashsalt": "capfst", "svg.fonttype": "none", "font.size": 9})
    figure, (shapes, scores) = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    kinds = list(results)[::-1]
    left = np.zeros(len(kinds))
    for k, name in enumerate(SHAPE_NAMES):
        widths = np.array([results[kind].percentages[k] for kind in kinds])
        shapes.barh(kinds, widths, left=left, label="no letters" if name == "none" else name)
        left += widths
    shapes.set(xlabel="% of the tokens", xlim=(0, 100))
    for k, level in enumerate(LEVELS):
        values = [[getattr(results[kind], name)[k, 1] for kind in kinds] for name in ("values", "low", "high")]
        value, low, high = np.array(values)
        scores.errorbar(value, kinds, xerr=[value - low, high - value], fmt="o", markersize=4, label=level)
    scores.set(xlabel="F1")
    scores.grid(alpha=0.3)
    shapes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
    scores.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
    figure.savefig(file, metadata={"Date": None})


def scores_table(results: dict[str, Result]) -> str:
    rows = [
        [
            kind if column == 0 else "",
            MEASURES[name],
            *(with_interval(*(values[level, column] for values in result[1:])) for level in range(len(LEVELS))),
        ]
        for kind, result in results.items()
        for column, name in enumerate(SHOWN)
    ]
    return table(["", "", *LEVELS], rows, texts=2)


def casing_table(results: dict[str, Result]) -> str:
    head = ["% of the tokens", *SHAPE_NAMES[:-1], "no letters", "ambiguous"]
    return table(head, [[kind, *(f"{part:.1f}" for part in result.percentages)] for kind, result in results.items()])


@click.command(help=__doc__)
@data_option
@quick_option
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Image file for a plot (needs matplotlib)."
)
@document_option
def main(data: Path, quick: bool, plot: Path | None, document: Path | None) -> None:
    if plot:
        require("matplotlib")
    sources = training_text(data, quick)
    model = kept_model(BUILD / ("quick.fst" if quick else "cap.fst"), partial(capfst.train, sources))
    recasers = levels(model)
    tokens = capfst.load(model).pipeline.loaded.spaced
    kinds = {
        kind: [line for line in lines if line.strip()][: QUICK if quick else None]
        for kind, lines in texts(data).items()
    }
    common = iter(overlap([line for lines in kinds.values() for line in lines], read_blocks(sources)).lines.tolist())
    results = {}
    for kind, lines in kinds.items():
        kept = [line for line, left_out in zip(lines, common, strict=False) if not left_out]
        print(f"* {kind}: {len(lines) - len(kept):,} of {len(lines):,} lines have such a run in common", flush=True)
        results[kind] = measured(str(tokens("\n".join(kept).encode()), "utf-8").split("\n"), recasers)
    tables = {"kinds": scores_table(results), "casing of kinds": casing_table(results)}
    for name, printed in tables.items():
        print(f"\n{printed}")
        if document:
            fill(document, name, printed)
    if plot:
        draw(plot, results)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
