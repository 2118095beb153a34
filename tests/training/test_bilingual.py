"""Test the report of training on translations; tests/bilingual/ tests the learned weights."""

import re

import pytest
from support.models import tiny
from support.translations import Bitext, bitext, write

import capfst
from capfst.exceptions import CorpusError
from capfst.training.bilingual import TrainedBilingual, train_bilingual


@pytest.fixture
def model(tmp_path):
    tiny().save(tmp_path / "cap.fst")
    return tmp_path / "cap.fst"


def report(model, known: float) -> TrainedBilingual:
    return TrainedBilingual(str(model), 1200, 300, 45, lm_weight=1.0, sigma=3.0, known=known)


@pytest.mark.parametrize("known", [0.89, 0.9])
def test_the_report_shows_the_figures_and_opens_the_model(model, known):
    trained = report(model, known)
    for figure in ("1,200 pairs", "300 of them", "45 rows", str(model)):
        assert figure in str(trained)
    assert trained.load(sentence_case=True)("it works") == "It works"


def test_the_report_notes_a_model_that_was_trained_on_the_translations(model):
    assert str(report(model, 0.5)) == str(report(model, 0.89))
    assert len(str(report(model, 0.9))) > len(str(report(model, 0.89)))


def test_too_few_pairs_are_an_error_that_names_the_files(model, tmp_path):
    pytest.importorskip("scipy", reason="training on translations needs SciPy")
    target, source, align = write(tmp_path, Bitext([], [], []))
    with pytest.raises(CorpusError, match=f"{re.escape(str(target))}, {re.escape(str(source))}"):
        train_bilingual(target, source, align, tmp_path / "bilingual.fst", lm=model)


def test_a_stand_in_that_divides_other_compounds_than_the_model(tmp_path):
    """Indices of alignments count the words of the model, in which "Sous-page" is three, but one in the stand-in."""
    pytest.importorskip("scipy", reason="training on translations needs SciPy")
    texts = bitext(300)
    for i in range(5, 300, 7):
        n = len(texts.target[i].split())
        texts.target[i] += " Sous-page Calc"
        texts.source[i] += " Subpage Calc"
        texts.align[i] += f" {n}-{n + 2} {n + 1}-{n + 3}"
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(texts.target).replace("Sous-page", "Sous"), "utf-8")
    capfst.train(corpus, tmp_path / "cap.fst", clean=False)
    paths = write(tmp_path, texts)
    trained = train_bilingual(*paths, tmp_path / "b.fst", lm=tmp_path / "cap.fst", align_words=True)
    assert trained.known >= 0.9  # otherwise no stand-in is trained
    aligned = trained.load(align_words=True).recase_aligned
    assert aligned("le sous-page calc", "the Subpage Calc", "0-0 1-3 2-4") == "le Sous-page Calc"
