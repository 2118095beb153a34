"""Measure `--repair`: how many words that have lost their case and marks are found, and how many others change.

    \b
    python scripts/experiments/repair.py --document docs/research/figures.md

Of each held-out text, stretches of 20 to 2,000 words lose their marks and their case; 15 of 100 are in capitals.
Between them, 300 to 1,500 words stay. The text is repaired as plain text, as JSON like Whisper's, and as SubRip.

\b
* found: words of the damaged stretches that are in a stretch that was repaired
* touched: other words that the repaired file has otherwise
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from helpers.corpora import data_option, document_option, quick_option, read_lines
from helpers.markdown import show, table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.exceptions import CorpusError
from capfst.io.formats import reader
from capfst.io.running_text import RunningText, Span
from capfst.recaser import Recaser

TEXTS = {
    "podcast": "speech_podcast",
    "self-dialogues": "everyday_self_dialogues",
    "Wikipedia (WikiText-2)": "wikipedia_wikitext2_valid",
}
LENGTHS = (20, 30, 50, 100, 200, 500, 1000, 2000)
CAPITALS = 0.15
"""The share of the stretches that are in capitals."""
_BETWEEN = 300, 1500  # words
_SEGMENT = 5, 14  # words of a segment or cue
_PER_WORD = 0.4  # seconds
_EDGES = '.,;:?!…"“”()'
_QUICK_LINES, _SEED = 150, 1
_removed = re.compile(r"\[[^\]]*\]|[()<>{}♪]|(?<!\S)-").sub
_joined = re.compile(r"\s+(?=[,.;:?!](?!\S))| ?@(?=[-,.]@)|(?<=@[-,.])@ ?").sub
_words = re.compile(rb"\S+").finditer


class Text(NamedTuple):
    """Words, and whether a line ends after each."""

    words: list[str]
    ends: list[bool]


def read(file: Path, most: int | None) -> Text:
    """Read a text, without what subtitles do not have or mean otherwise: brackets, and labels before a colon."""
    text = Text([], [])
    for line in read_lines(file, most=most):
        words = [
            word for word in _joined("", _removed("", line)).replace(": ", ", ").split() if any(map(str.isalnum, word))
        ]
        text.words.extend(words)
        text.ends.extend(k == len(words) - 1 for k in range(len(words)))
    return text


def damaged(words: list[str], length: int, random: np.random.Generator) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """Return words of which stretches of this length have lost marks and case, and whether each is in one."""
    words, lost = words.copy(), np.zeros(len(words), np.bool_)
    begin = int(random.integers(*_BETWEEN))
    while begin + length <= len(words):
        change: Callable[[str], str] = str.upper if random.random() < CAPITALS else str.lower
        for k in range(begin, begin + length):
            words[k] = change(words[k].strip(_EDGES))
        lost[begin : begin + length] = True
        begin += length + int(random.integers(*_BETWEEN))
    return words, lost


def segments(words: list[str], random: np.random.Generator) -> Iterator[tuple[float, float, list[str]]]:
    """Yield words in segments, with the times of each."""
    ends = np.cumsum(random.integers(*_SEGMENT, len(words)))
    for begin, end in pairwise([0, *ends[ends < len(words)].tolist(), len(words)]):
        yield begin * _PER_WORD, end * _PER_WORD, words[begin:end]


def as_text(text: Text, words: list[str], random: np.random.Generator) -> str:
    return "".join(word + ("\n" if ends else " ") for word, ends in zip(words, text.ends, strict=True))


def as_whisper(text: Text, words: list[str], random: np.random.Generator) -> str:
    parts = [
        {"id": k, "start": round(start, 2), "end": round(end, 2), "text": f" {' '.join(some)}"}
        for k, (start, end, some) in enumerate(segments(words, random))
    ]
    return json.dumps({"text": "".join(str(part["text"]) for part in parts), "segments": parts, "language": "en"})


def as_srt(text: Text, words: list[str], random: np.random.Generator) -> str:
    cues = []
    for k, (start, end, some) in enumerate(segments(words, random), 1):
        lines = " ".join(some[: len(some) // 2]), " ".join(some[len(some) // 2 :])
        cues.append("\n".join([str(k), f"{_clock(start)} --> {_clock(end)}", *filter(None, lines), "", ""]))
    return "".join(cues)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(1000 * seconds), 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d},{rest % 1000:03d}"


def words_of_srt(data: str) -> list[str]:
    return [word for cue in data.split("\n\n") for line in cue.split("\n")[2:] for word in line.split()]


def words_of_whisper(data: str) -> list[str]:
    return [word for part in json.loads(data)["segments"] for word in part["text"].split()]


FORMATS: dict[str, tuple[Callable[[Text, list[str], np.random.Generator], str], Callable[[str], list[str]]]] = {
    "text": (as_text, str.split),
    "whisper": (as_whisper, words_of_whisper),
    "srt": (as_srt, words_of_srt),
}
"""How a text is written in each format, and how its words are read."""
TITLES = {"text": "text", "whisper": "JSON", "srt": "SRT"}


def repair(recaser: Recaser, data: str, format: str) -> tuple[str, list[str], list[bool]]:
    """Return a file repaired, the words that were read of it, and whether each is in a repaired stretch."""
    whole = [RunningText(data, [Span(0, len(data) - 1, data[:-1])])]
    parts = whole if format == "text" else reader(format, format).read([data.encode()])
    output, read_words, found = [], [], []
    for part in parts:
        text = part.text
        pieces = list(recaser.pipeline.repaired_pieces(text))
        starts = np.array([word.start() for word in _words(text)], np.int64)
        within = np.zeros(len(starts), np.bool_)
        for span in (span for piece in pieces for span in piece.spans):
            within[slice(*np.searchsorted(starts, span))] = True
        read_words += text.decode().split()
        found += within.tolist()
        output.append(part.written(b"".join(piece.text.tobytes() for piece in pieces)).decode())
    return "".join(output), read_words, found


def measured(recaser: Recaser, text: Text, length: int, format: str) -> Counter[str]:
    """Return the numbers of lost and other words of a text, and of those that were found and touched."""
    random = np.random.default_rng((_SEED, length))
    words, lost = damaged(text.words, length, random)
    write, words_of = FORMATS[format]
    output, read_words, of_read = repair(recaser, write(text, words, random), format)
    left, found = iter(zip(read_words, of_read, strict=True)), np.zeros(len(words), np.bool_)
    word, is_found = next(left)
    for k in range(len(words)):  # a few words of subtitles are not read, such as shouts
        if words[k].lower() == word.lower():
            found[k] = is_found
            word, is_found = next(left, ("", False))
    differs = np.array([a != b for a, b in zip(words, words_of(output), strict=True)], np.bool_)
    if word:
        raise CorpusError(f"{word!r} was read, but not written, in {format}.")
    return Counter(
        lost=int(lost.sum()),
        found=int((lost & found).sum()),
        kept=int((~lost).sum()),
        touched=int((~lost & differs).sum()),
    )


def cells(counts: list[Counter[str]]) -> list[str]:
    """Return the shares of lost words that were found, and of others that were touched, in percent."""
    found = [f"{100 * each['found'] / max(1, each['lost']):.1f}" for each in counts]
    return [*found, *(f"{100 * each['touched'] / max(1, each['kept']):.2f}" for each in counts)]


@click.command(help=__doc__)
@click.option("--lm", default="en", show_default=True, help="Model that repairs.")
@data_option
@quick_option
@document_option
def main(lm: str, data: Path, quick: bool, document: Path | None) -> None:
    recaser = capfst.load(lm, repair=True)
    most = _QUICK_LINES if quick else None
    texts = {title: read(data / "dev" / "en" / f"{name}.txt.zst", most) for title, name in TEXTS.items()}
    counts = {
        (title, length, format): measured(recaser, text, length, format)
        for title, text in texts.items()
        for length in LENGTHS
        for format in FORMATS
    }

    def row(name: str, title: str | None = None, length: int | None = None) -> list[str]:
        chosen = [
            sum(
                (each for key, each in counts.items() if key in ((title or key[0], length or key[1], format),)),
                Counter(),
            )
            for format in FORMATS
        ]
        return [name, *cells(chosen)]

    head = [f"{what}, {name}" for what in ("found", "touched") for name in TITLES.values()]
    lengths = [*(row(f"{length:,}", length=length) for length in LENGTHS), row("all")]
    show(table(["words of a stretch", *head], lengths), "repair-lengths", document)
    show(table(["text", *head], [row(title, title) for title in texts]), "repair-texts", document)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
