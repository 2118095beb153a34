"""The report of training on translations; tests/bilingual/ tests what is learned."""

import re

import pytest
from support.models import tiny
from support.translations import Bitext, write

from capfst.exceptions import CorpusError
from capfst.training import TrainedBilingual, train_bilingual


@pytest.fixture
def model(tmp_path):
    tiny().save(tmp_path / "cap.fst")
    return tmp_path / "cap.fst"


@pytest.mark.parametrize(("known", "has_stand_in"), [(0.89, False), (0.9, True)])
def test_the_report(model, known, has_stand_in):
    trained = TrainedBilingual(str(model), 1200, 300, 45, lm_weight=1.0, sigma=3.0, known=known)
    for figure in ("1,200 pairs", "300 of them", "45 rows", str(model)):
        assert figure in str(trained)
    assert ("stand-in" in str(trained)) == has_stand_in
    assert trained.load(sentence_case=True)("it works") == "It works"


def test_too_few_pairs(model, tmp_path):
    pytest.importorskip("scipy", reason="training on translations needs SciPy")
    target, source, align = write(tmp_path, Bitext([], [], []))
    with pytest.raises(CorpusError, match=f"{re.escape(str(target))}, {re.escape(str(source))}"):
        train_bilingual(target, source, align, tmp_path / "bilingual.fst", lm=model)
