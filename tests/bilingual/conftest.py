"""Models with and without a part learned from translations."""

from pathlib import Path

import pytest
from support.translations import bitext, write

import capfst
from capfst.training.bilingual import train_bilingual


@pytest.fixture(scope="session")
def monolingual_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the translations alone; tests must not write to it."""
    folder = tmp_path_factory.mktemp("monolingual")
    target, _, _ = write(folder, bitext(600))
    capfst.train(target, folder / "cap.fst", clean=False)
    return folder / "cap.fst"


@pytest.fixture(scope="session")
def bilingual_model(monolingual_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model after training on the source; tests must not write to it."""
    folder = tmp_path_factory.mktemp("bilingual")
    train_bilingual(*write(folder, bitext(600)), folder / "bilingual.fst", lm=monolingual_model)
    return folder / "bilingual.fst"


@pytest.fixture(scope="module")
def recaser(bilingual_model: Path) -> capfst.Recaser:
    """Return a Recaser of the bilingual model with the default options."""
    return capfst.load(bilingual_model)
