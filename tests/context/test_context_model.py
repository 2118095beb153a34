"""context/context_model.py: a part is read as it was written; damaged parts are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st
from support import contextual
from support.models import SIGNATURE, build, in_one_folder
from support.plain_context import hash_word, shape_evidence, word_features

from capfst.casing.shapes import N_SHAPES, shapes
from capfst.context.classes import word_classes
from capfst.context.context_model import EMPTY_ROW, PART, ROWS_PER_SLOT, Context, word_records
from capfst.context.domains import MAX_DOMAINS, MAX_LANGUAGES
from capfst.context.learn import Tables
from capfst.context.learn_network import NOT_LEARNED, Learned
from capfst.context.lexicon import UNSEEN, Lexicon, hash_words, word_marks
from capfst.context.network import N_INPUTS, Layers
from capfst.context.train import context_of
from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.trailer import Part
from capfst.fst.write import write_fst
from capfst.recaser import Recaser

WORDS = ["<unk>", "a", "iphone", "iPhone", "york", "é"]
MODEL = build(WORDS, {(k,): 1.0 for k in range(1, 7)}, {}, {(): 1.0})
STARTS = np.array([1, 2, 3, 5, 6, 7], np.int32)
COUNTS = np.array([[0, 0, 0, 0], [5, 2, 0, 0], [1, 0, 0, 9], [0, 200, 0, 0], [0, 0, 0, 0]])
LOG_ODDS = np.array([[0, 0], [-127, 127], [1, -2], [3, 4], [0, 9]], np.int8)
RANKS = np.array([0, 1, 2, 0, 0], np.uint8)
EMBEDDINGS = np.array([7, 0, 1, 65535, 2], np.uint16)
ROWS = 1024, 512, 256


def lexicon() -> Lexicon:
    word_of = np.array([0, 0, 1, 2, 2, 3, 4])
    shape_of = shapes(MODEL.symbols)
    classes = word_classes(np.arange(7, dtype=np.uint8) + 2, word_of, shape_of == 0, np.arange(7))
    hashes = hash_words(MODEL.symbols, STARTS)
    words = word_records(hashes)
    words["frequency_rank"], words["embedding"], words["domain_log_odds"][:, :2] = RANKS, EMBEDDINGS, LOG_ODDS
    words["lower_class"], words["cased_class"] = classes.T
    marks = word_marks(MODEL.symbols, STARTS)
    return Lexicon(word_of, shape_of, hashes, words, 2, COUNTS, LOG_ODDS[:, :0], marks=marks)


def learned(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    tables = Tables.of(ROWS)
    for table in tables[:3]:
        table[:, :N_SHAPES] = rng.normal(0, 1, (len(table), N_SHAPES)) * (rng.random((len(table), 1)) < 0.7)
        table[:, N_SHAPES:] += rng.random((len(table), N_SHAPES))
    return tables


def built() -> Context:
    return context_of(learned(1), Learned.of(8, 2), lexicon(), STARTS)


def part() -> Part:
    return built().part()


def saved(path: Path, context: Part) -> CapFst:
    write_fst(path, MODEL.states, MODEL.arcs, MODEL.symbols, MODEL.start, SIGNATURE, {PART: context})
    return CapFst.open(path)


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    context = Context.of(saved(tmp_path / "cap.fst", part()))
    assert context is not None
    for name in ("stage1", "stage2", "first_pass"):
        assert (getattr(context, name) == getattr(built(), name)).all()
    assert (context.scales, context.n_domains) == (built().scales, 2)
    read, network = context.network, built().network
    assert all(map(np.array_equal, read.layers, network.layers))
    for name in ("embeddings", "packed", "units", "output"):
        assert np.array_equal(getattr(read, name), getattr(network, name))
    known = lexicon()
    assert (context.shapes == known.shapes).all()
    assert len(context.words) == len(MODEL.symbols)
    for number, label in enumerate(STARTS[:-1]):
        record, counts = context.words[label], COUNTS[number]
        hashes = hash_word(WORDS[label - 1].lower())
        assert (record["word_hash"], record["suffix2_hash"]) == (hashes[0], hashes[7])
        assert record["embedding"] == EMBEDDINGS[number]
        assert (record["shape_evidence"], record["frequency_rank"]) == (shape_evidence(counts.tolist()), RANKS[number])
        assert record[["lower_class", "cased_class"]] == known.words[number][["lower_class", "cased_class"]]
        assert record["unseen_penalty"] == pytest.approx(1 + np.log(1 + counts.sum()))
        assert record["scores"].tolist() == built().words["scores"][label].tolist()
        assert record["one_letter"] == (WORDS[label - 1] in ("a", "é"))
        assert record["domain_log_odds"].tolist() == [*LOG_ODDS[number], *[0] * (MAX_DOMAINS - 2)]
    assert not context.words[4:5].view(np.uint8).any()  # a rarer form


def test_weights_are_multiples_of_their_scale() -> None:
    tables = learned(1)
    found = context_of(tables, NOT_LEARNED, lexicon(), STARTS)
    for table, packed, scale in zip(
        tables[:3], (found.stage1, found.stage2, found.first_pass), found.scales, strict=True
    ):
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
    # The scores of seen words include rows that the table does not keep.
    for number, label in enumerate(STARTS[:-1]):
        hashes, evidence = hash_word(WORDS[label - 1].lower()), shape_evidence(COUNTS[number].tolist())
        rows = [f % ROWS[0] for f in word_features(hashes, evidence, 0)]
        less = tables.stage1[rows, 1:N_SHAPES] - tables.stage1[rows, :1]
        scores = np.rint(less / found.scales[0]).sum(0).tolist()
        assert found.words["scores"][label].tolist() == (scores if evidence != UNSEEN else [0, 0, 0])
    assert not found.words["scores"][[0, 4]].any()


def test_tables_before_learning() -> None:
    found = context_of(Tables.of(ROWS), NOT_LEARNED, lexicon(), STARTS)
    assert (found.stage1 == EMPTY_ROW).all()
    assert not found.words["scores"].any()
    assert found.scales == (1, 1, 1)


def test_a_model_of_little_text_has_no_network(tmp_path: Path) -> None:
    small = part()
    for name in part().arrays:
        if name.startswith("network"):
            small = without(name)(small)
    context = Context.of(saved(tmp_path / "cap.fst", small))
    assert context is not None
    assert not context.network.embeddings.size


def test_a_model_without_a_context_model(tmp_path: Path) -> None:
    assert Context.of(MODEL.save(tmp_path / "cap.fst")) is None


def settings(change: dict[str, Any]) -> Callable[[Part], Part]:
    return lambda part: part._replace(settings={k: v for k, v in (part.settings | change).items() if v is not None})


def array(name: str, change: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]]) -> Callable[[Part], Part]:
    return lambda part: part._replace(arrays=part.arrays | {name: change(part.arrays[name])})


def without(name: str) -> Callable[[Part], Part]:
    return lambda part: part._replace(arrays={k: v for k, v in part.arrays.items() if k != name})


def with_languages(number: float) -> Callable[[Part], Part]:
    """Add arrays of a number of languages to the part."""
    empty = np.zeros(int(number * (1 + len(WORDS))), np.uint8)
    return lambda part: part._replace(
        arrays=part.arrays | {"language_log_odds": empty, "language_evidence": empty},
    )


@pytest.mark.parametrize(
    "change, message",
    [
        (settings({"format": 0}), "another version"),
        (settings({"format": None}), "another version"),
        (settings({"gaps": None}), "another version"),
        (settings({"scales": None}), "damaged: "),
        (settings({"scales": []}), "damaged: "),
        (settings({"scales": 3}), "damaged: "),
        (settings({"scales": [1]}), "damaged: "),
        (settings({"scales": [1, 2, 3, 4]}), "damaged: "),
        (settings({"scales": ["a", "b", "c"]}), "damaged: "),
        (settings({"scales": {"a": 1}}), "damaged: "),
        (settings({"scales": [1, 0, 1]}), "invalid scales"),
        (settings({"scales": [-1, 1, 1]}), "invalid scales"),
        (settings({"scales": [1, 1, float("inf")]}), "invalid scales"),
        (settings({"scales": [float("nan"), 1, 1]}), "invalid scales"),
        (settings({"domains": None}), "damaged: "),
        (settings({"domains": "many"}), "damaged: "),
        (settings({"domains": 0}), "number of domains"),
        (settings({"domains": MAX_DOMAINS + 1}), "number of domains"),
        (with_languages(0), "damaged: "),
        (with_languages(1 / 2), "damaged: "),
        (with_languages(3), "number of domains"),
        (with_languages(MAX_LANGUAGES + 1), "too many languages"),
        *((without(name), "damaged: ") for name in ("words", "shapes", "stage1", "stage2", "first_look")),
        *(
            (array(name, lambda a, size=size: np.resize(a, max(0, len(a) + size))), "damaged: ")  # type: ignore[misc]
            for name in ("words", "shapes", "stage1", "stage2", "first_look")
            for size in (-1000, -8, -1, 1, 8, 1000)
        ),
        (array("stage1", lambda a: a[:0]), "power of 2"),
        (array("shapes", lambda a: a | 8), "shape code"),
        *((without(f"network_{name}"), "damaged: ") for name in Layers._fields),
        *((array(f"network_{name}", lambda a: a[:-1]), "damaged: ") for name in ("embeddings", *Layers._fields)),
        *((array(f"network_{name}", lambda a: a | 0xFF), "weights of the network") for name in Layers._fields),
        (array("network_embeddings", lambda a: a[:-N_INPUTS]), "weights of the network"),
    ],
)
def test_a_damaged_part_is_refused(tmp_path: Path, change: Callable[[Part], Part], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        Context.of(saved(tmp_path / "cap.fst", change(part())))
    assert str(tmp_path / "cap.fst") in str(caught.value)


@hypothesis.settings(in_one_folder, max_examples=100)
@hypothesis.given(data=st.data())
def test_any_bytes_in_its_arrays_are_legal(tmp_path: Path, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    names = data.draw(st.sets(st.sampled_from(["words", "stage1", "stage2", "first_look", "network_embeddings"])))
    noise = {name: np.random.default_rng(seed).bytes(len(part().arrays[name])) for name in names}
    arrays = part().arrays | {name: np.frombuffer(content, np.uint8) for name, content in noise.items()}
    recaser = Recaser(saved(tmp_path / "cap.fst", part()._replace(arrays=arrays)))
    text = "the iphone of york é\n\nYork, yorkish iphones"
    assert recaser(text).lower() == text.lower()
    assert recaser.confidence("the iphone of york")[0].lower() == "the iphone of york"


def test_training_again_gives_the_same_bytes(contextual_model: Path, tmp_path: Path) -> None:
    again = contextual.train(tmp_path / "cap.fst")
    assert again.read_bytes() == contextual_model.read_bytes()
    assert Context.of(CapFst.open(again)) is not None
