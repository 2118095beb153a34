"""context/learn.py: one pass of AdaGrad over sentences, against a reference implementation in plain Python."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain_context as reference
from support.plain_network import PlainLearner

from capfst.casing.shapes import Shape, shapes
from capfst.context import features, learn, learn_network
from capfst.context.context_model import word_records
from capfst.context.features import softmax
from capfst.context.learn import Tables
from capfst.context.learn_network import Learned
from capfst.context.lexicon import NO_CASE, UNSEEN, Lexicon, add_shape_counts, hash_words
from capfst.fst.symbols import Symbols, check

FORMS = [",", "<unk>", "a", "A", "iphone", "Iphone", "IPHONE", "iPhone", "new", "New", "york", "York"]
SYMBOLS = Symbols.from_words(FORMS)
STARTS = check(SYMBOLS)
WORD_OF = np.array([0, *np.repeat(np.arange(len(STARTS) - 1), np.diff(STARTS))])
SHAPE_OF = shapes(SYMBOLS)
SHAPE_OF[2] = Shape.CASELESS  # <unk>
CLASSES = np.arange(12, dtype=np.uint8).reshape(6, 2)
RANKS = np.array([0, 1, 2, 0, 0, 0], np.uint8)
EMBEDDINGS = np.array([0, 1, 2, 3, 2, 4], np.uint16)
LOG_ODDS = np.array([[0, 0], [0, 0], [1, -2], [-9, 9], [5, 2], [0, 4]], np.int8)
LANGUAGE_LOG_ODDS = np.array([[0, 0], [0, 0], [5, -5], [-3, 3], [2, 3], [-1, 0]], np.int8)
MANY = [["New", "York", ",", "new", "York", "a"], ["York", "New", "iPhone", ",", "IPHONE"]]

UNCERTAIN = [random.Random(number).choices(FORMS, k=8) for number in range(20)]  # more than a batch of words

sentences = st.lists(st.sampled_from(FORMS), max_size=20)
corpora = st.lists(sentences, max_size=6)


def labels_of(corpus: Sequence[Sequence[str]]) -> np.ndarray:
    return np.array([n for line in corpus for n in (*(FORMS.index(form) + 1 for form in line), 0)], np.uint32)


def counts_of(corpus: Sequence[Sequence[str]]) -> np.ndarray:
    counts = np.zeros((len(STARTS) - 1, 4), np.int64)
    add_shape_counts(labels_of(corpus), WORD_OF, SHAPE_OF, 1, counts)
    return counts


def lexicon_of(corpus: Sequence[Sequence[str]]) -> Lexicon:
    """Return the lexicon with the counts of a corpus."""
    counts = counts_of(corpus)
    hashes = hash_words(SYMBOLS, STARTS)
    words = word_records(hashes)
    words["frequency_rank"], words["embedding"], words["domain_log_odds"][:, :2] = RANKS, EMBEDDINGS, LOG_ODDS
    words["lower_class"], words["cased_class"] = CLASSES.T
    return Lexicon(WORD_OF, SHAPE_OF, hashes, words, 2, counts, LOG_ODDS[:, :0])


@settings(deadline=None)
@given(z=st.lists(st.floats(-50, 50), min_size=4, max_size=4))
def test_softmax(z: list[float]) -> None:
    p = np.array(z)
    total = softmax(p)
    assert p.tolist() == pytest.approx(reference.softmax(z))
    assert p.sum() == pytest.approx(1)
    assert total == pytest.approx(math.log(sum(map(math.exp, z))))


class Learner:
    """AdaGrad in double precision, on tables whose rows are weights and sums of squared gradients."""

    def __init__(self, tables: Tables, network: Learned | None = None) -> None:
        self.network = network and PlainLearner(network)
        self.tables = [table.astype(float).tolist() for table in tables[:3]]

    def scores(self, stage: int, hashed: list[int], z: list[float]) -> list[float]:
        table = self.tables[stage]
        return [z[k] + sum(table[f % len(table)][k] for f in hashed) for k in reference.SHAPES]

    def step(self, stage: int, hashed: list[int], p: list[float], truth: int) -> None:
        table = self.tables[stage]
        for row in (table[f % len(table)] for f in hashed):
            for k in reference.SHAPES:
                gradient = p[k] - (k == truth)
                row[4 + k] += gradient**2
                row[k] -= learn.RATES[stage % 2] * gradient / math.sqrt(row[4 + k])

    def line(
        self,
        tokens: list[reference.Token],
        indices: list[int],
        domain: int,
        owns: dict[int, list[int]],
        truths: dict[int, int],
    ) -> None:
        """Learn from a line of this domain. owns, truths: hashes and true shapes of the words with case."""
        decisions = [features.NO_DECISION] * len(tokens)
        p: dict[int, list[float]] = {}
        settled = set()
        for t in (t for t in indices if t in truths and tokens[t].shape_evidence != UNSEEN):
            hashed = reference.first_features(tokens, t, domain)
            z = self.scores(2, hashed, [0.0] * 4)
            q = reference.softmax(z)
            if reference.settled_decision(z) != features.NO_DECISION:
                decisions[t], p[t] = reference.settled_decision(z), q
                settled.add(t)
            if q[truths[t]] < learn.FIRST_PASS_CERTAIN:
                self.step(2, hashed, q, truths[t])
        for t in (t for t in indices if t in truths):
            hashed = reference.word_features(owns[t], tokens[t].shape_evidence, domain)
            hashed += reference.neighbor_features(tokens, t, domain)
            z = self.scores(0, hashed, [0.0] * 4)
            q = reference.softmax(z)
            if t not in settled:
                p[t], decisions[t] = q, reference.decision(z)
                if max(reference.leads(z)) >= features.STAGE1_LEAD:
                    settled.add(t)
            truth = truths[t]
            if q[truth] < learn.CERTAIN:
                self.step(0, hashed, q, truth)
        n_capitals = sum(reference.has_capitals(decisions[t]) for t in p)
        for t, q in p.items():
            if t in settled:
                continue
            truth = truths[t]
            hashed = reference.decision_features(tokens, decisions, t, len(p), n_capitals)
            scores = self.scores(1, hashed, [features.PRIOR_WEIGHT * math.log(x + 1e-12) for x in q])
            z = reference.softmax(scores)
            if z[truth] < learn.CERTAIN:
                self.step(1, hashed, z, truth)
            if self.network and max(reference.leads(scores)) < features.STAGE2_LEAD and tokens[t].position:
                log_p = [math.log(x + 1e-12) for x in z]
                self.network.learn(tokens, decisions, t, domain, log_p, truth, learn_network.RATE)

    def corpus(self, corpus: Sequence[Sequence[str]], lexicon: Lexicon, language: int | None = None) -> None:
        """Learn from sentences, of a language if one is given."""
        for sentence in corpus:
            counts = lexicon.shape_counts
            tokens, owns, truths = [], {}, {}
            votes = [0, 0]
            for t, form in enumerate(sentence, features.PADDING):
                label = FORMS.index(form) + 1
                number, shape = int(WORD_OF[label]), int(SHAPE_OF[label])
                if language is None or language == int(LANGUAGE_LOG_ODDS[number].argmax()):
                    votes = [vote + more for vote, more in zip(votes, LOG_ODDS[number].tolist(), strict=True)]
                hashes = lexicon.hashes[number].tolist()
                e, known = NO_CASE, 0
                if shape != Shape.CASELESS:
                    owns[t] = hashes
                    n = counts[number].tolist()
                    m = [0] * 4 if language is None else lexicon.language_counts[language, number].tolist()
                    truths[t] = shape
                    e, known = reference.shape_evidence(n), reference.shape_evidence(m)
                position = min(t - features.PADDING, features.MAX_POSITION)
                classes = CLASSES[number].tolist()
                embedding = int(EMBEDDINGS[number])
                tokens.append(
                    reference.Token(hashes[0], hashes[7], e, int(RANKS[number]), position, *classes, known, embedding)
                )
            every, (indices,) = reference.padded([tokens])
            domain = 2 * (language or 0) + int(votes[1] > votes[0])
            self.line(every, indices, domain, owns, truths)


def tables(rng: np.random.Generator | None = None, rows: int = 64) -> Tables:
    """Return small tables, with collisions; with random weights if `rng` is given."""
    made = Tables.of((rows, rows // 2, rows))
    if rng:
        for table in made[:3]:
            table[:, :4] = rng.normal(0, 0.3, (len(table), 4))
    return made


@settings(deadline=None, max_examples=60)
@given(corpus=corpora, times=st.sampled_from([1, 30]), seed=st.none() | st.integers(0, 9))
def test_learning_matches_the_reference(corpus: list[list[str]], times: int, seed: int | None) -> None:
    """times: how often the lexicon counts the corpus, so that words may be certain; it is learned from once."""
    lexicon = lexicon_of(corpus * times)
    learned = tables(None if seed is None else np.random.default_rng(seed))
    slow = Learner(learned)
    before = lexicon.shape_counts.copy()
    learn.learn(labels_of(corpus), lexicon, learned)
    slow.corpus(corpus, lexicon)
    assert (lexicon.shape_counts == before).all()
    for table, wanted in zip(learned[:3], slow.tables, strict=True):
        np.testing.assert_allclose(table, np.array(wanted), rtol=2e-3, atol=2e-4)


@settings(deadline=None, max_examples=30)
@given(corpus=corpora, seed=st.none() | st.integers(0, 9))
def test_learning_reads_the_counts_and_the_domains_of_the_language(corpus: list[list[str]], seed: int | None) -> None:
    lexicon = lexicon_of([*corpus, *MANY])
    of_languages = [counts_of(lines) for lines in (MANY, corpus)]
    counts = np.array(of_languages, np.int32)
    lexicon = lexicon._replace(language_counts=counts, language_log_odds=LANGUAGE_LOG_ODDS)
    learned = tables(None if seed is None else np.random.default_rng(seed))
    slow = Learner(learned)
    learn.learn(labels_of(corpus), lexicon, learned, 1)
    slow.corpus(corpus, lexicon, 1)
    assert (lexicon.language_counts == of_languages).all()
    for table, wanted in zip(learned[:3], slow.tables, strict=True):
        np.testing.assert_allclose(table, np.array(wanted), rtol=2e-3, atol=2e-4)


@settings(deadline=None, max_examples=20)
@given(corpus=corpora, seed=st.integers(0, 9))
def test_the_network_matches_the_reference(corpus: list[list[str]], seed: int) -> None:
    corpus = [*corpus, *UNCERTAIN]
    lexicon, learned, network = lexicon_of(corpus), tables(np.random.default_rng(seed)), Learned.of(8, 2)
    slow = Learner(learned, network)
    learn.learn(labels_of(corpus), lexicon, learned, network=network)
    slow.corpus(corpus, lexicon)
    assert slow.network is not None
    assert slow.network.n_words >= learn_network.BATCH
    np.testing.assert_allclose(network.embeddings, slow.network.embeddings, rtol=2e-3, atol=2e-4)
    for name, layer, wanted in zip(network.layers._fields, network.layers, slow.network.layers, strict=True):
        np.testing.assert_allclose(layer, wanted, rtol=2e-3, atol=2e-4, err_msg=name)


def test_empty_sentences_do_not_change_the_tables() -> None:
    learned = tables()
    learn.learn(np.zeros(0, np.uint32), lexicon_of(MANY), learned)
    learn.learn(np.zeros(3, np.uint32), lexicon_of(MANY), learned)
    assert not learned.stage1[:, :4].any()


def test_a_word_without_counts_is_learned_from_as_unseen() -> None:
    lexicon = lexicon_of([["new", "York"]])
    learned = Tables.of((1 << 12, 1 << 12, 1 << 12))
    learn.learn(labels_of([["new", "iPhone"]]), lexicon, learned)
    row = reference.feature(1, 0) % (1 << 12)  # the feature of UNSEEN
    assert learned.stage1[row, 3] > 0 > learned.stage1[row, 0]


def test_certain_words_cause_no_more_updates() -> None:
    corpus = [["a", *["New", "York"] * 4]] * 10
    lexicon, learned = lexicon_of(corpus), tables(rows=4096)
    for _ in range(500):
        before = [table.copy() for table in learned[:3]]
        learn.learn(labels_of(corpus), lexicon, learned)
        if all((a == b).all() for a, b in zip(before, learned[:3], strict=True)):
            break
    else:
        pytest.fail("the tables still change")
