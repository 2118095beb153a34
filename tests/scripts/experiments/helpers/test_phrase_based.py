"""scripts/experiments/helpers/phrase_based.py: phrase pairs against their definition, the search against all paths."""

import itertools

import pytest
from helpers.phrase_based import LM_WEIGHT, LONGEST, Decoder, Option, PhraseTable, phrase_pairs
from hypothesis import given
from hypothesis import strategies as st
from support.models import backoff_models, in_one_folder

import capfst
from capfst.fst.read import CapFst
from capfst.lm.query import LanguageModel

LENGTHS = st.tuples(st.integers(1, 6), st.integers(1, 6))


def spans(words):
    return [(k, k + n) for k in range(len(words)) for n in range(1, LONGEST + 1) if k + n <= len(words)]


@given(LENGTHS, st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_phrase_pairs(lengths, links):
    source, target = (tuple(f"{side}{k}" for k in range(n)) for side, n in zip("ab", lengths, strict=True))
    links = sorted((i, j) for i, j in links if i < lengths[0] and j < lengths[1])
    expected = set()
    for (b, e), (c, f) in itertools.product(spans(source), spans(target)):
        inside = [(i, j) for i, j in links if b <= i < e and c <= j < f]
        if inside and all((b <= i < e) == (c <= j < f) for i, j in links):
            expected.add((source[b:e], target[c:f], frozenset((i - b, j - c) for i, j in inside)))
    wanted = frozenset(source[b:e] for b, e in spans(source))
    found = [(s, t, frozenset(inside)) for s, t, inside in phrase_pairs(source, target, links, wanted)]
    assert len(found) == len(set(found)) and set(found) == expected


class Options:
    """A phrase table with the same translations for every sentence."""

    def __init__(self, options):
        self.options = options

    def of(self, sentence):
        yield from self.options


def paths(options, position, length):
    """Yield all sequences of options from a position to the end."""
    if position == length:
        yield []
    for begin, end, option in options:
        if begin == position:
            yield from ([option, *rest] for rest in paths(options, end, length))


@in_one_folder
@given(backoff_models(max_order=3), st.randoms(use_true_random=False))
def test_search(tmp_path, model, rng):
    fst = model.save(tmp_path / "m.fst")
    lm, forms = LanguageModel(fst), [fst.symbols[label] for label in range(1, len(fst.symbols))]
    length, options = rng.randint(1, 3), []
    for begin in range(length):
        for end in range(begin + 1, length + 1):
            for _ in range(rng.randint(end == begin + 1, 2)):
                words = tuple(rng.choices([*forms, "never seen"], k=rng.randint(1, 2)))
                options.append((begin, end, Option(rng.random(), words, ((0, len(words) - 1),))))

    def cost(words):
        total, state = 0.0, fst.start
        for word in words:
            arc, state = lm.arc(state, lm.label(word))
            total += arc
        return LM_WEIGHT * (total + lm.final(state))

    expected = min(
        sum(option.cost for option in path) + cost([word for option in path for word in option.target])
        for path in paths(options, 0, length)
    )
    target, links = Decoder(Options(options), fst).translate(("x",) * length)
    found = min(
        sum(option.cost for option in path) + cost(target)
        for path in paths(options, 0, length)
        if tuple(word for option in path for word in option.target) == target
    )
    assert found == pytest.approx(expected)
    assert all(0 <= i < length and 0 <= j < len(target) for i, j in links)


def test_a_translation(tmp_path):
    texts = [
        ("das haus", "the house"),
        ("das kleine haus", "the small house"),
        ("das buch ist klein", "the book is small"),
        ("ein buch", "a book"),
    ]
    pairs = [(tuple(source.split()), tuple(target.split())) for source, target in texts]
    alignments = [[(k, k) for k in range(len(source))] for source, _ in pairs]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(" ".join(target) for _, target in pairs * 5) + "\n", "utf-8")
    capfst.train(corpus, tmp_path / "lm.fst", clean=False, pretokenized=True, context=False)
    sentence = ("ein", "kleine", "haus", "ist", "2000")
    table = PhraseTable(pairs, alignments, [sentence])
    decoder = Decoder(table, CapFst.open(tmp_path / "lm.fst"))
    assert decoder.translate(sentence) == (("a", "small", "house", "is", "2000"), [(k, k) for k in range(5)])
