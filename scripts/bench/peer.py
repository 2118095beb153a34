"""Train one of the peers of scripts/bench/leaderboard.py, or recase text with it.

    \b
    python scripts/bench/peer.py train bilstm TEXT… -o build/leaderboard/bilstm
    python scripts/bench/peer.py recase bilstm build/leaderboard/bilstm < lowercase.txt > cased.txt

`train` also writes the seconds that it took, and what else the peer reports, beside the model (`bilstm.json`).
"""

from __future__ import annotations

import shutil
import sys
import time
from itertools import islice
from pathlib import Path

import click
import peers
from tables import FILE, FOLDER, NEW_FOLDER, save

from capfst.cli.exit_status import exit_status

NAME = click.Choice(list(peers.PEERS))
LINES = 2000  # that are recased at once


@click.group(help=__doc__)
def cli() -> None:
    pass


@cli.command()
@click.argument("name", type=NAME)
@click.argument("texts", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", required=True, type=NEW_FOLDER)
def train(name: str, texts: tuple[Path, ...], output: Path) -> None:
    """Train the peer NAME on cased TEXTS, one sentence per line."""
    begin = time.process_time()
    unfinished = output.with_suffix(".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    facts = peers.module(name).train(list(peers.sentences(texts)), unfinished) or {}
    save({"seconds": time.process_time() - begin, **facts}, output.with_suffix(".json"))
    shutil.rmtree(output, ignore_errors=True)
    unfinished.rename(output)


@cli.command()
@click.argument("name", type=NAME)
@click.argument("folder", type=FOLDER)
def recase(name: str, folder: Path) -> None:
    """Recase lowercase lines from stdin with the model in FOLDER."""
    recasing = peers.module(name).load(folder)
    while lines := b"".join(islice(sys.stdin.buffer, LINES)):
        sys.stdout.buffer.write(peers.recased(lines, recasing))


if __name__ == "__main__":
    with exit_status():
        cli(standalone_mode=False)
