"""context/adapt.py: counts from shape evidence and back; weights as they are in the file; other models' words."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.models import without_context
from support.plain_context import shape_evidence

import capfst
from capfst.casing.shapes import N_SHAPES
from capfst.context import adapt
from capfst.context.adapt import adapted, counts_of, with_counts
from capfst.context.context_model import LEAST_PENALTY, Context
from capfst.context.lexicon import BEGIN, NO_CASE, UNSEEN, WORD_RECORD
from capfst.context.sample import sample
from capfst.context.train import Sample
from capfst.corpus.labels import LabeledCorpus
from capfst.fst.read import CapFst
from capfst.models.convert import mix_models
from capfst.system.progress import progress


@pytest.fixture(scope="module")
def model(contextual_model: Path) -> CapFst:
    return CapFst.open(contextual_model)


@pytest.fixture(scope="module")
def context(model: CapFst) -> Context:
    found = Context.of(model)
    assert found is not None
    return found


def records(evidence: list[int], totals: list[int], context: Context) -> Context:
    words = np.zeros(len(evidence), WORD_RECORD)
    words["shape_evidence"] = evidence
    words["unseen_penalty"] = LEAST_PENALTY + np.log1p(totals)
    return context._replace(words=words, language_evidence=np.zeros((len(evidence), 0), np.uint8))


def test_counts_have_the_evidence_that_they_are_from(context: Context) -> None:
    rng = np.random.default_rng(1)
    counts = np.concatenate([rng.integers(0, most, (500, N_SHAPES)) for most in (2, 3, 5, 30, 3000)])
    counts *= rng.random(counts.shape) < 0.5
    evidence, totals = [shape_evidence(row) for row in counts.tolist()], counts.sum(1)
    found = counts_of(records(evidence, totals.tolist(), context), np.arange(len(counts), dtype=np.int32))
    assert (found.totals == totals).all()
    assert (found.shapes.sum(1) == np.minimum(totals, adapt.MOST_COUNTED)).all()
    # With three shapes or more, the fraction of the most frequent may be less than a half.
    again = np.array([shape_evidence(row) for row in found.shapes.tolist()])
    two = (counts > 0).sum(1) <= 2
    assert (again == evidence)[two].mean() > 0.99
    assert ((again - 1) // 30 == (np.array(evidence) - 1) // 30)[two].all()


def test_any_byte_is_legal(context: Context) -> None:
    found = counts_of(records([*range(256)], [7] * 256, context), np.arange(256, dtype=np.int32))
    assert found.shapes.min() >= 0
    assert not found.shapes[[UNSEEN, *range(150, 256)]].any()


def adapted_to(model: CapFst, context: Context, labels: np.ndarray) -> Context:
    """Return the context model adapted to a corpus of one source, which has the labels of the model."""
    corpus = LabeledCorpus(labels, np.array([labels.size]))
    learned = Sample.of(sample(*corpus, 10_000), np.zeros(1, np.int64), [], 1)
    own = np.arange(len(model.symbols))
    return adapted(context, model.symbols, model.starts, corpus, own, learned, partial(progress, quiet=True))


def test_without_text_nothing_changes(model: CapFst, context: Context) -> None:
    found = adapted_to(model, context, np.zeros(0, np.uint32))
    assert found.rare is context.rare
    assert found.network is context.network
    for name, array in context._asdict().items():
        assert name in ("rare", "network") or np.array_equal(getattr(found, name), array), name


def test_counts_of_words_that_the_model_lacks(model: CapFst, context: Context) -> None:
    """Other words keep their records."""
    first = model.starts[:-1]
    words = context.words.copy()
    changed = np.flatnonzero(words["shape_evidence"][first] < BEGIN)[:3]
    words["shape_evidence"][first[changed]] = UNSEEN
    context = context._replace(words=words)

    def with_shapes(counts: list[int]) -> Context:
        shapes = np.zeros((len(first), N_SHAPES), np.int64)
        shapes[changed] = counts
        more = adapt.Counts(shapes, shapes.sum(1).astype(float), np.zeros((0, *shapes.shape), np.int32))
        return with_counts(context, model.symbols, model.starts, more)

    found, in_lower = with_shapes([0, 0, 0, 5]), with_shapes([5, 0, 0, 0])
    assert (found.words["shape_evidence"][first[changed]] == shape_evidence([0, 0, 0, 5])).all()
    assert (found.words["scores"][first[changed]] > in_lower.words["scores"][first[changed]]).all()
    others = np.setdiff1d(np.arange(len(words)), first[changed])
    assert (found.words[others] == words[others]).all()


@pytest.mark.parametrize("has_context", [True, False])
def test_a_mixture_writes_the_words_of_both(contextual_model: Path, tmp_path: Path, has_context: bool) -> None:
    names = "We use PyTorch and GraphQL at Zarniwoop.\nThey met PyTorch people, and GraphQL and Zarniwoop fans.\n"
    (tmp_path / "text").write_text(names * 20, "utf-8")
    capfst.train(tmp_path / "text", tmp_path / "other.fst", clean=False)
    other = tmp_path / "other.fst"
    if not has_context:
        other = without_context(other, tmp_path / "alone.fst")
    mix_models([contextual_model, other], tmp_path / "mixed.fst", weights=[0.8, 0.2])
    for engine in "fast", "openfst":
        recaser = capfst.load(tmp_path / "mixed.fst", engine=engine)
        assert recaser("we use pytorch and graphql too") == "we use PyTorch and GraphQL too"


def test_cased_words_stay_cased(context: Context, model: CapFst) -> None:
    """A record of a token without case gets no evidence."""
    first = model.starts[:-1]
    no_case = np.flatnonzero(context.words["shape_evidence"][first] == NO_CASE)
    assert len(no_case)
    shapes = np.zeros((len(first), N_SHAPES), np.int64)
    shapes[no_case] = [3, 0, 0, 0]
    more = adapt.Counts(shapes, shapes.sum(1).astype(float), np.zeros((0, *shapes.shape), np.int32))
    found = with_counts(context, model.symbols, model.starts, more)
    assert (found.words["shape_evidence"][first[no_case]] == NO_CASE).all()


def test_only_features_that_own_a_slot_are_learned(model: CapFst, context: Context) -> None:
    """The tables keep their owners; slots without one stay empty, and words have weights of their own."""
    empty = np.full_like(context.stage1, 0x00808080)
    rng = np.random.default_rng(2)
    words = model.starts[:-1][context.words["shape_evidence"][model.starts[:-1]] < 61]
    sentences = rng.choice(words, (200, 8)).astype(np.uint32)
    labels = np.concatenate([sentences, np.zeros((200, 1), np.uint32)], axis=1).ravel()
    found = adapted_to(model, context, labels)
    for name in "stage1", "stage2", "first_pass":
        before, after = getattr(context, name), getattr(found, name)
        assert (before >> 24 == after >> 24).all()
        assert 0 < (before != after).mean() < 0.9, name
    alone = adapted_to(model, context._replace(stage1=empty), labels)
    assert (alone.stage1 == empty).all()
    assert (alone.words["scores"] != context.words["scores"]).any()
