"""context/model.py: the file beside a model: what was written is read again, and nothing else."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from support import contextual
from support.models import SIGNATURE, build
from support.plain_context import hash_word, shape_evidence, word_features

from capfst.casing.shapes import N_SHAPES, shapes
from capfst.context.classes import word_classes
from capfst.context.domains import MAX_DOMAINS
from capfst.context.learn import Lexicon, Tables
from capfst.context.model import EMPTY_ROW, ROWS_PER_SLOT, Context, Parameters, forget, path_of, quantize, writing
from capfst.context.words import hash_words
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.system import verified

WORDS = ["<unk>", "a", "iphone", "iPhone", "york", "é"]
MODEL = build(WORDS, {(k,): 1.0 for k in range(1, 7)}, {}, {(): 1.0})
STARTS = np.array([1, 2, 3, 5, 6, 7])
COUNTS = np.array([[0, 0, 0, 0], [5, 2, 0, 0], [1, 0, 0, 9], [0, 200, 0, 0], [0, 0, 0, 0]])
LOG_ODDS = np.array([[0, 0], [-127, 127], [1, -2], [3, 4], [0, 9]], np.int8)
RANKS = np.array([0, 1, 2, 0, 0], np.uint8)
ROWS = 64, 32


def lexicon() -> Lexicon:
    word_of = np.array([0, 0, 1, 2, 2, 3, 4])
    shape_of = shapes(MODEL.symbols)
    classes = word_classes(np.arange(7, dtype=np.uint8) + 2, word_of, shape_of == 0, np.arange(7))
    return Lexicon(word_of, shape_of, hash_words(MODEL.symbols, STARTS), RANKS, classes, COUNTS)


def learned(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    tables = Tables.of(ROWS)
    for table in tables:
        table[:, :N_SHAPES] = rng.normal(0, 1, (len(table), N_SHAPES)) * (rng.random((len(table), 1)) < 0.7)
        table[:, N_SHAPES:] += rng.random((len(table), N_SHAPES))
    return tables


def parameters() -> list[Parameters]:
    return [quantize(learned(seed), lexicon(), STARTS) for seed in (1, 2)]


@pytest.fixture
def written(tmp_path: Path) -> CapFst:
    opened = MODEL.save(tmp_path / "cap.fst")
    with writing(opened.path, SIGNATURE, MODEL.symbols, STARTS, lexicon(), LOG_ODDS, parameters()):
        pass
    return opened


def test_what_was_written_is_read(written: CapFst) -> None:
    context = Context.beside(written)
    assert context is not None
    for name in ("word_scores", "stage1", "stage2"):
        assert (getattr(context, name) == np.stack([getattr(domain, name) for domain in parameters()])).all()
    assert context.scales.tolist() == [list(domain.scales) for domain in parameters()]
    known = lexicon()
    assert (context.shapes == known.shapes).all()
    assert len(context.words) == len(MODEL.symbols)
    for number, label in enumerate(STARTS[:-1]):
        record, counts = context.words[label], COUNTS[number]
        hashes = hash_word(WORDS[label - 1].lower())
        assert (record["word_hash"], record["suffix2_hash"]) == (hashes[0], hashes[7])
        assert (record["shape_evidence"], record["frequency_rank"]) == (shape_evidence(counts.tolist()), RANKS[number])
        assert [record["lower_class"], record["cased_class"]] == known.classes[number].tolist()
        assert record["unseen_penalty"] == pytest.approx(1 + np.log(1 + counts.sum()))
        assert record["one_letter"] == (WORDS[label - 1] in ("a", "é"))
        assert record["domain_log_odds"].tolist() == [*LOG_ODDS[number], *[0] * (MAX_DOMAINS - 2)]
    assert not any(context.words[4].tolist()[:-1])  # a rarer form


def test_weights_are_whole_numbers_of_their_scale() -> None:
    tables = learned(1)
    found = quantize(tables, lexicon(), STARTS)
    for table, packed, scale in zip(tables, (found.stage1, found.stage2), found.scales, strict=True):
        less = table[:, 1:N_SHAPES].astype(float) - table[:, :1]
        assert abs(less).max() / scale == pytest.approx(127)
        assert len(packed) == len(table) // ROWS_PER_SLOT
        for slot, row in enumerate(packed.tolist()):
            *values, owner = row.to_bytes(4, "little")
            rivals = range(slot, len(table), len(packed))
            if owner == 0:
                assert row == EMPTY_ROW
                assert all(abs(less[rival]).max() < scale for rival in rivals)
                continue
            kept = slot + (owner - 1) * len(packed)
            assert [value - 128 for value in values] == pytest.approx(less[kept] / scale, abs=0.51)
            size = [abs(np.rint(less[k] / scale)).sum() * np.sqrt(table[k, N_SHAPES:].sum()) for k in rivals]
            assert size[owner - 1] == pytest.approx(max(size))
    # The scores of a word are of all rows.
    for number, label in enumerate(STARTS[:-1]):
        hashes, evidence = hash_word(WORDS[label - 1].lower()), shape_evidence(COUNTS[number].tolist())
        rows = [f % ROWS[0] for f in word_features(hashes, evidence)]
        less = tables.stage1[rows, 1:N_SHAPES] - tables.stage1[rows, :1]
        assert found.word_scores[label].tolist() == np.rint(less / found.scales[0]).sum(0).tolist()
    assert not found.word_scores[[0, 4]].any()


def test_tables_that_have_learned_nothing() -> None:
    found = quantize(Tables.of(ROWS), lexicon(), STARTS)
    assert (found.stage1 == EMPTY_ROW).all()
    assert not found.word_scores.any()
    assert found.scales == (1, 1)


def test_no_file_is_no_context(written: CapFst) -> None:
    path = path_of(written.path)
    assert path.name == "cap.fst.context"
    forget(written.path)
    assert not path.exists()
    assert Context.beside(written) is None
    forget(written.path)


def refused(model: CapFst) -> str:
    with pytest.raises(CapfstError) as caught:
        Context.beside(model)
    message = str(caught.value)
    assert str(path_of(model.path)) in message
    return message


@pytest.mark.parametrize("content", [b"", b"x", b"{}\n", b"\xff" * 9000, b"\0" * 9000, b"[" * 9000, b"[1]".ljust(9000)])
def test_another_file_in_its_place(written: CapFst, content: bytes) -> None:
    path_of(written.path).write_bytes(content)
    assert "remove" in refused(written)


def test_a_folder_in_its_place(written: CapFst) -> None:
    path_of(written.path).unlink()
    path_of(written.path).mkdir()
    assert "check" in refused(written)


def test_a_cut_or_longer_file(written: CapFst) -> None:
    path = path_of(written.path)
    whole = path.read_bytes()
    for size in [1, 100, 4095, 4096, 4500, len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert "damaged" in refused(written)
    path.write_bytes(whole + b"\0")
    assert "damaged" in refused(written)


def test_a_flipped_bit(written: CapFst) -> None:
    """Wherever it is but in the blanks behind the header, which say nothing."""
    path = path_of(written.path)
    whole = bytearray(path.read_bytes())
    text = len(whole[:4096].rstrip())
    rng = np.random.default_rng(0)
    for at in [*range(text), *rng.integers(4096, len(whole), 50).tolist()]:
        changed = whole.copy()
        changed[at] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(changed)
        assert any(advice in refused(written) for advice in ("remove", "copy it again"))


def test_another_version(written: CapFst) -> None:
    path = path_of(written.path)
    path.write_bytes(path.read_bytes().replace(b"context 1", b"context 0", 1))
    assert "no context model of this version: train the model again" in refused(written)


def test_a_file_that_was_found_good_is_checked_again_once_it_has_changed(written: CapFst) -> None:
    path = path_of(written.path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verified, "MIN_AGE", -(10**12))  # whatever its age
        assert Context.beside(written) is not None
        assert verified.recall(path.stat())
        whole = bytearray(path.read_bytes())
        whole[-1] ^= 1
        path.write_bytes(whole)
        assert "damaged" in refused(written)


def test_the_file_of_another_model(written: CapFst, tmp_path: Path) -> None:
    other = build([*WORDS[:-1], "ê"], {(k,): 1.0 for k in range(1, 7)}, {}, {(): 1.0}).save(tmp_path / "other.fst")
    shutil.copy(path_of(written.path), path_of(other.path))
    message = refused(other)
    assert "another model" in message
    assert str(other.path) in message
    assert "train" in message


def test_the_old_file_stays_if_the_model_cannot_be_written(written: CapFst) -> None:
    path = path_of(written.path)
    before = path.read_bytes()

    def write(fails: bool) -> None:
        with writing(written.path, SIGNATURE, MODEL.symbols, STARTS, lexicon(), LOG_ODDS, parameters()[:1] * 2):
            assert path.read_bytes() == before
            if fails:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(fails=True)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == ["cap.fst", "cap.fst.context"]
    write(fails=False)
    assert path.read_bytes() != before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with (
        pytest.raises(CapfstError, match="make the folder first"),
        writing(tmp_path / "no" / "cap.fst", SIGNATURE, MODEL.symbols, STARTS, lexicon(), LOG_ODDS, parameters()),
    ):
        pytest.fail("the block must not be entered")


def test_training_again_gives_the_same_bytes(contextual_model: Path, tmp_path: Path) -> None:
    again = contextual.train(tmp_path / "cap.fst")
    assert path_of(again).read_bytes() == path_of(contextual_model).read_bytes()
    assert Context.beside(CapFst.open(again)) is not None
