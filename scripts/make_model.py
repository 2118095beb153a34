"""Makes a ready model again, from the texts that its card names: the same texts and options give the same bytes.

    python scripts/make_model.py en ../corpora/en               # or: make model SOURCES=../corpora/en

The texts must be in the folder under the names of the card, capfst/models/NAME.json, with the same bytes. The model
gets into its place in capfst/models/, and its size and checksum into the card.
"""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

import capfst
from capfst.context.train import ContextOptions
from capfst.exceptions import CapfstError
from capfst.models import FOLDER
from capfst.system.atomic import replacing
from capfst.system.progress import progress


def check(source: dict[str, Any], folder: Path) -> Path:
    """The file of a source; CapfstError if it is not the one that the card describes."""
    path = folder / source["file"]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CapfstError(
            f"cannot read {path}: {error.strerror}: the card says where it is from: {source['origin']}"
        ) from error
    if (len(content), sha256(content).hexdigest()) != (source["bytes"], source["sha256"]):
        raise CapfstError(f"{path} is not the file that the card describes ({source['bytes']} bytes): get that one")
    return path


@click.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path))
def main(name: str, folder: Path) -> None:
    """Makes the ready model NAME from the texts in FOLDER."""
    card_path = FOLDER / f"{name}.json"
    card = json.loads(card_path.read_text("utf-8"))
    texts = [check(source, folder) for source in card["sources"]]
    model = FOLDER / f"{name}.fst"
    options = card["training"] | {"context": ContextOptions(**card["training"]["context"])}
    print(capfst.train(texts, model, progress=partial(progress, quiet=False), **options).report())
    content = model.read_bytes()
    made = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    if made == card["model"]:
        print("the same bytes as before")
        return
    print(f"{len(content):,} bytes, other ones than before: measure again, and put the figures into {card_path}")
    with replacing(card_path) as file:
        file.write(json.dumps(card | {"model": made}, indent=1, ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    try:
        main()
    except CapfstError as error:
        raise SystemExit(f"make_model.py: error: {error}") from None
