"""Make the tables of the documentation from the results of benchmarks.

    \b
    python scripts/bench/tables.py build/bench.json --document docs/research/figures.md
    python scripts/bench/tables.py build/leaderboard.json --document docs/research/leaderboard.md

RESULTS are JSON files of bench.py, load.py and leaderboard.py. Prints the tables as Markdown; with
--document, writes each table into the document, between `<!-- bench -->` and `<!-- /bench -->`, or likewise for the
other names.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import click

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # for helpers
from helpers.markdown import fill, table

from capfst.cli.exit_status import exit_status
from capfst.system.atomic import replacing

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FILE, NEW_FOLDER = click.Path(dir_okay=False, path_type=Path), click.Path(file_okay=False, path_type=Path)


def save(results: dict[str, Any], path: Path) -> None:
    """Write results as JSON."""
    with replacing(path) as file:
        file.write(json.dumps(results, indent=1, ensure_ascii=False).encode() + b"\n")


def bench_table(results: dict[str, Any]) -> str:
    """Format the results of bench.py: a row per contender, and a line on the machine."""
    head = [
        *("", "cores", "tokens/s", "× KenLM", "first line, s", "peak MB", "anonymous MB", "bytes per n-gram"),
        *("accuracy", "F1"),
    ]
    contenders = results["contenders"]
    yardsticks = {each["size"]: statistics.median(each["rates"]) for each in contenders if each["is_yardstick"]}
    rows = []
    for each in contenders:
        rate, yardstick = statistics.median(each["rates"]), yardsticks.get(each["size"])
        rows.append(
            [
                each["name"],
                str(each["cores"]),
                f"{rate:,.0f}",
                f"{rate / yardstick:.3g}" if yardstick else "",
                f"{statistics.median(each['starts']):.2f}",
                *(f"{size / 1e6:,.0f}" for size in each["memory"]),
                *(
                    "" if each[name] is None else f"{each[name]:{form}}"
                    for name, form in (("bytes_per_ngram", ".1f"), ("accuracy", ".2f"), ("f1", ".2f"))
                ),
            ]
        )
    return f"{table(head, rows)}\n\n{results['machine']}"


def load_table(results: dict[str, Any]) -> str:
    """Format the results of load.py: a row per number of connections, and lines on the rest."""
    head = ["connections", "requests/s", "of the library alone", "per second of the core", "of the library alone"]
    rows = []
    for row in results["requests"]:
        ours, library = row["capfst"], row["library"]
        rates = (f"{ours[rate]:,.0f} | {ours[rate] / library[rate]:.2f}" for rate in ("rate", "of_core"))
        rows.append([f"{row['connections']:,}", *rates, f"{ours['p50']:.2f}", f"{ours['p99']:.2f}"])
    stalled, memory = results["stalled"], results["memory"]
    lines = [
        f"8 connections next to 1,000 that stall: {stalled['rate']:,.0f} requests/s, p99 {stalled['p99']:.2f} ms.",
        f"A stream of JSON lines: {results['stream']:,.0f} tokens/s, {results['stream'] / results['command']:.2f} ×"
        " `capfst recase`.",
        f"From the start to the first answer: {results['start']:.2f} s.",
        f"Memory: {memory[0]:.0f} MB at first"
        + (f"; under load, {min(memory[1:]):.0f} to {max(memory[1:]):.0f} MB." if memory[1:] else "."),
    ]
    return "\n".join([table([*head, "p50, ms", "p99, ms"], rows), "", *(f"* {line}" for line in lines)])


def leaderboard_tables(results: dict[str, Any]) -> str:
    """Format the results of leaderboard.py: a table of all measures, one of the accuracy by kind of word, and a line on
    the machine. What was trained on the same text comes first, in the order of its mean F1."""
    texts = list(results["texts"])
    entries = sorted(results["entries"].values(), key=lambda each: (not each["same_text"], -mean_f1(each)))
    same = f"{sum(results['trained_on'].values()) / 1e6:.1f} M words"
    head = ["accuracy / F1 / CER", "trained on", "MB", "tokens/s", "one line, s", *texts]
    rows = []
    for each in entries:
        scores = [each["scores"][text] for text in texts]
        rows.append(
            [
                each["title"],
                same if each["same_text"] else "other text",
                f"{each['bytes'] / 1e6:.1f}",
                f"{each['rate']:,.0f}",
                f"{each['one_line']:.2f}",
                *(" / ".join(f"{score[name]:.2f}" for name in ("accuracy", "f1", "cer")) for score in scores),
            ]
        )
    kinds = list(entries[0]["scores"][texts[0]]["kinds"])
    by_kind = [
        [
            each["title"],
            *(
                " / ".join("–" if share is None else f"{share:.1f}" for share in each["scores"][text]["kinds"].values())
                for text in texts
            ),
        ]
        for each in entries
    ]
    return "\n\n".join([table(head, rows, 2), table([" / ".join(kinds), *texts], by_kind), results["machine"]])


def mean_f1(entry: dict[str, Any]) -> float:
    return statistics.mean(score["f1"] for score in entry["scores"].values())


TABLES = {"bench": bench_table, "load": load_table, "leaderboard": leaderboard_tables}
"""The function that formats each kind of results, by the name of its table."""


@click.command(help=__doc__)
@click.argument("results", nargs=-1, required=True, type=FILE)
@click.option("--document", type=FILE, help="Document to write the tables into.")
def main(results: tuple[Path, ...], document: Path | None) -> None:
    for path in results:
        result = json.loads(path.read_text("utf-8"))
        name = result["table"]
        text = TABLES[name](result)
        print(f"{text}\n")
        if document:
            fill(document, name, text)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
