"""Test the report of training on translations; tests/bilingual/ tests the learned weights."""

import re

import pytest
from support.models import tiny
from support.translations import Bitext, bitext, write

from capfst.exceptions import CorpusError
from capfst.training.bilingual import TrainedBilingual, train_bilingual


@pytest.fixture
def model(tmp_path):
    tiny().save(tmp_path / "cap.fst")
    return tmp_path / "cap.fst"


def test_the_report_shows_the_figures_and_opens_the_model(model):
    trained = TrainedBilingual(str(model), pairs=1200, rows=45)
    for figure in ("1,200 pairs", "45 rows", str(model)):
        assert figure in str(trained)
    assert trained.load(sentence_case=True)("it works") == "It works"


def test_too_few_pairs_are_an_error_that_names_the_files(model, tmp_path):
    target, source, align = write(tmp_path, Bitext([], [], []))
    with pytest.raises(CorpusError, match=f"{re.escape(str(target))}, {re.escape(str(source))}"):
        train_bilingual(target, source, align, tmp_path / "bilingual.fst", lm=model)


def test_translations_in_lower_case_are_a_warning(model, tmp_path, caplog):
    texts = bitext(30)
    target, source, align = write(tmp_path, texts._replace(target=[line.lower() for line in texts.target]))
    train_bilingual(target, source, align, tmp_path / "bilingual.fst", lm=model)
    assert caplog.messages[0].startswith(f"{target}: it has hardly any capitals")
