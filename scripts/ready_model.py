"""Makes a ready model again from the texts that its card names, and measures it.

    python scripts/ready_model.py make en ../corpora/en         # or: make model SOURCES=../corpora/en
    python scripts/ready_model.py make multi ../corpora         # or: make model NAME=multi SOURCES=../corpora
    python scripts/ready_model.py measure en held-out.txt … --lm unpruned.fst --sources ../corpora/en

The card is capfst/models/NAME.json. The same texts and options give the same bytes. `measure` puts the model's own
figures into the card, and prints those of other models beside them: of --lm, of truecase with its own model, and of
sacremoses trained on a sample of the model's sources (the latter two if they are installed: they are in the extra
`bench`).
"""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import speech_and_chat  # beside this script, as the next two
import word_lists
from command import run

import capfst
from capfst.batch.manifest import sha256
from capfst.exceptions import CapfstError
from capfst.io.blocks import read_blocks
from capfst.models import FOLDER, find
from capfst.options import ContextOptions
from capfst.system.atomic import replacing
from capfst.system.progress import progress
from capfst.text.unicode import lower

_SAMPLED = 15  # every so many-th line: sacremoses takes long

FILE = click.Path(path_type=Path)


def checked(source: dict[str, Any], folder: Path) -> Path:
    """The file of a source; CapfstError if it is not the one that the card describes."""
    path = folder / source["file"]
    try:
        found = path.stat().st_size, sha256(path)
    except OSError as error:
        raise CapfstError(f"cannot read {path}: {error.strerror}: it is from {source['origin']}") from error
    if found != (source["bytes"], source["sha256"]):
        raise CapfstError(f"{path} is not the file that the card describes ({source['bytes']} bytes): get that one")
    return path


def of_language(text: dict[str, Any], path: Path) -> str:
    """The path of a text as `capfst train` takes it, with its language if the card names it."""
    return f"{text['language']}={path}" if "language" in text else str(path)


def read_card(name: str) -> dict[str, Any]:
    try:
        card: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    except OSError as error:
        raise CapfstError(f"there is no card of a model {name}: write {FOLDER / name}.json first") from error
    return card


def write_card(name: str, card: dict[str, Any]) -> None:
    with replacing(FOLDER / f"{name}.json") as file:
        file.write(json.dumps(card, indent=1, ensure_ascii=False).encode() + b"\n")


@click.group()
def cli() -> None:
    """Makes and measures a ready model."""


@cli.command()
@click.argument("name")
@click.argument("folder", type=FILE)
def make(name: str, folder: Path) -> None:
    """Makes the ready model NAME from the texts in FOLDER."""
    card = read_card(name)
    texts = [of_language(source, checked(source, folder)) for source in card["sources"]]
    model = FOLDER / f"{name}.fst"
    options = card["training"] | {"context": ContextOptions(**card["training"]["context"])}
    with tempfile.TemporaryDirectory() as written:
        texts += [of_language(each, write(each, folder, Path(written))) for each in card["written"]]
        words = write_words(card["words"], Path(written)) if "words" in card else []
        trained = capfst.train(texts, model, words=words, progress=partial(progress, quiet=False), **options)
    print(trained.report())
    made = {"bytes": model.stat().st_size, "sha256": sha256(model), "ngrams": list(trained.ngrams)}
    if made == card["model"]:
        print("the same bytes as before")
    else:
        print(f"{made['bytes']:,} bytes, other ones than before: measure it, which puts its figures into the card")
        write_card(name, card | {"model": made, "figures": []})


def write(text: dict[str, Any], folder: Path, into: Path) -> Path:
    """Writes a text of speech or chat from some of the sources, as the card has it (scripts/speech_and_chat.py)."""
    path = into / f"{text['kind']}.txt"
    files = [str(folder / file) for file in text["from"]]
    speech_and_chat.main(
        [text["kind"], *files, "--one-in", str(text["one_in"]), "-o", str(path)], standalone_mode=False
    )
    return path


