"""A recognizer built on recased text: flite speaks, PocketSphinx recognizes (Beaufays & Strope 2013, §5 and Table 1).

In: a text file of a domain, and a recaser that was not trained on it. Out: `Spoken`: sentences of the file's last
tenth, and PocketSphinx's output for them with trigram LMs of the rest: in lower case, recased, in true case.

The LMs have no punctuation and no positional capitals, as is usual in recognizers. Each surface form of an LM has an
entry in the dictionary, with the pronunciation of its lowercase: from CMUdict, which comes with PocketSphinx, or else
from flite. Forms are spelled in lower case, with a _ before each capital, because PocketSphinx confuses words that
differ only in case.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import subprocess
import wave
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import capfst
from capfst.exceptions import CapfstError
from capfst.models.convert import export_arpa
from helpers.corpora import read_lines
from helpers.intrinsic_case import inside_case

VOICES = ("slt", "rms")
LOWERCASE, RECASED, TRUE = "lowercase", "recased", "true case"
SHORTEST, LONGEST = 5, 15
"""Limits of the number of words in a spoken sentence."""

_WORD = re.compile(r"[^\W\d_]+(?:['&][^\W\d_]+)*")
_END = re.compile(r"[.?!]")
_JOBS = os.cpu_count() or 1


class Line(NamedTuple):
    """A line of text, its words, and whether each is the first of a sentence."""

    text: str
    words: list[str]
    first: list[bool]


class Spoken(NamedTuple):
    """sentences: without punctuation, in true case. recognized: the recognizer's output for them, by the LM's text.
    training: the lines that the LMs were trained on."""

    sentences: list[str]
    recognized: dict[str, list[str]]
    training: list[str]


def split(text: str) -> Line:
    """Split a line into words."""
    text = re.sub(r"(?<=[^\W\d_])\.(?=[A-Za-z]\b)|(?<=\b[A-Za-z]\.[A-Za-z])\.", "", text.replace("’", "'"))
    found = list(_WORD.finditer(text))
    ends = [0, *(match.end() for match in found)]
    first = [k == 0 or bool(_END.search(text, ends[k], match.start())) for k, match in enumerate(found)]
    return Line(text, [match[0] for match in found], first)


def is_spoken(line: Line, words: list[str]) -> bool:
    """Return whether a sentence can be spoken as written, and has a capital besides I and positional ones."""
    spelled = line.text.isascii() and not re.search(r"[\d&%$*/@#+=()\[\]<>]", line.text)
    inner = any(word != word.lower() and word.partition("'")[0] != "I" for word in words[1:])
    return spelled and inner and SHORTEST <= len(words) <= LONGEST


def run(file: Path, recaser: capfst.Recaser, work: Path, number: int, limit: int | None) -> Spoken:
    """Speak and recognize `number` sentences of the first `limit` lines of a file."""
    logging.getLogger("capfst").setLevel(logging.ERROR)  # no warning of text without capitals
    work.mkdir(parents=True, exist_ok=True)
    lines = [split(text) for text in read_lines(file)[:limit]]
    words = inside_case([(line.words, line.first) for line in lines])
    training = len(lines) - len(lines) // 10
    held_out = list({lines[k].text: k for k in range(training, len(lines)) if is_spoken(lines[k], words[k])}.values())
    chosen = held_out[:: max(1, len(held_out) // number)][:number]
    texts = {
        LOWERCASE: [[word.lower() for word in line] for line in words[:training]],
        RECASED: [_WORD.findall(text) for text in recaser([line.text.lower() for line in lines[:training]])],
        TRUE: words[:training],
    }
    sounds = speak([lines[k].text for k in chosen], work)
    pronunciations = pronounce({word for line in texts[LOWERCASE] for word in line})
    systems = [
        build([list(map(spell, line)) for line in text], pronunciations, work / name) for name, text in texts.items()
    ]
    with ProcessPoolExecutor(_JOBS) as pool:
        parts = [pool.submit(recognize, system, sounds[k::_JOBS]) for system in systems for k in range(_JOBS)]
    recognized = {}
    for k, name in enumerate(texts):
        recognized[name] = [""] * len(sounds)
        for j in range(_JOBS):
            recognized[name][j::_JOBS] = parts[k * _JOBS + j].result()
    return Spoken([" ".join(words[k]) for k in chosen], recognized, [line.text for line in lines[:training]])


def spell(form: str) -> str:
    """Spell a surface form in lower case: New → _new."""
    return "".join(f"_{character.lower()}" if character.isupper() else character for character in form)


def unspell(text: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), text)


def flite(*options: str) -> str:
    try:
        return subprocess.run(["flite", *options], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise CapfstError("flite failed or is not installed. Run: apt-get install flite") from error


def speak(sentences: list[str], folder: Path) -> list[Path]:
    """Make a wave file of each sentence; the voices alternate."""
    files = [folder / f"{k}.wav" for k in range(len(sentences))]
    with ThreadPoolExecutor(_JOBS) as pool:
        options = zip(itertools.cycle(VOICES), sentences, files, strict=False)
        list(pool.map(lambda each: flite("-voice", each[0], "-t", each[1], "-o", str(each[2])), options))
    return files


def pronounce(words: Iterable[str]) -> dict[str, list[str]]:
    """Return the pronunciations of lowercase words, in PocketSphinx's phones."""
    from pocketsphinx import get_model_path  # noqa: PLC0415

    known: dict[str, list[str]] = {}
    for entry in Path(get_model_path("en-us/cmudict-en-us.dict")).read_text("utf-8").splitlines():
        word, _, phones = entry.partition(" ")
        known.setdefault(re.sub(r"\(\d+\)$", "", word), []).append(phones)
    missing = sorted(set(words) - known.keys())
    with ThreadPoolExecutor(_JOBS) as pool:
        spelled = list(pool.map(lambda word: flite("-ps", "-t", word, "-o", "none").split(), missing))
    for word, said in zip(missing, spelled, strict=True):
        known[word] = [" ".join("AH" if phone == "ax" else phone.upper() for phone in said if phone != "pau")]
    return known


