"""RareWords of context/lexicon.py: shape evidence by hash, and words that the LM lacks but the corpus has."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capfst
from capfst.context.context_model import Context
from capfst.context.lexicon import NO_RARE_WORDS, UNSEEN, RareWords, find_rare
from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.write import write_fst
from capfst.models.convert import mix_models

hashes = st.integers(0, 2**32 - 1)


def found(rare: RareWords, wanted: list[int]) -> list[int]:
    evidence = np.empty(len(wanted), np.uint8)
    find_rare(rare, np.array(wanted, np.uint32), evidence)
    return evidence.tolist()


@settings(deadline=None)
@given(st.dictionaries(hashes, st.integers(1, 148), max_size=200), st.lists(hashes, max_size=50))
def test_each_word_has_its_evidence(words: dict[int, int], others: list[int]) -> None:
    rare = RareWords.of(np.array([*words], np.uint32), np.array([*words.values()], np.uint8))
    assert rare.is_valid()
    in_reverse = sorted(words.items(), reverse=True)  # of several words with the same bits, the first is found
    by_bits = {(h * (len(rare.begins) - 1) >> 32, h & 0xFFFF): e for h, e in in_reverse}
    if len(by_bits) == len(words):
        assert found(rare, [*words]) == [*words.values()]
    n_buckets = len(rare.begins) - 1
    assert found(rare, others) == [by_bits.get((h * n_buckets >> 32, h & 0xFFFF), UNSEEN) for h in others]


def test_an_empty_table() -> None:
    none = RareWords.of(np.empty(0, np.uint32), np.empty(0, np.uint8))
    for mine, other in zip(none, NO_RARE_WORDS, strict=True):
        assert np.array_equal(mine, other)
    assert found(none, [0, 5, 2**32 - 1]) == [UNSEEN] * 3


NAMES = ["Zorblax", "Quvverd", "Plimtosh", "Grendwick", "Vostrime", "Threlkow"]
SENTENCES = [
    f"We {verb} the {noun} of {name}.\nShe {verb} no {noun}.\n"
    for name in [*NAMES, "zumbrelk", "plicktern", "cromdack"]
    for verb in ("saw", "left", "met", "knew", "had")
    for noun in ("cat", "king", "train", "river")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rare")
    (folder / "text.txt").write_text("".join(SENTENCES))
    capfst.train(folder / "text.txt", folder / "cap.fst", max_words=16)
    return folder


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_words_outside_the_vocabulary_keep_their_case(folder: Path, engine: str) -> None:
    recaser = capfst.load(folder / "cap.fst", engine=engine)
    assert not any(map(recaser.knows, [*NAMES, "zumbrelk"]))
    for word in [*NAMES, "zumbrelk", "plicktern", "cromdack"]:
        assert recaser(f"she met the train of {word.lower()}.").endswith(f" met the train of {word}.")


def test_a_mixture_keeps_them_too(folder: Path) -> None:
    """A word that only another model has in its vocabulary has the evidence that it had."""
    (folder / "other.txt").write_text("They saw a plicktern.\nA Zorblax came to us.\n" * 3)
    capfst.train(folder / "other.txt", folder / "other.fst", context=False)
    mix_models([folder / "cap.fst", folder / "other.fst"], folder / "mixed.fst", weights=[0.9, 0.1])
    recaser = capfst.load(folder / "mixed.fst")
    assert recaser.knows("zorblax")
    for word in "Zorblax", "Vostrime", "plicktern":
        assert recaser(f"she met the train of {word.lower()}.").endswith(f" met the train of {word}.")


def test_a_table_that_would_be_left_is_damaged(folder: Path) -> None:
    model = CapFst.open(folder / "cap.fst")
    context = Context.of(model)
    assert context is not None
    begins = context.rare.begins.copy()
    begins[-1] += 1
    parts = {"context": context._replace(rare=context.rare._replace(begins=begins)).part()}
    write_fst(folder / "bad.fst", model.states, model.arcs, model.symbols, model.start, model.signature, parts)
    with pytest.raises(ModelError, match="rare words"):
        Context.of(CapFst.open(folder / "bad.fst"))
