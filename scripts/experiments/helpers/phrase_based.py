"""A small phrase-based translation system (Koehn, Och & Marcu 2003), monotone: phrases keep the order of the source.

In: aligned pairs of tokenized sentences, and an LM of the target. Out: translations, with their word alignments.

A translation is the path of least cost over phrase pairs. Its cost is the weighted sum of −ln P of the target phrase
given the source phrase, of the words of each phrase given the words that they are linked to (lexical weighting) and of
the LM, plus a constant per word. The search keeps the best hypotheses at each position of the source, one per LM state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from capfst.fst.read import CapFst
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import allocating
from capfst.kernels.types import F64Array, I64Array, i64
from capfst.lm.query import SENTENCE_END, LanguageModel, step
from helpers.bitext import Link, Links, turned

LONGEST = 4  # words of a phrase
OPTIONS = 12  # translations tried per phrase
BEAM = 25  # hypotheses kept at a position of the source
PHRASE_WEIGHT, WORDS_WEIGHT, LM_WEIGHT = 0.3, 0.25, 0.4
WORD_COST = -1.2  # offsets the preference for short translations
UNKNOWN_COST = 5.0  # of a word that no phrase contains, and that is copied
_UNSEEN = 1e-7

Phrase = tuple[str, ...]


class PhrasePair(NamedTuple):
    """links: (position in the source phrase, position in the target phrase)."""

    source: Phrase
    target: Phrase
    links: tuple[Link, ...]


class Option(NamedTuple):
    """A translation of a phrase, and its weighted cost without the LM's."""

    cost: float
    target: Phrase
    links: tuple[Link, ...]


def phrase_pairs(source: Phrase, target: Phrase, links: Links, wanted: frozenset[Phrase]) -> Iterator[PhrasePair]:
    """Yield the phrase pairs of a sentence pair: some words are linked, and none to a word outside the other phrase.

    wanted: the source phrases to extract, and all their prefixes.
    """
    to_target: list[list[int]] = [[] for _ in source]
    to_source: list[list[int]] = [[] for _ in target]
    for i, j in links:
        to_target[i].append(j)
        to_source[j].append(i)
    for begin in range(len(source)):
        low, high = len(target), -1
        for end in range(begin + 1, min(begin + LONGEST, len(source)) + 1):
            if source[begin:end] not in wanted:
                break
            low, high = min([low, *to_target[end - 1]]), max([high, *to_target[end - 1]])
            if not 0 <= high - low < LONGEST:
                continue
            if any(not begin <= i < end for j in range(low, high + 1) for i in to_source[j]):
                continue
            inside = [(i, j) for i in range(begin, end) for j in to_target[i]]
            first = low
            while first >= 0 and (first == low or not to_source[first]):  # adjacent unlinked words may belong to it
                last = high
                while last < min(len(target), first + LONGEST) and (last == high or not to_source[last]):
                    pairs = tuple((i - begin, j - first) for i, j in inside)
                    yield PhrasePair(source[begin:end], target[first : last + 1], pairs)
                    last += 1
                first -= 1


class PhraseTable:
    """The translations of the phrases that occur in given sentences, learned from aligned pairs."""

    def __init__(
        self, pairs: Sequence[tuple[Phrase, Phrase]], alignments: Sequence[Links], sentences: Iterable[Phrase]
    ) -> None:
        lengths = range(1, LONGEST + 1)
        wanted = frozenset(words[k : k + n] for words in sentences for k in range(len(words)) for n in lengths)
        counts: dict[Phrase, dict[Phrase, Counter[tuple[Link, ...]]]] = {}
        forward, backward = WordCosts(), WordCosts()
        for (source, target), links in zip(pairs, alignments, strict=True):
            forward.count(source, target, links)
            backward.count(target, source, turned(links))
            for pair in phrase_pairs(source, target, links, wanted):
                counts.setdefault(pair.source, {}).setdefault(pair.target, Counter())[pair.links] += 1
        self.options: dict[Phrase, list[Option]] = {}
        for phrase, targets in counts.items():
            total = log(sum(variants.total() for variants in targets.values()))
            options = []
            for target, variants in targets.items():
                inside = variants.most_common(1)[0][0]
                words = forward.cost(phrase, target, inside) + backward.cost(target, phrase, turned(inside))
                cost = PHRASE_WEIGHT * (total - log(variants.total())) + WORDS_WEIGHT * words
                options.append(Option(cost + WORD_COST * len(target), target, inside))
            self.options[phrase] = sorted(options)[:OPTIONS]

    def of(self, sentence: Phrase) -> Iterator[tuple[int, int, Option]]:
        """Yield (begin, end, translation) for the phrases of a sentence, sorted by their beginnings."""
        for begin in range(len(sentence)):
            for end in range(begin + 1, min(begin + LONGEST, len(sentence)) + 1):
                for option in self.options.get(sentence[begin:end], ()):
                    yield begin, end, option
            word = sentence[begin : begin + 1]
            if word not in self.options:
                yield begin, begin + 1, Option(UNKNOWN_COST, word, ((0, 0),))