class System(NamedTuple):
    """The LM (ARPA) and the dictionary that PocketSphinx needs, besides its acoustic model."""

    arpa: Path
    dictionary: Path


def build(text: list[list[str]], pronunciations: dict[str, list[str]], folder: Path) -> System:
    """Build the LM of a text of spelled forms, and their dictionary."""
    folder.mkdir(exist_ok=True)
    corpus, lm = folder / "corpus.txt", folder / "lm.fst"
    system = System(folder / "lm.arpa", folder / "words.dict")
    corpus.write_text("".join(f"{' '.join(line)}\n" for line in text), "utf-8")
    capfst.train(corpus, lm, clean=False, pretokenized=True, context=False)
    export_arpa(lm, system.arpa)
    entries = []
    for form in sorted({word for line in text for word in line}):
        for k, phones in enumerate(filter(None, pronunciations[form.replace("_", "")])):
            entries.append(f"{form}({k + 1}) {phones}" if k else f"{form} {phones}")
    system.dictionary.write_text("\n".join(entries) + "\n", "utf-8")
    return system


def recognize(system: System, sounds: list[Path]) -> list[str]:
    """Recognize the words of each wave file."""
    from pocketsphinx import Decoder  # noqa: PLC0415

    decoder = Decoder(lm=str(system.arpa), dict=str(system.dictionary), loglevel="FATAL")
    found = []
    for sound in sounds:
        with wave.open(str(sound)) as file:
            decoder.start_utt()
            decoder.process_raw(file.readframes(file.getnframes()), full_utt=True)
            decoder.end_utt()
        hypothesis = decoder.hyp()
        found.append(unspell(hypothesis.hypstr) if hypothesis else "")
    return found