def write_words(words: dict[str, Any], into: Path) -> list[str]:
    """Writes the word lists that the card describes (scripts/word_lists.py); as `capfst train --words` takes them."""
    for package, version in words["packages"].items():
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found = "none"
        if found != version:
            raise CapfstError(f"word lists are of {package} {version}, found {found}: pip install {package}=={version}")
    return [f"{language}={word_lists.write(language, words['frequent'], into)}" for language in words["languages"]]


Recase = Callable[[list[str]], list[str]]


def truecase() -> Recase:
    """The package truecase, with its own model; ImportError if it is not installed."""
    from truecase import get_truecaser  # noqa: PLC0415

    case = get_truecaser().get_true_case_from_tokens
    return lambda lines: [" ".join(case(line.split())) if line.strip() else "" for line in lines]


def sacremoses(texts: list[Path]) -> Recase:
    """sacremoses, trained on a sample of texts; ImportError if it is not installed."""
    from sacremoses import MosesTruecaser  # noqa: PLC0415

    tokens = capfst.load().pipeline.loaded.spaced
    caser = MosesTruecaser()
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/table"
        caser.train([line.split() for line in _sampled(texts, tokens)], save_to=table)
        caser = MosesTruecaser(table)
    return lambda lines: [_spaced_as(line, "".join(caser.truecase(line))) for line in lines]


def _spaced_as(line: str, recased: str) -> str:
    """The recased text with the white space of the line; the line itself if sacremoses took some of it for markup."""
    if lower(recased.replace(" ", "")) != lower("".join(line.split())):
        return line
    rest = iter(recased.replace(" ", ""))
    return "".join(character if character.isspace() else next(rest) for character in line)


def _sampled(texts: list[Path], tokens: Callable[[bytes], memoryview]) -> Iterator[str]:
    for text in texts:
        for block in read_blocks([text]):
            lines = block.splitlines(keepends=True)[::_SAMPLED]
            yield from str(tokens(b"".join(lines)), "utf-8").splitlines()


def others(lms: tuple[Path, ...], sources: list[Path]) -> dict[str, Recase]:
    """What to compare with, by name."""
    recasers: dict[str, Recase] = {str(lm): capfst.load(lm, sentence_case=True) for lm in lms}
    for name, making in (("truecase", truecase), ("sacremoses", partial(sacremoses, sources))):
        try:
            recasers[name] = making()
        except ImportError:
            print(f"{name} is not installed: left out")
    return recasers


@cli.command()
@click.argument("name")
@click.argument("texts", nargs=-1, required=True, type=FILE)
@click.option("--lm", "lms", multiple=True, type=FILE, help="Another model to compare with (repeatable).")
@click.option("--sources", type=FILE, help="Folder of the model's sources, a sample of which sacremoses learns from.")
def measure(name: str, texts: tuple[Path, ...], lms: tuple[Path, ...], sources: Path | None) -> None:
    """Measures the ready model NAME on cased TEXTS, a sentence of tokens a line, and puts the figures into its card."""
    card = read_card(name)
    learned = [checked(source, sources) for source in card["sources"]] if sources else []
    recasers = {name: capfst.load(find(name), sentence_case=True)} | others(lms, learned)
    figures = []
    for text in texts:
        title = text.name.split(".")[0]
        if "language" in card["sources"][0]:
            title = f"{text.parent.name}/{title}"
        reference = b"".join(read_blocks([text])).decode().split("\n")
        lowercase = [lower(line) for line in reference]
        for recaser_name, recase in recasers.items():
            score = capfst.score(references=reference, hypotheses=recase(lowercase))
            measures = {"accuracy": score.accuracy, "f1": score.f1, "cer": score.capitalization_error_rate}
            rounded = {measure: round(value or 0, 2) for measure, value in measures.items()}
            print(title, recaser_name, *(f"{value:.2f}" for value in rounded.values()), sep=" | ", flush=True)
            if recaser_name == name:
                figures.append({"text": title} | rounded)
    write_card(name, card | {"figures": figures})


if __name__ == "__main__":
    run(cli)
