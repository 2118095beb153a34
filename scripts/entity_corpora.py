"""The corpora that the experiments on named entities tag: their sentences, and which taggers test them.

In: GUM, Earnings-21, wikigold and WNUT-17 as they are. Out: for each a `Corpus`; of Earnings-21 also with what each
recognizer has heard.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import earnings21  # beside this script, as the next one
import numpy as np
import numpy.typing as npt
from experiments import read_lines

from capfst.text.unicode import lower

FOLDS = 5
QUICK = 500
"""Sentences of each part, to see that all works; of Earnings-21, so many calls as folds."""
TRAINING = -1
"""The fold of sentences that no score counts: all taggers of their corpus are trained on them."""


class Sentence(NamedTuple):
    words: list[str]
    labels: list[str]  # B-TYPE, I-TYPE, O; of files in which entities rarely touch, I-TYPE and O
    missed: tuple[str, ...] = ()  # the types of entities that no word is left of


@dataclass
class Corpus:
    name: str
    sentences: list[Sentence]
    folds: npt.NDArray[np.int64]  # [n]: the part that a sentence is tested in, or TRAINING
    columns: dict[str, tuple[str, ...]]  # the table's columns, and the types of each
    heard: dict[str, list[tuple[Sentence, list[str]]]] = field(default_factory=dict)
    """By recognizer: its words for each sentence, and these in the case of the words that they stand for."""
    documents: npt.NDArray[np.int64] | None = None  # [n]: the one that each sentence is of
    unmarked: bool = False  # whether taggers also have the sentences without their punctuation


def read_conll(file: Path, types: Callable[[str], str]) -> list[Sentence]:
    """The sentences of a file with a word and its label in each line; `types` names the type for one of the file's."""
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
    """int64[n]: the folds of n sentences, as so many blocks."""
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
    """The label of each word of the reference."""
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
    """Words and their punctuation as a sentence of tokens."""
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
    """What a recognizer has written for each sentence of the reference, with the entities of that; and the same in the
    case of the reference's words."""
    places = earnings21.places(reference, words)
    sentence_of = np.repeat(np.arange(len(ends)), np.diff([0, *ends]))
    entity_of = np.cumsum([label.startswith("B-") for label in labels])  # the number of the last one that has begun
    entity_of[[label == "O" for label in labels]] = 0
    written: list[list[int]] = [[] for _ in ends]
    found = np.zeros(len(words), np.int64)  # the entity that a word belongs to; 0 for none
    last, sentence = -1, 0
    for k, place in enumerate(places):
        if place >= 0:
            sentence, entity = int(sentence_of[place]), int(entity_of[place])
            if entity and last >= 0 and found[last] == entity:
                found[last:k] = entity  # words that were inserted inside it
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
            word._replace(text=cased_as(word.text, reference[places[k]].text) if places[k] >= 0 else lower(word.text))
            for k, word in zip(of_sentence, heard, strict=True)
        ]
        sentences.append((marked(heard, new, missed), marked(cased, new).words))
    return sentences


def cased_as(word: str, reference: str) -> str:
    """A recognized word in the case of the one that it stands for."""
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
"""What reads each of them, given the folder of the corpora and whether small parts suffice."""
