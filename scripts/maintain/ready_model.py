"""Build a bundled model from the texts that its model card lists, and measure it.

    \b
    python scripts/maintain/ready_model.py make en ../corpora       # or: make model SOURCES=../corpora
    python scripts/maintain/ready_model.py make multi ../corpora    # or: make model NAME=multi SOURCES=../corpora
    python scripts/maintain/ready_model.py measure en held-out.txt … --lm unpruned.fst

The card is capfst/models/NAME.json. Its files are in the folder, or in scripts/data. The same texts and options give
the same bytes. Punctuation is learned by teach_marks.py, which does not give the same bytes twice: `make` takes it from
the model that is there, or from another one (--marks). `measure` writes the model's figures into the card, and also
prints those of other models (--lm).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click

import capfst
from capfst.batch.manifest import sha256
from capfst.cli.exit_status import exit_status
from capfst.exceptions import CorpusError, ModelError
from capfst.fst.read import CapFst
from capfst.fst.write import write_fst
from capfst.io.blocks import read_blocks
from capfst.models import FOLDER, find
from capfst.models.convert import independent_parts
from capfst.options import ContextOptions
from capfst.punctuation.marks import PART as PUNCTUATION
from capfst.system.atomic import replacing
from capfst.system.progress import progress
from capfst.text.language import rules_for
from capfst.text.unicode import lower

_ROOT = Path(__file__).resolve().parents[2]
_DATA = _ROOT / "scripts" / "data"
_ends = re.compile(r"[.?!…][\"'”’»“)\]]*$").search

FILE = click.Path(path_type=Path)
QUICK = 500
"""Number of lines of each text that are measured with --quick."""


def checked(source: dict[str, Any], folder: Path) -> Path:
    """Return the file of a source.

    Raises:
        CorpusError: it is missing, or differs from the one that the card describes.
    """
    path = (_ROOT if source["file"].startswith("scripts/") else folder) / source["file"]
    try:
        found = path.stat().st_size, sha256(path)
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}. Get it from {source['origin']}.") from error
    if found != (source["bytes"], source["sha256"]):
        raise CorpusError(
            f"{path}: not the file that the model card describes ({source['bytes']} bytes). "
            f"Get it from {source.get('from', source['origin'])}."
        )
    return path


def of_language(text: dict[str, Any], path: str | Path) -> str:
    """Return the path of a text as `capfst train` reads it, with its language if the card names one."""
    return f"{text['language']}={path}" if "language" in text else str(path)


def read_card(name: str) -> dict[str, Any]:
    """Read the card of a model, which need not exist yet."""
    try:
        card: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    except OSError as error:
        raise ModelError(f"The model {name} has no model card. Write {FOLDER / name}.json first.") from error
    return card


def write_card(name: str, card: dict[str, Any]) -> None:
    with replacing(FOLDER / f"{name}.json") as file:
        file.write(json.dumps(card, indent=1, ensure_ascii=False).encode() + b"\n")


@click.group()
def cli() -> None:
    """Build and measure a bundled model."""


@cli.command()
@click.argument("name")
@click.argument("folder", type=FILE)
@click.option("--marks", type=FILE, help="Model that teach_marks.py has written.")
def make(name: str, folder: Path, marks: Path | None) -> None:
    """Build the bundled model NAME from the texts in FOLDER."""
    card, show = read_card(name), partial(progress, quiet=False)
    model = FOLDER / f"{name}.fst"
    sources = [(each, checked(each, folder)) for each in card["sources"]]
    options = card["training"] | {"context": ContextOptions(**card["training"]["context"])}
    with tempfile.TemporaryDirectory() as written:
        texts = [
            of_language(each, repeated(path, each["repeat"], Path(written)) if "repeat" in each else path)
            for each, path in sources
            if "case" in each["use"]
        ]
        texts += [of_language(each, write(each, folder, Path(written))) for each in card["written"]]
        lists = [(each, str(write_list(each, folder, Path(written)))) for each in card["lists"]]
        several = "language" in card["sources"][0]  # else a list names it only for its program
        words = [of_language(each, path) if several else path for each, path in lists]
        if marks is None and any("marks" in each["use"] for each in card["sources"]):
            marks = Path(shutil.copy(model, written))
        trained = capfst.train(texts, model, words=words, progress=show, **options)
        if marks is not None:
            add_marks(model, marks)
    print(trained.report())
    made = {"bytes": model.stat().st_size, "sha256": sha256(model), "ngrams": list(trained.ngrams)}
    if made == card["model"]:
        print("The same bytes as before.")
    else:
        print(f"{made['bytes']:,} bytes, which differ from before. Run `measure` to update the figures of the card.")
        write_card(name, card | {"model": made, "figures": []})


def add_marks(path: Path, marks: Path) -> None:
    """Add the punctuation of another model to the model at a path."""
    model = CapFst.open(path)
    of_marks = independent_parts(CapFst.open(marks), model.symbols, model.starts)
    parts = model.parts | {PUNCTUATION: of_marks[PUNCTUATION]}
    write_fst(path, model.states, model.arcs, model.symbols, model.start, model.signature, parts)


def repeated(path: Path, times: int, into: Path) -> Path:
    """Write a text of this repository so many times; lines without a final mark, which `train` would leave out, get a
    period."""
    lines = [line if _ends(line) else f"{line}." for line in path.read_text("utf-8").splitlines()]
    copy = into / f"{path.parent.name}.{path.name}"  # a list may have the same name
    copy.write_text("".join([f"{line}\n" for line in lines]) * times, "utf-8")
    return copy


def write(text: dict[str, Any], folder: Path, into: Path) -> Path:
    """Write the speech or chat text that the card describes, from some of the sources."""
    path = into / f"{text['kind']}.txt"
    files = [folder / file for file in text["from"]]
    run("speech_and_chat.py", text["kind"], *files, "--one-in", str(text["one_in"]), "-o", path)
    return path


def run(script: str, *arguments: str | Path) -> None:
    """Run a script of scripts/data; end with its exit status if it fails."""
    if status := subprocess.run([sys.executable, _DATA / script, *arguments], check=False).returncode:
        sys.exit(status)


def write_list(each: dict[str, Any], folder: Path, into: Path) -> Path:
    """Write a list of words that the card describes: as evidence, from a file or packages, or names in context. Words
    are a list as they are."""
    kind = each["kind"]
    if kind == "words":
        return checked(each, folder)
    if kind == "dictionary":
        run("dictionary_words.py", each["language"], "-o", into / each["file"])
        return checked(each, into)
    if kind == "names in context":
        run("word_lists.py", each["language"], "--in-context", "-o", into)
        return checked(each, into)
    path = into / Path(each["file"]).name.removesuffix(".zst")
    run("frequencies.py", kind, checked(each, folder), "-o", path)
    return path


@cli.command()
@click.argument("name")
@click.argument("texts", nargs=-1, required=True, type=FILE)
@click.option("--lm", "lms", multiple=True, type=FILE, help="Model to compare with (repeatable).")
@click.option("--quick", is_flag=True, help=f"Measure the first {QUICK} lines of each text; the card stays as it is.")
def measure(name: str, texts: tuple[Path, ...], lms: tuple[Path, ...], quick: bool) -> None:
    """Measure the model NAME on cased TEXTS (one tokenized sentence per line); write the figures into its card."""
    card = read_card(name)
    models = {name: find(name)} | {str(lm): lm for lm in lms}
    recasers = {title: capfst.load(model, sentence_case=True) for title, model in models.items()}
    figures = []
    for text in texts:
        title, language = text.name.split(".")[0], text.parent.name
        if "language" in card["sources"][0]:
            title = f"{language}/{title}"
        reference = b"".join(read_blocks([text])).decode().split("\n")[: QUICK if quick else None]
        lowercase = [lower(line, rules_for(language).lowering) for line in reference]
        for recaser_name, recase in recasers.items():
            score = capfst.score(references=reference, hypotheses=recase(lowercase))
            measures = {"accuracy": score.accuracy, "f1": score.f1, "cer": score.capitalization_error_rate}
            rounded = {measure: round(value or 0, 2) for measure, value in measures.items()}
            print(title, recaser_name, *(f"{value:.2f}" for value in rounded.values()), sep=" | ", flush=True)
            if recaser_name == name:
                figures.append({"text": title} | rounded)
    if not quick:
        write_card(name, card | {"figures": figures})


if __name__ == "__main__":
    with exit_status():
        cli(standalone_mode=False)
