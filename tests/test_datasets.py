"""Test Recasers in other processes: pickled, and as functions that Hugging Face datasets map."""

import pickle
import re
import shutil

import pytest
from support.models import tiny

import capfst
from capfst.exceptions import ModelError

TEXTS = ["it works", None, "", "it works\nit", "IT"] * 20


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cap.fst"
    tiny().save(path)
    return path


def test_a_batch_of_rows_is_recased_and_none_stays_none(path):
    recaser = capfst.load(path)
    rows = {"text": TEXTS, "id": list(range(len(TEXTS)))}
    expected = [None if text is None else recaser(text) for text in TEXTS]
    assert recaser.batch("text")(rows) == {"text": expected}
    assert expected[:5] == ["It works", None, "", "It works\nit", "it"]


def test_a_single_row_is_refused_instead_of_recased_by_characters(path):
    with pytest.raises(TypeError, match=r"'text'.*batched=True"):
        capfst.load(path).batch("text")({"text": "new york", "id": 1})


def test_each_row_is_a_document_of_its_own():
    texts = ["the painter velters lived in rome.", "some velters left."]
    recaser = capfst.load(document=True)
    assert recaser(texts) != [recaser(text) for text in texts]
    assert recaser.batch("text")({"text": texts}) == {"text": [recaser(text) for text in texts]}


@pytest.mark.parametrize("options", [{}, {"sentence_case": True}, {"start_token": "<unk>"}, {"engine": "openfst"}])
def test_a_pickled_recaser_is_the_same(path, options):
    recaser = capfst.load(path, **options)
    data = pickle.dumps(recaser)
    again = pickle.loads(data)
    assert again.options == recaser.options
    assert again("it works") == recaser("it works")
    assert pickle.dumps(again) == data


def test_a_pickled_recaser_finds_its_lists_from_any_folder(path, tmp_path, monkeypatch):
    for name, line in ("words.txt", "IT works"), ("abbreviations.txt", "it"):
        (tmp_path / name).write_text(f"{line}\n")
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(capfst.load(path, words="words.txt", abbreviations="abbreviations.txt"))
    monkeypatch.chdir("/")
    assert pickle.loads(data)("it works") == "IT works"


def test_a_pickled_recaser_refuses_a_changed_model(path):
    data = pickle.dumps(capfst.load(path))
    other = tiny()
    other.arcs["weight"][-1] += 1
    other.save(path)
    assert pickle.dumps(capfst.load(path)) != data
    with pytest.raises(ModelError, match=re.escape(str(path))):
        pickle.loads(data)


@pytest.fixture
def rows(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    return datasets.Dataset.from_dict({"text": TEXTS, "id": list(range(len(TEXTS)))})


@pytest.mark.parametrize("processes", [None, 2])
def test_mapping_a_dataset_recases_its_column(path, rows, processes):
    recaser = capfst.load(path)
    recased = rows.map(recaser.batch("text"), batched=True, batch_size=7, num_proc=processes)
    assert recased["text"][:] == [None if text is None else recaser(text) for text in TEXTS]
    assert recased["id"][:] == rows["id"][:]
    assert recased.features == rows.features


def test_equal_functions_have_equal_fingerprints(path, tmp_path, rows):
    """The fingerprint of the function depends on the model, the options and the column."""
    from datasets.fingerprint import Hasher  # noqa: PLC0415

    fingerprint = Hasher.hash(capfst.load(path).batch("text"))
    assert fingerprint == Hasher.hash(capfst.load(path).batch("text"))
    assert fingerprint != Hasher.hash(capfst.load(path, sentence_case=True).batch("text"))
    assert fingerprint != Hasher.hash(capfst.load(path).batch("id"))
    other = shutil.copy(path, tmp_path / "other.fst")
    assert fingerprint != Hasher.hash(capfst.load(other).batch("text"))
