"""Compare capfst with other truecasers: accuracy (of all words, and by kind of word), F1, capitalization error rate,
speed, size of the model, and the time that one line takes.

    \b
    python scripts/bench/leaderboard.py TEXT… --train CORPUS --train CORPUS -o build/leaderboard.json
    python scripts/bench/leaderboard.py TEXT… --train CORPUS --train CORPUS -o build/leaderboard.json --only en,multi

Each cased TEXT (one sentence per line, named by its file) is lowercased, and its lines are recased as sentences. capfst
and the peers of scripts/bench/peers are trained on the same corpora; the bundled models and the package truecase were
trained on other text. Peers that are not installed (extra `leaderboard`) are left out. Models are kept in the folder
WORK, and existing ones are used: training the BiLSTM on 0.8 M words takes half an hour of processor time. With --only,
all other results stay as they are in the output file.

Times are the least processor times of several runs of a whole command on one core: that for one line, and the rate for
as many copies of the longest TEXT as take two seconds, without the time for one line. Words that do not occur in the
corpora are out of vocabulary, also for what was trained on other text.

Writes the results as JSON, from which scripts/bench/tables.py makes the tables of docs/research/leaderboard.md, and
prints them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import click
import peers
from bench import Contender, machine, run
from tables import FILE, NEW_FILE, NEW_FOLDER, leaderboard_tables, save

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # for helpers
from helpers.corpora import heads

import capfst
from capfst.cli.exit_status import exit_status
from capfst.evaluate.score import Scores, score_files
from capfst.exceptions import CapfstError
from capfst.io.blocks import read_blocks
from capfst.models import find, names
from capfst.text.unicode import lower

PEER = str(Path(__file__).with_name("peer.py"))
SECONDS, RUNS = 2, 3
"""Of each measurement of speed, and runs of it."""
QUICK = 200
"""Number of lines taken from each text and corpus with --quick."""


class Entry(NamedTuple):
    """A truecaser: its title, whether it was trained on the corpora, its command, and the files of its model."""

    title: str
    same_text: bool
    command: list[str]
    files: list[Path]


def capfst_entries(own: Path, lms: dict[str, Path]) -> dict[str, Entry]:
    """Return the entries of capfst: its own model of the corpora, the bundled ones, and others."""
    recase = [sys.executable, "-m", "capfst", "recase", "--sentence-case", "--jobs", "1", "--lm"]
    return {
        "capfst-lm": Entry("capfst, LM alone", True, [*recase, str(own), "--no-context"], [own]),
        "capfst": Entry("capfst", True, [*recase, str(own)], [own]),
        **{name: Entry(f"capfst, {name}", False, [*recase, str(lm)], [lm]) for name, lm in lms.items()},
    }


def peer_entries(names: list[str], train: tuple[Path, ...], work: Path) -> dict[str, Entry]:
    """Return the entries of the peers that are installed; train their models unless they exist."""
    entries = {}
    for name in names:
        try:
            module = peers.module(name)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        folder = getattr(module, "FOLDER", work / name)
        if not folder.exists():
            print(f"training {name} …", file=sys.stderr)
            subprocess.run([sys.executable, PEER, "train", name, *train, "-o", folder], check=True)
        command = [sys.executable, PEER, "recase", name, str(folder)]
        entries[name] = Entry(peers.PEERS[name], not hasattr(module, "FOLDER"), command, list(folder.iterdir()))
    return entries


def measure(entry: Entry, texts: dict[str, Path], vocabulary: set[str], quick: bool) -> dict[str, Any]:
    """Return the scores of an entry for each text, its bytes, its tokens per second, and the seconds for one line."""

    def known(token: str) -> bool:
        return all(word.lower() in vocabulary for _, words in peers.words(f"{token}\n".encode()) for word in words)

    def fastest(text: Path) -> float:
        return min(run(contender, text, None, by_cpu=True)[0] for _ in range(1 if quick else RUNS))

    contender = Contender(entry.title, entry.command)
    scores, longest, seconds = {}, "", 0.0
    with tempfile.TemporaryDirectory() as temporary:
        lowered, output, large = (Path(temporary) / name for name in ("lowered", "output", "large"))
        for name, text in texts.items():
            lines = lower(b"".join(read_blocks([text])).decode())
            lowered.write_text(lines, "utf-8")
            its_seconds, _ = run(contender, lowered, output, by_cpu=True)
            if len(lines) > len(longest):
                longest, seconds = lines, its_seconds
            scores[name] = as_json(score_files(references=text, hypotheses=output, in_vocabulary=known))
        one = Path(temporary) / "one"
        one.write_text(longest.partition("\n")[0] + "\n", "utf-8")
        overhead = fastest(one)
        copies = 1 if quick else ceil(SECONDS / max(seconds - overhead, 0.01))
        large.write_text(longest * copies, "utf-8")
        rate = len(longest.split()) * copies / max(fastest(large) - overhead, 0.01)
    return {
        "title": entry.title,
        "same_text": entry.same_text,
        "bytes": sum(file.stat().st_size for file in entry.files),
        "rate": rate,
        "one_line": overhead,
        "scores": scores,
    }


def as_json(scores: Scores) -> dict[str, Any]:
    """Return the measures, and the accuracy by kind of word."""
    groups = {name: counts for name, counts in scores.groups.items() if name not in ("all", "none", "in vocabulary")}
    return {
        "accuracy": scores.accuracy,
        "f1": scores.f1,
        "cer": scores.capitalization_error_rate,
        "kinds": {name: 100 * correct / tokens if tokens else None for name, (tokens, correct) in groups.items()},
        "tokens": {name: tokens for name, (tokens, _) in groups.items()},
    }


def named(path: Path) -> str:
    return path.name.split(".")[0]


@click.command(help=__doc__)
@click.argument("texts", nargs=-1, required=True, type=FILE)
@click.option("--train", multiple=True, required=True, type=FILE, help="Corpus to train on (repeatable).")
@click.option("--lm", "lms", multiple=True, type=FILE, help="Model of capfst to measure as well (repeatable).")
@click.option("--only", help="Names of the entries to measure, separated by commas.")
@click.option("--work", default="build/leaderboard", show_default=True, type=NEW_FOLDER, help="Folder of the models.")
@click.option(
    "-o", "--output", default="build/leaderboard.json", show_default=True, type=NEW_FILE, help="File of the results."
)
@click.option(
    "--quick", is_flag=True, help=f"Use the first {QUICK} lines of each text and corpus, which shows nothing."
)
def main(
    texts: tuple[Path, ...],
    train: tuple[Path, ...],
    lms: tuple[Path, ...],
    only: str | None,
    work: Path,
    output: Path,
    quick: bool,
) -> None:
    os.environ["PYTHONHASHSEED"] = "0"  # truecase breaks ties in the order of a set
    work.mkdir(parents=True, exist_ok=True)
    if quick:
        work = work / "quick"
        for name in "texts", "train":
            (work / name).mkdir(parents=True, exist_ok=True)
        texts, train = (tuple(heads(files, QUICK, work / name)) for name, files in (("texts", texts), ("train", train)))
    models = {name: find(name) for name in names()} | {named(lm): lm for lm in lms}
    everyone = ["capfst-lm", "capfst", *models, *peers.PEERS]
    chosen = only.split(",") if only else everyone
    if unknown := [name for name in chosen if name not in everyone]:
        raise CapfstError(f"--only: no such entry: {', '.join(unknown)}. Give some of {','.join(everyone)}.")
    results: dict[str, Any] = {
        "table": "leaderboard",
        "trained_on": {named(file): sum(map(len, peers.sentences([file]))) for file in train},
        "texts": {named(text): sum(len(block.split()) for block in read_blocks([text])) for text in texts},
        "entries": {},
    }
    if len(results["texts"]) < len(texts):
        raise CapfstError("two texts have the same name. Rename one, or measure them one by one.")
    if only and output.exists():
        former = json.loads(output.read_text("utf-8"))
        if any(former[name] != results[name] for name in ("trained_on", "texts")):
            raise CapfstError(f"{output}: measured with other texts or corpora. Choose another output, or measure all.")
        results = former
    own = work / "capfst.fst"
    if not own.exists() and {"capfst", "capfst-lm"} & set(chosen):
        capfst.train(list(train), own)
    entries = capfst_entries(own, models) | peer_entries([name for name in chosen if name in peers.PEERS], train, work)
    vocabulary = {word.lower() for sentence in peers.sentences(train) for word in sentence}
    for name in chosen:
        if name in entries:
            print(f"measuring {name} …", file=sys.stderr)
            results["entries"][name] = measure(entries[name], {named(text): text for text in texts}, vocabulary, quick)
            facts = work / f"{name}.json"
            if facts.exists():
                results["entries"][name]["training"] = json.loads(facts.read_text("utf-8"))
            results["machine"] = machine()
            save(results, output)
    print(leaderboard_tables(results))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