class WordCosts:
    """−ln P of target words given the source words that they are linked to, or None (lexical weighting)."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str | None, str]] = Counter()
        self.sources: Counter[str | None] = Counter()

    def count(self, source: Phrase, target: Phrase, links: Iterable[Link]) -> None:
        linked = set()
        for i, j in links:
            self.pairs[source[i], target[j]] += 1
            self.sources[source[i]] += 1
            linked.add(j)
        for j, word in enumerate(target):
            if j not in linked:
                self.pairs[None, word] += 1
                self.sources[None] += 1

    def cost(self, source: Phrase, target: Phrase, links: Iterable[Link]) -> float:
        words: list[list[str | None]] = [[] for _ in target]
        for i, j in links:
            words[j].append(source[i])
        return sum(self._cost(linked or [None], word) for linked, word in zip(words, target, strict=True))

    def _cost(self, linked: list[str | None], word: str) -> float:
        probability = sum(self.pairs[given, word] / max(1, self.sources[given]) for given in linked) / len(linked)
        return -log(max(probability, _UNSEEN))


class Decoder:
    """Translates sentences with a phrase table and an LM of the target language."""

    def __init__(self, table: PhraseTable, model: CapFst) -> None:
        self.table, self.model = table, model
        self.unknown = LanguageModel(model).unknown
        self.labels = {model.symbols[label]: label for label in range(1, len(model.symbols))}

    def translate(self, sentence: Phrase) -> tuple[Phrase, Links]:
        """Return the translation, and its links with the sentence."""
        begins, ends, options = zip(*self.table.of(sentence), strict=True)
        words = [word for option in options for word in option.target]
        labels = np.array([self.labels.get(word, self.unknown) for word in words], np.int64)
        label_ends = np.cumsum([len(option.target) for option in options])
        costs = np.array([option.cost for option in options])
        model = self.model
        path = search(
            model.states, model.arcs, model.start, np.array(begins), np.array(ends), costs, label_ends, labels
        )
        target: list[str] = []
        links: Links = []
        for k in path[::-1].tolist():
            links += [(begins[k] + i, len(target) + j) for i, j in options[k].links]
            target += options[k].target
        return tuple(target), links


@allocating
def search(
    states: StateArray,
    arcs: ArcArray,
    start: i64,
    begins: I64Array,
    ends: I64Array,
    costs: F64Array,
    label_ends: I64Array,
    labels: I64Array,
) -> I64Array:
    """Return the options on the best path through a sentence, int64[n], the last one first.

    begins, ends: int64[O], the range of each option in the sentence, sorted by `begins`; costs: float64[O]. The words
    of an option are labels[label_ends[option - 1] : label_ends[option]].
    """
    length = ends[ends.size - 1]
    # The hypotheses at each position: cost, LM state, the last option, and the preceding hypothesis.
    total, state = np.empty((length + 1, BEAM)), np.empty((length + 1, BEAM), np.int64)
    taken, before = np.empty((length + 1, BEAM), np.int64), np.empty((length + 1, BEAM), np.int64)
    count = np.zeros(length + 1, np.int64)
    total[0, 0], state[0, 0], count[0] = 0.0, start, 1
    for option in range(len(ends)):
        position, end, label = begins[option], ends[option], label_ends[option - 1] if option else 0
        for h in range(count[position]):
            cost, after = total[position, h] + costs[option], state[position, h]
            for t in range(label, label_ends[option]):
                lm_cost, after = step(states, arcs, after, labels[t])
                cost += LM_WEIGHT * lm_cost
            worst, slot = 0, -1
            for k in range(count[end]):
                if state[end, k] == after:
                    slot = k
                if total[end, k] > total[end, worst]:
                    worst = k
            if slot < 0 and count[end] < BEAM:
                slot = count[end]
                count[end] += 1
                total[end, slot] = np.inf
            elif slot < 0:
                slot = worst
            if cost <= total[end, slot]:  # <=, so that there is a path even if all costs are infinite
                total[end, slot], state[end, slot] = cost, after
                taken[end, slot], before[end, slot] = option, h
    best, least = 0, np.inf
    for h in range(count[length]):
        cost = total[length, h] + LM_WEIGHT * step(states, arcs, state[length, h], SENTENCE_END)[0]
        if cost < least:
            best, least = h, cost
    path, position, n = np.empty(length, np.int64), length, 0
    while position > 0:
        path[n] = taken[position, best]
        best, position = before[position, best], begins[path[n]]
        n += 1
    return path[:n]
