"""Make up a small bitext: an English source, and French-like translations with the case of the source."""

import random
from pathlib import Path
from typing import NamedTuple

WORDS = {
    "open": "ouvrez", "close": "fermez", "the": "le", "file": "fichier", "window": "fenêtre", "select": "choisissez",
    "table": "tableau", "menu": "menu", "click": "cliquez", "insert": "insérez", "with": "avec", "new": "nouveau",
    "page": "page", "in": "dans", "format": "format", "save": "enregistrez", "and": "et", "use": "utilisez",
}  # fmt: skip
VERBS = ["open", "close", "select", "click", "insert", "save", "use"]
NOUNS = ["file", "window", "table", "menu", "page", "format"]
NAMES = ["LibreOffice", "Calc", "Writer", "XML", "iPhone", "Paris", "OpenDocument"]


class Bitext(NamedTuple):
    target: list[str]
    source: list[str]
    align: list[str]


def pair(rng: random.Random) -> tuple[str, str, str]:
    """Return a translation, its source, and their alignment. Nouns may have a capital, as names of menus do, in
    both."""
    noun = rng.choice(NOUNS)
    words = [rng.choice(VERBS), "the", noun.capitalize() if rng.random() < 0.4 else noun]
    if rng.random() < 0.7:
        words += [rng.choice(["in", "with", "and"]), rng.choice(NAMES)]
    if rng.random() < 0.5:
        words[0] = words[0].capitalize()
    translated = []
    for word in words:
        other = WORDS.get(word.lower(), word)
        translated.append(other.capitalize() if word[0].isupper() and word.lower() in WORDS else other)
    alignment = " ".join(f"{i}-{i}" for i in range(len(words)))
    return " ".join(translated), " ".join(words), alignment


def bitext(n: int, seed: int = 0) -> Bitext:
    rng = random.Random(seed)
    return Bitext(*map(list, zip(*(pair(rng) for _ in range(n)), strict=True)))


def write(folder: Path, texts: Bitext, name: str = "") -> tuple[Path, Path, Path]:
    """Write the three texts; return their paths: target, source, align."""
    paths = tuple(folder / f"{name}{part}.txt" for part in Bitext._fields)
    for path, lines in zip(paths, texts, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return paths  # type: ignore[return-value]
