"""context/casing_costs.py: its arithmetic, and its costs of whole texts against a slow reference implementation."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import contextual
from support import slow_context as slow

from capfst.casing.shapes import AS_FORM, Shape
from capfst.context import shape_scores as score
from capfst.context.casing_costs import casing_costs
from capfst.context.context_model import EMPTY_ROW, ROWS_PER_SLOT
from capfst.recaser import Recaser, load
from capfst.text.tokenizer import NEWLINE

BITS = 5
rows = st.tuples(st.integers(0, ROWS_PER_SLOT), *[st.integers(1, 255)] * 3)


@settings(deadline=None)
@given(
    table=st.lists(rows, min_size=1 << BITS, max_size=1 << BITS),
    features=st.lists(st.integers(0, ROWS_PER_SLOT << BITS) | st.integers(0, 2**32 - 1), min_size=1, max_size=40),
)
def test_sums_exclude_rows_of_other_features(table: list[tuple[int, ...]], features: list[int]) -> None:
    packed = np.array([a | b << 8 | c << 16 | owner << 24 for owner, a, b, c in table], np.uint32)
    packed[:3] = EMPTY_ROW
    scores = [0, *score.scores_of(packed, np.array(features, np.uint32), len(features))]
    assert scores == slow.total(packed, features)


# ---- whole texts

MADE_UP = """\
THE iPod of McDonald's, o'neill's and dvds; X-Ray mp3s in New-York
  the python’s état-major ΟΔΟΣ ㏂ 漢字 X@y.z http://A.b #Tag 1990 ... “Python” 'tis

