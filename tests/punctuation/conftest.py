"""A small model that has learned punctuation."""

from itertools import islice
from pathlib import Path

import pytest
from support.plain_punctuation import sentences

import capfst
from capfst.punctuation import learn, train


@pytest.fixture(scope="package")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("punctuation") / "corpus.txt"
    path.write_text("".join(f"{sentence}\n" for sentence in islice(sentences(1), 3000)))
    return path


@pytest.fixture(scope="package")
def few_steps() -> pytest.MonkeyPatch:
    """Learn in few steps: the rules of the corpus are simple."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "LEAST_STEPS", 400)
        patch.setattr(learn, "RATE", 6e-3)
        patch.setattr(learn, "WARM_UP", 10)
        patch.setattr(train, "FREQUENT", 2)
        yield patch


@pytest.fixture(scope="package")
def model(corpus: Path, few_steps: pytest.MonkeyPatch) -> Path:
    path = corpus.with_name("cap.fst")
    capfst.train(corpus, path, restore="punctuation,case", clean=False, jobs=2)
    return path
