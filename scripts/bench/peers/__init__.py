"""Truecasers to compare capfst with, and one interface for all: tokens in lower case to tokens in their case.

Each module of `PEERS` has `train(sentences, folder)`, which writes a model into a folder and may return facts about the
training, and `load(folder)`, which returns a `Recase`. A program with a model of its own has its `FOLDER`, and no
`train`. Importing a module whose package is not installed raises ImportError.

All peers get the words that capfst's tokenizer finds, in training and in recasing, so that none suffers from text that
is not tokenized as its training text was. Only case is taken from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from capfst.io.blocks import read_blocks
from capfst.text.tokenizer import COMPOUND, NEWLINE, tokenize

Sentence = list[str]
Recase = Callable[[list[Sentence]], list[Sentence]]

PEERS = {
    "unigram": "most frequent casing",
    "sacremoses": "sacremoses",
    "word_crf": "word CRF",
    "character_crf": "character CRF",
    "bilstm": "character BiLSTM",
    "truecase": "truecase",
}
"""Modules, and their titles in tables."""


def module(name: str) -> ModuleType:
    """Return the module of a peer; ImportError if its package is not installed."""
    return import_module(f"peers.{name}")


def words(text: bytes) -> Iterator[tuple[list[int], Sentence]]:
    """Yield the starts and the words of each line of UTF-8; compounds are their parts."""
    tokens = tokenize(text)
    starts: list[int] = []
    sentence: Sentence = []
    for start, end, token_type in zip(*(column.tolist() for column in tokens), strict=True):
        if token_type == NEWLINE:
            yield starts, sentence
            starts, sentence = [], []
        elif token_type != COMPOUND:
            starts.append(start)
            sentence.append(text[start:end].decode())
    if sentence:
        yield starts, sentence


def sentences(files: Iterable[Path]) -> Iterator[Sentence]:
    """Yield the words of each line of the files that has any."""
    for block in read_blocks(files):
        for _, sentence in words(block):
            if sentence:
                yield sentence


def recased(text: bytes, recase: Recase) -> bytes:
    """Return lowercase text with the case that the peer gives its words."""
    lines = list(words(text))
    out, written = [], 0
    for (starts, before), after in zip(lines, recase([sentence for _, sentence in lines]), strict=True):
        for start, old, new in zip(starts, before, after, strict=True):
            if new != old and new.lower() == old.lower():
                out += [text[written:start], new.encode()]
                written = start + len(old.encode())
    return b"".join([*out, text[written:]])


def most_frequent(casings: Counter[str]) -> str:
    """Return the most frequent casing of a word; of several, the first in the order of characters."""
    return min(casings, key=lambda casing: (-casings[casing], casing))


def capitalized(word: str) -> str:
    """Return a lowercase word with its first cased letter, if it has one, as a capital."""
    for k, character in enumerate(word):
        if character.upper() != character:
            return word[:k] + character.upper() + word[k + 1 :]
    return word


def start_capitalized(sentence: Sentence) -> Sentence:
    """Capitalize the first word that has a letter, as a sentence's, unless it has a capital."""
    for k, word in enumerate(sentence):
        if any(map(str.isalpha, word)):
            return [*sentence[:k], capitalized(word) if word == word.lower() else word, *sentence[k + 1 :]]
    return sentence


def lowered(text: str) -> str:
    """Return cased text in lower case, character by character; those whose lowercase is longer stay."""
    return "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def with_capitals(sentence: Sentence, capitals: Iterable[bool]) -> Sentence:
    """Return the words, of which these characters are capitals; the spaces between words count."""
    letters = zip(" ".join(sentence), capitals, strict=False)
    text = "".join(c.upper() if is_capital and len(c.upper()) == 1 else c for c, is_capital in letters)
    return text.split(" ") if sentence else []
