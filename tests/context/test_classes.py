"""context/classes.py: the exchange algorithm, against a reference implementation that counts everything anew."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.context import classes as module
from capfst.context.classes import BOUNDARY, RARE, label_classes, word_classes

LABELS = 9
corpora = st.lists(
    st.lists(st.lists(st.integers(1, LABELS - 1), max_size=6), max_size=12).map(
        lambda lines: [n for line in lines for n in (*line, 0)]
    ),
    min_size=1,
    max_size=3,
)


def nlogn(n: int) -> float:
    return n * math.log(n) if n else 0.0


def likelihood(bigrams: Counter[tuple[int, int]], class_of: list[int]) -> float:
    """Return ln p of the corpus, except terms that do not depend on the classes (Martin, Liermann & Ney 1998)."""
    pairs, sizes = Counter(), Counter()
    for (a, b), n in bigrams.items():
        pairs[class_of[a], class_of[b]] += n
        sizes[class_of[a]] += n
    return sum(map(nlogn, pairs.values())) - 2 * sum(map(nlogn, sizes.values()))


def reference(sources: list[list[int]], number: int) -> list[int]:
    """Return the class of each label: each in turn, the most frequent first, moves to where the corpus is likeliest."""
    counts = Counter(itertools.chain(*sources))
    order = sorted((n for n in range(1, LABELS) if counts[n] >= module._MIN_COUNT), key=lambda n: -counts[n])
    symbol = [RARE] * LABELS
    symbol[0] = BOUNDARY
    for k, label in enumerate(order):
        symbol[label] = 2 + k
    bigrams = Counter((symbol[a], symbol[b]) for source in sources for a, b in itertools.pairwise([0, *source]))
    class_of = [BOUNDARY, RARE, *(2 + k % (number - 2) for k in range(len(order)))]
    for _ in range(module._PASSES):
        moved = 0
        for w in range(2, len(class_of)):
            own = class_of[w]

            def gain(to: int, w: int = w) -> float:
                return likelihood(bigrams, [*class_of[:w], to, *class_of[w + 1 :]])

            best = own
            for to in range(2, number):
                if gain(to) > gain(best) + 1e-7:
                    best = to
            class_of[w] = best
            moved += best != own
        if moved < module._MIN_MOVED * len(class_of):
            break
    return [class_of[s] for s in symbol]


@settings(deadline=None, max_examples=60)
@given(sources=corpora, number=st.integers(3, 6))
def test_classes_match_the_reference(sources: list[list[int]], number: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MIN_COUNT", 2)
        found = label_classes([np.array(source, np.uint32) for source in sources], LABELS, number)
        assert found.tolist() == reference(sources, number)


def test_words_in_the_same_contexts_have_one_class() -> None:
    rng = np.random.default_rng(0)
    months, names, verbs, words = range(1, 7), range(7, 20), range(20, 25), range(25, 60)
    lines = [
        [*rng.choice(words, 2), rng.choice(names), rng.choice(verbs), *rng.choice(words, 2), 60, rng.choice(months), 0]
        for _ in range(3000)
    ]
    found = label_classes([np.array(lines, np.uint32).ravel()], 62, 7)
    assert found[0] == BOUNDARY
    assert found[61] == RARE
    for alike in (months, names, verbs):
        assert len({found[n] for n in alike}) == 1
    assert len({found[1], found[7], found[20], found[25], found[60]}) == 5


def test_rare_forms_are_not_classified() -> None:
    source = np.array([1] * (module._MIN_COUNT - 1) + [2] * module._MIN_COUNT + [0], np.uint32)
    assert label_classes([source], 4).tolist() == [BOUNDARY, RARE, 2, RARE]
    assert label_classes([source[:3], np.zeros(1, np.uint32)], 3).tolist() == [BOUNDARY, RARE, RARE]


def test_classes_of_words_are_those_of_their_most_frequent_forms() -> None:
    #                      a  A  b  B  BB c
    word_of = np.array([0, 0, 0, 1, 1, 1, 2])
    lower = np.array([True, True, False, False, False, False, True])
    counts = np.array([99, 5, 6, 7, 8, 9, 0])
    class_of = np.array([0, 10, 11, 12, 13, 14, 15], np.uint8)
    assert word_classes(class_of, word_of, lower, counts).tolist() == [[10, 11], [RARE, 14], [15, RARE]]
