"""The corpora of the experiment on named entities: their sentences, and the folds in which these are tested.

In: GUM, Earnings-21, wikigold and WNUT-17 as published. Out: a `Corpus` for each; that of Earnings-21 also has the
output of each recognizer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.text.unicode import lower
from helpers import earnings21
from helpers.corpora import read_lines

FOLDS = 5
QUICK = 500
"""Number of sentences per part for --quick; of Earnings-21, FOLDS calls are taken."""
TRAINING = -1
"""The fold of sentences that are not tested: all taggers of their corpus are trained on them."""


class Sentence(NamedTuple):
    words: list[str]
    labels: list[str]  # B-TYPE, I-TYPE, O; only I-TYPE and O in files whose entities are rarely adjacent
    missed: tuple[str, ...] = ()  # the types of entities of which no word was recognized


@dataclass
class Corpus:
    name: str
    sentences: list[Sentence]
    folds: npt.NDArray[np.int64]  # [n]: the fold in which a sentence is tested, or TRAINING
    columns: dict[str, tuple[str, ...]]  # the table's columns, and the entity types that each counts
    heard: dict[str, list[tuple[Sentence, list[str]]]] = field(default_factory=dict)
    """By recognizer: its words for each sentence, and the same in the case of the aligned reference words."""
    documents: npt.NDArray[np.int64] | None = None  # [n]: the document of each sentence
    unmarked: bool = False  # whether taggers are also trained on the sentences without punctuation


def read_conll(file: Path, types: Callable[[str], str]) -> list[Sentence]:
    """Read the sentences of a file with one word and its label per line; `types` maps the file's types."""
    sentences = [Sentence([], [])]
    for line in read_lines(file):
        word, _, label = line.replace("\t", " ").rpartition(" ")
        if not line.strip():
            sentences.append(Sentence([], []))
        elif label == "O" or label[:2] in ("B-", "I-"):  # others are comments
            sentences[-1].words.append("".join(word.split()))
            sentences[-1].labels.append(label if label == "O" else label[:2] + types(label[2:]))
    return [sentence for sentence in sentences if sentence.words]


def in_blocks(n: int) -> npt.NDArray[np.int64]:
    """Return the folds of n sentences, int64[n]: FOLDS contiguous blocks."""
    return np.arange(n) * FOLDS // max(1, n)


def gum(data: Path, quick: bool) -> Corpus:
    types = ("person", "place", "organization", "event", "time")
    files = (data / "ner" / f"gum_{part}.conll.zst" for part in ("train", "test"))
    parts = [read_conll(file, lambda type: type if type in types else "other") for file in files]
    if quick:
        parts = [part[:QUICK] for part in parts]
    folds = np.repeat([TRAINING, 0], [len(part) for part in parts])
    return Corpus("GUM", parts[0] + parts[1], folds, {type: (type,) for type in (*types, "other")})


def cross_validated(name: str, file: str, data: Path, quick: bool) -> Corpus:
    sentences = read_conll(data / "ner" / file, str)[: QUICK if quick else None]
    types = sorted({label[2:] for sentence in sentences for label in sentence.labels} - {""})
    return Corpus(name, sentences, in_blocks(len(sentences)), {type: (type,) for type in types})


MUC = {
    **dict.fromkeys(("GPE", "LOC", "FAC"), "PLACE"), **dict.fromkeys(("MONEY", "PERCENT"), "NUMEX"),
    **dict.fromkeys(("DATE", "TIME", "YEAR"), "TIMEX"), "PERSON": "PERSON", "ORG": "ORG",
}  # fmt: skip
ENAMEX = ("PERSON", "ORG", "PLACE")


def calls(data: Path, quick: bool) -> Corpus:
    every = earnings21.read(data / "speech" / "earnings21.tar.zst")
    if quick:
        every = dict(itertools.islice(every.items(), FOLDS))
    columns = {**{type: (type,) for type in ENAMEX}, "ENAMEX": ENAMEX, "NUMEX": ("NUMEX",), "TIMEX": ("TIMEX",)}
    corpus = Corpus("Earnings-21", [], np.zeros(0, np.int64), columns, unmarked=True)
    fold_of_call, sizes = in_blocks(len(every)), []
    for fold, call in zip(fold_of_call, every.values(), strict=True):
        reference = call.texts[earnings21.REFERENCE]
        labels, ends = entity_labels(call), earnings21.sentence_ends(reference)
        of_call = [marked(reference[a:b], labels[a:b]) for a, b in itertools.pairwise([0, *ends])]
        corpus.sentences += of_call
        sizes.append(len(of_call))
        corpus.folds = np.append(corpus.folds, np.full(len(of_call), fold))
        for name, words in call.texts.items():
            if name != earnings21.REFERENCE:
                corpus.heard.setdefault(name, []).extend(projected(reference, labels, ends, words))
    corpus.documents = np.repeat(np.arange(len(sizes)), sizes)
    if quick:
        corpus.heard = dict(itertools.islice(corpus.heard.items(), 1))
    return corpus


