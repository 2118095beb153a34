"""context/domains.py: which sources have one domain, and which words indicate it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.context import domains as module
from capfst.context.domains import MAX_DOMAINS, domain_log_odds, find_domains, group_sources

likeliest = module.likeliest.py_func

WORDS = 400
RNG = np.random.default_rng(5)
TEXTS = RNG.dirichlet(np.full(WORDS, 0.3), 50)
"""Word probabilities in texts that have little in common."""


def text(which: int, size: int = 20_000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([which, seed]).multinomial(size, TEXTS[which])


def groups(*sources: np.ndarray) -> list[int]:
    return group_sources(np.array(sources)).tolist()


def test_halves_of_a_text_have_one_domain() -> None:
    assert groups(text(0, seed=1), text(0, seed=2)) == [0, 0]
    assert groups(text(0)) == [0]


def test_different_texts_have_different_domains() -> None:
    assert groups(text(0, 20_000), text(1, 30_000)) == [1, 0]  # the largest is the first
    assert groups(text(0, 9000), text(1, 30_000), text(0, 9000, 1), text(2, 5000), text(1, 4000, 1)) == [1, 0, 1, 2, 0]


def test_a_mixture_has_its_own_domain_if_it_is_unlike_both() -> None:
    half = text(0, 10_000, 1) + text(1, 10_000, 1)
    assert groups(text(0, 50_000), text(1, 40_000), half) == [0, 1, 2]
    tenth = text(0, 19_500, 1) + text(1, 500, 1)
    assert groups(text(0, 50_000), text(1, 40_000), tenth) == [0, 1, 0]


def test_domains_above_the_maximum_are_merged() -> None:
    found = groups(*(text(k, 30_000 - k) for k in range(MAX_DOMAINS + 3)))
    assert set(found) == set(range(MAX_DOMAINS))
    near = [text(0, 9000, seed) + text(k, 4000) for seed, k in enumerate(range(1, MAX_DOMAINS + 1))]
    found = groups(*(text(k, 30_000 - k) for k in range(10, 10 + MAX_DOMAINS - 1)), *near)
    assert len(set(found[: MAX_DOMAINS - 1])) == MAX_DOMAINS - 1
    assert len(set(found[MAX_DOMAINS - 1 :])) == 1  # the more similar ones are merged


def test_a_few_words_do_not_keep_a_domain_for_themselves() -> None:
    """Though they are less like the other sources than two large ones are like each other."""
    large = [text(k, 900_000 - k) for k in range(MAX_DOMAINS)]
    large[0] += text(1, 500_000)
    assert len(set(groups(*large, text(20, 500), text(21, 400))[:MAX_DOMAINS])) == MAX_DOMAINS
    assert len(set(groups(*large, text(20, 900_000), text(21, 900_000))[:MAX_DOMAINS])) < MAX_DOMAINS


def test_the_likeliest_domain_is_the_first_of_equal_ones() -> None:
    sums = np.array([3, 7, 7, -2])
    assert likeliest(sums) == 1
    assert likeliest(sums[:0]) == 0


def test_small_sources_join_the_most_similar_domain() -> None:
    large = [text(k % 3, 5000 + k, seed=k) for k in range(module._N_COMPARED)]
    small = [text(k % 3, 1500, seed=100 + k) for k in range(20)]
    found = groups(*small, *large)
    assert all(found[k] == found[20 + k % 3] for k in range(20))
    assert len(set(found)) == 3


def test_a_source_without_frequent_words() -> None:
    assert groups(text(0), np.zeros(WORDS, int))[0] == 0
    assert groups(np.zeros(WORDS, int)) == [0]


@settings(deadline=None)
@given(counts=st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=9))
def test_domains_are_numbered_by_size(counts: list[list[int]]) -> None:
    found = groups(*map(np.array, counts))
    sizes = np.bincount(found, [sum(row) for row in counts])
    assert sorted(set(found)) == list(range(len(sizes)))
    assert sizes.tolist() == sorted(sizes, reverse=True)
    assert len(sizes) <= MAX_DOMAINS


def test_log_odds_favor_the_domain_with_more_of_the_word() -> None:
    #                   only here  only there  both    rare    less often here
    counts = np.array([[50_000, 0, 90_000, 40, 20_000], [0, 50_000, 90_000, 0, 40_000]])
    log_odds = domain_log_odds(counts)
    assert log_odds.dtype == np.int8
    assert log_odds.shape == (5, 2)
    signs = np.sign(log_odds).tolist()
    assert signs[0] == [1, -1]
    assert signs[1] == [-1, 1]
    assert abs(log_odds[2]).max() < 10
    assert signs[3] == [0, 0]
    assert signs[4] == [-1, 1]
    # ln (p(word | domain) / p(word)), in 32nds
    assert log_odds[4, 1] == pytest.approx(32 * np.log(40_000 / 180_000 / (60_000 / 340_000)), abs=3)


def test_log_odds_fit_in_a_byte() -> None:
    log_odds = domain_log_odds(np.array([[10**7, 0], [0, 10**7]]))
    assert log_odds.min() == -127
    assert log_odds.max() <= 127
    assert domain_log_odds(np.zeros((1, 3), int)).tolist() == [[0], [0], [0]]


@pytest.mark.slow
@settings(deadline=None)
@given(words=st.lists(st.integers(1, 4), min_size=200, max_size=400))
def test_one_domain_has_no_log_odds(words: list[int]) -> None:
    assert not domain_log_odds(np.bincount(words, minlength=5)[None]).any()


def test_sources_of_labels() -> None:
    rng = np.random.default_rng(1)
    word_of = np.array([0, 0, *np.repeat(np.arange(1, WORDS), 2), 0])  # two labels per word

    def source(which: int) -> np.ndarray:
        words = rng.choice(WORDS - 1, 9000, p=TEXTS[which, :-1] / TEXTS[which, :-1].sum()) + 1
        labels = 2 * words + rng.integers(0, 2, 9000)
        labels[::10] = 0
        return labels.astype(np.uint32)

    sources = [source(0), source(1), source(0), np.zeros(0, np.uint32)]
    totals = sum(np.bincount(word_of[labels[labels > 0]], minlength=WORDS) for labels in sources).astype(float)
    log_odds, of_languages = find_domains(sources, np.zeros(4, np.int64), word_of, totals, np.ones(WORDS, np.bool_))
    assert of_languages.shape == (WORDS, 0)
    for labels, domain in zip(sources, [0, 1, 0], strict=False):
        votes = log_odds[word_of[labels[labels > 0]]].sum(0, dtype=np.int64)
        assert likeliest(votes) == domain


def test_names_count_less_for_languages() -> None:
    """Text of the first language alone has the words 0 and 1, of which 1 is a name; of the second, words 2 and 3."""
    word_of = np.array([0, 0, 1, 2, 3])  # label 0 is none
    sources = [np.array([1, 2, 0] * 500, np.uint32), np.array([3, 4, 0] * 500, np.uint32)]
    capitalized = np.array([False, True, False, False])
    of_domains, log_odds = find_domains(sources, np.array([0, 1]), word_of, np.full(4, 500.0), capitalized)
    assert not of_domains.any()
    assert [likeliest(row) for row in log_odds] == [0, 0, 1, 1]
    assert log_odds[1].tolist() == np.rint(log_odds[0] / 4).tolist()
    names, words = 2 * log_odds[1].astype(np.int64), log_odds[2].astype(np.int64)
    assert likeliest(names + words) == 1
    assert likeliest(names) == 0


def test_domains_with_few_words_are_merged_with_the_most_similar_one() -> None:
    counts = np.array([text(0, 50_000), text(1, 40_000), text(1, 1000, 1) + text(2, 3000), text(2, 2000, 1)])
    assert group_sources(counts).tolist() == [0, 1, 2, 3]
    assert group_sources(counts, least=5000).tolist() == [0, 1, 2, 2]
    assert group_sources(counts, least=7000).tolist() == [0, 1, 1, 1]
    assert group_sources(counts, least=60_000).tolist() == [0, 0, 0, 0]
    assert group_sources(counts[3:], least=60_000).tolist() == [0]


def test_languages_have_domains_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Language 0 has three sources of two domains, language 1 one source; they share half of the words."""
    rng = np.random.default_rng(2)
    word_of = np.arange(3 * WORDS // 2 + 1) - 1  # label 0 is none

    def source(which: int, first: int) -> np.ndarray:
        labels = first + 1 + rng.choice(WORDS, 40_000, p=TEXTS[which])
        labels[::10] = 0
        return labels.astype(np.uint32)

    sources = [source(0, 0), source(1, 0), source(0, 0), source(2, WORDS // 2)]
    totals = sum(np.bincount(word_of[labels[labels > 0]], minlength=len(word_of) - 1) for labels in sources)
    capitalized = np.zeros(len(totals), np.bool_)
    arguments = sources, np.array([0, 0, 0, 1]), word_of, totals.astype(float), capitalized
    assert find_domains(*arguments)[0].shape == (len(totals), 1)
    monkeypatch.setattr(module, "LEAST_WORDS", 30_000)
    of_domains, of_languages = find_domains(*arguments)
    assert of_domains.shape == of_languages.shape == (len(totals), 2)
    own = np.array([likeliest(row) for row in of_languages])
    assert set(own) == {0, 1}
    assert (of_domains[own == 1, 0] == of_domains[own == 1, 1]).all()
    for labels, language, domain in zip(sources, [0, 0, 0, 1], [0, 1, 0, 0], strict=True):
        words = word_of[labels[labels > 0]]
        assert likeliest(of_languages[words].sum(0, dtype=np.int64)) == language
        votes = of_domains[words[own[words] == language]].sum(0, dtype=np.int64)
        assert likeliest(votes) == domain