a
I é É 3D U. <unk> <URL>
"""
UNSEEN_CASINGS = '*step* is zero, "ValueError" is raised.\nas regular assignments. Previously,\n'
"""Words that the model has only in lower case."""
PROXIES = "thè pythōn ümodulé, of ðe pÿthons\nø çlasses Ìf ñumbers ΐf xyzzyš\n"
"""Words that the model has without diacritics, and some others."""


def test_the_model_has_two_domains_and_all_rows_of_a_slot(recaser: Recaser) -> None:
    context = recaser.pipeline.context
    assert context is not None
    assert context.n_domains == 2
    assert set(range(1, 1 + ROWS_PER_SLOT)) <= set((context.stage1 >> 24).tolist()) <= set(range(1 + ROWS_PER_SLOT))


def compare(recaser: Recaser, text: str, guess: bool, sentence: int = 10**6) -> slow.Costs:
    """Check that the kernels give a text the costs of the reference implementation, and return these. sentence: the
    number of words after which a new sentence begins."""
    context = recaser.pipeline.context
    assert context is not None
    buf = np.frombuffer(text.encode(), np.uint8)
    words = recaser.pipeline.loaded.transducer.words(buf)
    begins = (np.arange(1, 1 + len(words.starts)) % sentence == 0) & (words.token_types != NEWLINE)
    words = words._replace(may_begin=begins, begin_odds=np.ones(len(begins), np.float32))
    found = casing_costs(context, buf, words, recaser.pipeline.loaded.transducer, guess, True)
    assert found.arc_costs is not None
    assert found.shapes is not None
    assert found.options is not None
    wanted = slow.casing_costs_of(context, buf, words, recaser.pipeline.loaded.transducer, guess, begins)
    np.testing.assert_allclose(
        found.options[: len(wanted.options)], np.reshape(wanted.options, (-1, 5)), rtol=1e-3, atol=1e-3
    )
    assert found.arc_costs.tolist() == pytest.approx(list(chain(*wanted.arc_costs)), rel=1e-3, abs=1e-3)
    assert found.shapes.tolist() == wanted.shapes
    # Options and the costs of pruned forms are returned only on request.
    usual = casing_costs(context, buf, words, recaser.pipeline.loaded.transducer, guess)
    assert usual.options is None
    assert usual.shapes is not None
    assert usual.arc_costs is not None
    assert usual.arc_costs.tolist() == slow.with_pruned(words, found.arc_costs)
    assert (usual.shapes == found.shapes).all()
    return wanted


@pytest.mark.parametrize("guess", [True, False])
def test_costs_of_texts_match_the_reference(recaser: Recaser, guess: bool) -> None:
    texts = [MADE_UP.rstrip("\n"), "", "\n\n", "\n".join(contextual.OTHERS[:20] + contextual.LINES[:20])]
    texts += [MADE_UP, MADE_UP.lower(), "\n".join(contextual.UNHEARD[:150]), " ".join(contextual.UNHEARD[-20:])]
    texts += [UNSEEN_CASINGS, 'is no longer wrapped to form a new "exceptiongroups".']
    shapes = {shape for text in texts for shape in compare(recaser, text, guess).shapes}
    assert shapes - {Shape.LOWER} == {Shape.CAPITALIZED, AS_FORM} | ({Shape.MIXED} if guess else set())
    assert Shape.LOWER in shapes or not guess


def test_costs_with_a_network_match_the_reference(recaser: Recaser, with_network: Recaser) -> None:
    text = "\n".join([MADE_UP, *contextual.OTHERS[:20], *contextual.UNHEARD[:60]])
    assert compare(with_network, text, True) != compare(recaser, text, True)


def test_oov_words_have_the_record_of_the_word_without_diacritics(recaser: Recaser) -> None:
    assert Shape.CAPITALIZED in compare(recaser, PROXIES, True).shapes
    assert Shape.CAPITALIZED not in compare(recaser, "xpythōn gûidox", True).shapes


@pytest.mark.parametrize("sentence", [1, 2, 5])
def test_sentences_in_a_line_are_independent(recaser: Recaser, sentence: int) -> None:
    text = "\n".join([MADE_UP, *contextual.OTHERS[:20], *contextual.UNHEARD[:20]])
    assert compare(recaser, text, True, sentence) != compare(recaser, text, True)


def test_pretokenized_words(recaser: Recaser) -> None:
    recaser = load(recaser.model.path)
    recaser.pipeline.loaded.pretokenized = recaser.pipeline.loaded.transducer.pretokenized = True
    compare(recaser, MADE_UP, True)


def test_the_least_option_is_the_cost_and_gives_the_shape(recaser: Recaser) -> None:
    context = recaser.pipeline.context
    assert context is not None
    text = MADE_UP + UNSEEN_CASINGS + "\n".join(contextual.UNHEARD[:100])
    buf = np.frombuffer(text.encode(), np.uint8)
    words = recaser.pipeline.loaded.transducer.words(buf)
    costs = casing_costs(context, buf, words, recaser.pipeline.loaded.transducer, True, include_pruned=True)
    assert costs.arc_costs is not None
    assert costs.shapes is not None
    assert costs.options is not None
    offsets = np.cumsum(words.n_forms) - words.n_forms
    cases = set()
    for i, (first, forms) in enumerate(zip(words.first_labels.tolist(), words.n_forms.tolist(), strict=True)):
        option, shape = costs.options[i], int(costs.shapes[i])
        least = option.min()
        assert option[4 if shape == AS_FORM else shape] == least
        seen = set(context.shapes[first : first + forms].tolist()) if forms else set()
        unseen = {k for k in range(4) if option[k] < np.inf}
        assert not seen & unseen
        if forms:
            assert costs.arc_costs[offsets[i]] == least
            assert option[4] < np.inf
            assert unseen <= {Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER}
            cases.add("caseless" if seen == {Shape.CASELESS} else "known" if shape == AS_FORM else "unseen casing")
            if seen == {Shape.CASELESS}:
                assert not unseen
        elif unseen:
            assert unseen == {Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED}
            assert option[4] == np.inf
            cases.add("guessed")
        else:
            cases.add("not a word")
    assert cases == {"caseless", "known", "unseen casing", "guessed", "not a word"}


def test_the_domain_of_a_line_depends_on_its_words(recaser: Recaser) -> None:
    """The costs of a word that could be of either domain depend on the line's other words."""
    context = recaser.pipeline.context
    assert context is not None

    def costs(line: str) -> np.ndarray:
        buf = np.frombuffer(line.encode(), np.uint8)
        options = casing_costs(
            context,
            buf,
            recaser.pipeline.loaded.transducer.words(buf),
            recaser.pipeline.loaded.transducer,
            True,
            include_pruned=True,
        ).options
        assert options is not None
        return options[0]

    near = "python , , , "
    assert (costs(near + contextual.LINES[7].lower()) != costs(near + contextual.OTHERS[7].lower())).any()