def entity_labels(call: earnings21.Call) -> list[str]:
    """Return the label of each word of the reference; of overlapping spans the longer one is used."""
    words = call.texts[earnings21.REFERENCE]
    spans: dict[str, list[int]] = {}
    for k, word in enumerate(words):
        for tag in word.tags:
            if call.types.get(tag) in MUC:
                spans.setdefault(tag, []).append(k)
    labels = ["O"] * len(words)
    for tag, span in sorted(spans.items(), key=lambda item: -len(item[1])):
        if all(labels[k] == "O" for k in span):
            for k in span:
                labels[k] = f"{'I' if k > span[0] else 'B'}-{MUC[call.types[tag]]}"
    return labels


def marked(words: Sequence[earnings21.Word], labels: Sequence[str], missed: tuple[str, ...] = ()) -> Sentence:
    """Return words and their punctuation as a sentence of tokens."""
    sentence = Sentence([], [], missed)
    for word, label, following in zip(words, labels, [*labels[1:], "O"], strict=False):
        sentence.words.append(word.text)
        sentence.labels.append(label)
        if word.mark:
            sentence.words.append(word.mark)
            sentence.labels.append(following if following.startswith("I-") else "O")
    return sentence


def projected(
    reference: list[earnings21.Word], labels: list[str], ends: list[int], words: list[earnings21.Word]
) -> list[tuple[Sentence, list[str]]]:
    """Return a recognizer's output for each sentence of the reference, with the entities of its aligned words, and the
    same in the case of the reference's words."""
    positions = earnings21.positions(reference, words)
    sentence_of = np.repeat(np.arange(len(ends)), np.diff([0, *ends]))
    entity_of = np.cumsum([label.startswith("B-") for label in labels])  # the number of the last entity that has begun
    entity_of[[label == "O" for label in labels]] = 0
    written: list[list[int]] = [[] for _ in ends]
    found = np.zeros(len(words), np.int64)  # the entity that a word belongs to; 0 for none
    last, sentence = -1, 0
    for k, position in enumerate(positions):
        if position >= 0:
            sentence, entity = int(sentence_of[position]), int(entity_of[position])
            if entity and last >= 0 and found[last] == entity:
                found[last:k] = entity  # also the words inserted inside it
            found[k], last = entity, k
        written[sentence].append(k)
    types = {int(entity): label[2:] for entity, label in zip(entity_of, labels, strict=True) if entity}
    remaining = set(found.tolist())
    sentences = []
    for of_sentence, (a, b) in zip(written, itertools.pairwise([0, *ends]), strict=True):
        begins = [k == 0 or found[k] != found[k - 1] for k in of_sentence]
        new = [
            f"{'B' if begin else 'I'}-{types[int(found[k])]}" if found[k] else "O"
            for k, begin in zip(of_sentence, begins, strict=True)
        ]
        missed = tuple(types[e] for e in sorted(set(entity_of[a:b].tolist()) - remaining - {0}))
        heard = [words[k] for k in of_sentence]
        cased = [
            word._replace(text=cased_as(word.text, reference[at].text) if at >= 0 else lower(word.text))
            for at, word in zip(positions[of_sentence], heard, strict=True)
        ]
        sentences.append((marked(heard, new, missed), marked(cased, new).words))
    return sentences


def cased_as(word: str, reference: str) -> str:
    """Return a recognized word in the case of the aligned reference word."""
    if lower(word) == lower(reference):
        return reference
    return word[0].upper() + lower(word[1:]) if reference[0].isupper() else lower(word)


def without_marks(sentence: Sentence) -> Sentence:
    kept = [k for k, word in enumerate(sentence.words) if any(map(str.isalnum, word))]
    return Sentence([sentence.words[k] for k in kept], [sentence.labels[k] for k in kept])


CORPORA: dict[str, Callable[[Path, bool], Corpus]] = {
    "GUM": gum,
    "Earnings-21": calls,
    "wikigold": partial(cross_validated, "wikigold", "wikigold.conll.zst"),
    "WNUT-17": partial(cross_validated, "WNUT-17", "wnut17_train.conll.zst"),
}
"""The function that reads each corpus, given the folder of the corpora and whether small parts suffice."""
