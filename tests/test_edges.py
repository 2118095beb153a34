"""Test texts of 0 to 40 bytes with words at the very end: kernels access buffers eight bytes at a time, unchecked, but
never beyond the end. `make bounds` also checks indices."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from support.guarded import guarded, in_child
from support.models import FORMS, build

import capfst
from capfst.batch.tally import tally
from capfst.casing import surface
from capfst.casing.types import Words
from capfst.recaser import Recaser
from capfst.search.lattice import OUT_OF_CAPACITY, Lattice, compose, new_lattice
from capfst.search.viterbi import choose, fill_chunk

WORDS = [
    *FORMS,
    *map(str.lower, FORMS),
    "o'neill",
    "o’neill",
    "i̇",
    "xyzzy",
    "abcdefgh",
    "abcdefghi",
    "paris",
    "mcdonald's",
]
BETWEEN = [" ", "  ", "\n", "-", "’", "'", ".", ",", "\t", "1", "\u0301", "é"]


def short_texts(count: int) -> list[bytes]:
    rng = random.Random(8)
    texts = [b""]
    for _ in range(count):
        words = [rng.choice(WORDS) + rng.choice(BETWEEN) for _ in range(rng.randint(1, 5))]
        text = "".join(words).encode()[rng.choice([0, 0, 1, 2]) : rng.randint(0, 40)]
        texts.append(text.decode(errors="ignore").encode())
    return texts


def in_guarded_memory(text: bytes) -> np.ndarray:
    buf = guarded(len(text))
    buf[:] = np.frombuffer(text, np.uint8)
    buf.flags.writeable = False  # like all texts: kernels are compiled for read-only arrays
    return buf


def test_access_beyond_guarded_memory_ends_the_process():
    assert in_child(lambda: None) == 0
    assert in_child(lambda: np.lib.stride_tricks.as_strided(guarded(3), (4,))[3]) < 0


@pytest.mark.parametrize("options", [{}, {"sentence_case": True, "oov": "pass"}, {"context": False}], ids=str)
def test_no_text_is_read_or_written_beyond_its_end(contextual_model, monkeypatch, options):
    recaser = capfst.load(contextual_model, **options)
    texts = short_texts(2000)
    expected = [bytes(recaser.pipeline.recase_utf8(text)) for text in texts]

    def guard() -> None:
        monkeypatch.setattr(surface, "np", SimpleNamespace(**vars(np) | {"empty": guarded}))
        for text, wanted in zip(texts, expected, strict=True):
            buf = in_guarded_memory(text)
            words, recased = recaser.pipeline.recase(buf)
            assert bytes(recased) == wanted, text
            tally(buf, words, in_guarded_memory(wanted), recaser)

    assert in_child(guard) == 0


def many_forms(n_forms: int):
    """Build a bigram model with this many forms of one word, each of which can follow each."""
    letters = "abcdef"
    forms = ["".join(c.upper() if k >> i & 1 else c for i, c in enumerate(letters)) for k in range(n_forms)]
    words = ["<unk>", *forms]
    labels = range(1, len(words) + 1)
    arcs = {(label,): 1.0 + label / 100 for label in labels} | {(a, b): 0.5 for a in labels[1:] for b in labels[1:]}
    return build(words, arcs, {(label,): 0.25 for label in labels} | {(0,): 0.0}, {(): 1.0})


@pytest.mark.parametrize("n_forms", [1, 2, 17, 18, 19, 33])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_lattice_is_complete_or_out_of_capacity(tmp_path, n_forms, weighted):
    """Nothing is written beyond the capacity."""
    recaser = Recaser(many_forms(n_forms).save(tmp_path / "m.fst"))
    words: Words = recaser.pipeline.loaded.transducer.words(np.frombuffer(b"abcdef abcdef xyz abcdef", np.uint8))
    costs = np.zeros(int(words.n_forms.sum()), np.float32) if weighted else None
    engine = recaser.pipeline.engine
    choices, _ = choose(words, costs, engine.lm.unknown)
    size = words.token_types.size
    whole = new_lattice(size, 99999)
    fill_chunk(words, choices, 0, -1, size, whole.positions)
    n_whole = compose(size, choices.arc_costs, whole, engine.tables, engine.starts, engine.starts.line)
    enough = 0
    for capacity in range(1, 9999):
        arrays = [np.concatenate([array, array[:1]]) for array in new_lattice(size, capacity)]
        for array in arrays:
            array.view(np.uint8)[:] = 0xA5
        lattice = Lattice(*(array[:-1] for array in arrays))
        fill_chunk(words, choices, 0, -1, size, lattice.positions)
        n_nodes = compose(size, choices.arc_costs, lattice, engine.tables, engine.starts, engine.starts.line)
        assert all((array[-1:].view(np.uint8) == 0xA5).all() for array in arrays), capacity
        if n_nodes == OUT_OF_CAPACITY:
            assert not enough
            continue
        enough = enough or capacity
        assert n_nodes == n_whole
        assert (lattice.nodes["resolved"][:n_nodes] == whole.nodes["resolved"][:n_nodes]).all()
        if capacity > enough + 20:
            break
    assert enough
