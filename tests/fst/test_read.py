"""cap.fst: its layout, how OpenFst reads it, the mapped model."""

import itertools
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from support.models import (
    SIGNATURE,
    Model,
    arcs_of,
    backoff_models,
    backoff_of,
    in_one_folder,
    openfst,
    random_model,
    tiny,
    vector,
)

from capfst.exceptions import ModelError, OptionError
from capfst.fst.read import CapFst
from capfst.fst.write import Acceptor, Chunk, write_chunks
from capfst.models.info import describe, render
from capfst.text.unicode import lower

TINY_TEXT = """\
1\t0\t<epsilon>\t0.25
1\t2\tIt\t0.5
0\t0\t<unk>\t4
0\t0\tit\t2
0\t2\tIt\t3
0\t3\tworks\tInfinity
0\t5
2\t0\t<epsilon>\t-0.125
2\t3\tworks\t1.5
3\t0\t<epsilon>
3\t0.75
"""


def test_golden_bytes(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    name = b"capfst|v:0.1.0|order:3|smoothing:kn|pruning:none|tokenizer:capfst|lowercasing:default|corpus:00000000"
    content = struct.pack("<i i5s i8s ii", 2125659606, 5, b"const", 8, b"standard", 1, 1 | 4 | 1 << 30)
    # expanded, acceptor, deterministic, ε, sorted, weighted, cyclic, not sorted by state, coaccessible, not a string
    bits = [0, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 39, 42, 45]
    content += struct.pack("<Q qqq", sum(1 << bit for bit in bits), 1, 4, 9)
    content += struct.pack(f"<i i{len(name)}s qq", 2125658996, len(name), name, 5, 5)
    for label, symbol in enumerate([b"<epsilon>", b"<unk>", b"it", b"It", b"works"]):
        content += struct.pack(f"<i{len(symbol)}sq", len(symbol), symbol, label)
    content += bytes(-len(content) % 16)
    for state in [(5, 0, 4, 0, 0), (np.inf, 4, 2, 1, 1), (np.inf, 6, 2, 1, 1), (0.75, 8, 1, 1, 1)]:
        content += struct.pack("<fIIII", *state)
    content += bytes(-len(content) % 16)
    root = [(1, 1, 4, 0), (2, 2, 2, 0), (3, 3, 3, 2), (4, 4, np.inf, 3)]
    others = [(0, 0, 0.25, 0), (3, 3, 0.5, 2), (0, 0, -0.125, 0), (4, 4, 1.5, 3), (0, 0, 0, 0)]
    for arc in [*root, *others]:
        content += struct.pack("<iifi", *arc)
    content += b"{}" + struct.pack("<8s Q I", b"capfst\0\1", len(content), 2)
    content += struct.pack("<I", zlib.crc32(content))
    assert (tmp_path / "cap.fst").read_bytes() == content


def test_golden_text(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    assert openfst("fstprint", "--acceptor", tmp_path / "cap.fst").decode() == TINY_TEXT


# --- reading by OpenFst


@in_one_folder
@given(model=backoff_models())
def test_openfst_holds_the_same(model: Model, tmp_path: Path) -> None:
    import pynini  # noqa: PLC0415
    import pywrapfst  # noqa: PLC0415

    model.save(tmp_path / "cap.fst")
    fst = pywrapfst.Fst.read(str(tmp_path / "cap.fst"))
    assert fst.fst_type() == "const"
    assert fst.verify()
    assert fst.input_symbols().name() == str(SIGNATURE)
    assert fst.output_symbols() is None
    expected = vector(model)
    assert list(fst.input_symbols()) == list(expected.input_symbols())
    assert fst.print(acceptor=True) == expected.print(acceptor=True)
    assert pynini.Fst.read(str(tmp_path / "cap.fst")).print(acceptor=True) == expected.print(acceptor=True)


@in_one_folder
@given(model=backoff_models())
def test_property_bits_are_true(model: Model, tmp_path: Path) -> None:
    import pywrapfst  # noqa: PLC0415

    model.save(tmp_path / "cap.fst")
    bits = pywrapfst.FstProperties
    stored = pywrapfst.Fst.read(str(tmp_path / "cap.fst")).properties(bits.TRINARY_PROPERTIES, False)
    computed = vector(model).properties(bits.TRINARY_PROPERTIES, True)
    assert stored & computed == stored
    useful = bits.ACCEPTOR | bits.I_DETERMINISTIC | bits.I_LABEL_SORTED | bits.O_LABEL_SORTED
    assert stored & useful == useful


@settings(in_one_folder, max_examples=10)
@given(model=backoff_models())
def test_debian_openfst_agrees(model: Model, tmp_path: Path) -> None:
    """OpenFst 1.7 reads it, maps it, and confirms its properties; its own file of the same FST has the same bytes."""
    path, source, theirs = tmp_path / "cap.fst", tmp_path / "vector.fst", tmp_path / "theirs.fst"
    model.save(path)
    read = openfst("fstinfo", "--fst_verify_properties", path)
    assert read == openfst("fstinfo", "--fst_verify_properties", "--fst_read_mode=map", path)
    assert openfst("fstinfo", "--fst_read_mode=map", "--v=2", path) == read
    vector(model).write(str(source))
    openfst("fstconvert", "--fst_type=const", "--fst_align", source, theirs)
    ours, converted = bytearray(path.read_bytes()), bytearray(theirs.read_bytes())
    bits = slice(33, 41)  # the property bits: OpenFst sets more of them after its search
    assert int.from_bytes(ours[bits], "little") & ~int.from_bytes(converted[bits], "little") == 0
    ours[bits] = converted[bits] = bytes(8)
    assert ours == converted
    CapFst.open(theirs)


# --- the mapped model


@in_one_folder
@given(model=backoff_models())
def test_round_trip(model: Model, tmp_path: Path) -> None:
    opened = model.save(tmp_path / "cap.fst")
    np.testing.assert_array_equal(opened.states, model.states)
    np.testing.assert_array_equal(opened.arcs, model.arcs)
    assert list(opened.symbols) == list(model.symbols)
    assert (opened.start, opened.signature, opened.ngrams) == (model.start, SIGNATURE, model.ngrams)
    assert opened.bytes == (tmp_path / "cap.fst").stat().st_size
    with pytest.raises(ValueError, match="read-only"):
        opened.arcs["weight"][0] = 0


@in_one_folder
@given(model=backoff_models())
def test_look_ups(model: Model, tmp_path: Path) -> None:
    opened = model.save(tmp_path / "cap.fst")
    for s, context in enumerate(model.contexts):
        if s > 0:
            _, lower_state = backoff_of(opened, s)
            assert arcs_of(opened, s)["ilabel"][0] == 0
            shorter = model.contexts[lower_state]
            assert context[len(context) - len(shorter) :] == shorter
    words = itertools.groupby(range(1, len(model.symbols)), lambda label: lower(model.symbols[label]))
    for word, labels in words:
        assert list(opened.symbols.forms(word, opened.starts)) == list(labels)
    for word in ["", "missing", "IT", "\U0010ffff"]:
        assert len(opened.symbols.forms(word, opened.starts)) == 0


def test_known_ngrams_replace_the_validation_but_not_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "cap.fst"
    tiny().save(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capfst.system.verified.recall", lambda file: ())
        patch.setattr("capfst.fst.validate.check", lambda *_: pytest.fail("validated"))
        assert CapFst.open(path, [9, 9]).ngrams == (9, 9)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(ModelError, match="checksum"):
            CapFst.open(path, [9, 9])


def test_repr(tmp_path: Path) -> None:
    model = tiny().save(tmp_path / "cap.fst")
    assert repr(model) == f"<CapFst '{tmp_path / 'cap.fst'}': order 2, 4 surface forms, 8 n-grams>"


def test_description(tmp_path: Path) -> None:
    description = describe(tiny().save(tmp_path / "cap.fst"))
    size = (tmp_path / "cap.fst").stat().st_size
    assert description == {
        "path": str(tmp_path / "cap.fst"),
        "signature": str(SIGNATURE),
        "settings": vars(SIGNATURE),
        "order": 2,
        "ngrams": [5, 3],
        "states": 4,
        "arcs": 9,
        "surface_forms": 4,
        "words": 3,
        "ambiguous_words": 1,
        "bytes": size,
        "bytes_per_ngram": size / 8,
        "context": None,
        "spellings": None,
        "bilingual": None,
        "noise": False,
        "punctuation": None,
        "adapted": None,
        "most_ambiguous": [{"word": "it", "forms": ["it", "It"]}],
        "card": None,
    }
    assert render(description).splitlines()[-4:] == [
        f"bytes            {size} ({size / 8:.1f} per n-gram)",
        "context model    none, so only the LM decides",
        "most ambiguous:",
        "  it: it It",
    ]


# --- writing


def test_chunks_and_whole_make_the_same_bytes(tmp_path: Path) -> None:
    model = random_model(random.Random(1), 3)
    model.save(tmp_path / "whole")

    def chunks() -> Iterator[Chunk]:
        for state in range(0, len(model.states), 3):
            states = model.states[state : state + 3].copy()
            arc = int(states["pos"][0])
            states["pos"] -= arc
            yield states, model.arcs[arc : arc + int(states["narcs"].sum())]

    acceptor = Acceptor(len(model.states), len(model.arcs), model.start, [], chunks)
    write_chunks(tmp_path / "chunks", acceptor, model.symbols, SIGNATURE, {})
    assert (tmp_path / "chunks").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    model = tiny()
    model.save(tmp_path / "cap.fst")
    before = (tmp_path / "cap.fst").read_bytes()
    with pytest.raises(ValueError, match=r"9 arcs.* 8"):
        model._replace(arcs=model.arcs[:-1]).save(tmp_path / "cap.fst")
    assert (tmp_path / "cap.fst").read_bytes() == before


def test_too_many_arcs(tmp_path: Path) -> None:
    model = tiny()
    model.states["narcs"] = 2**31
    with pytest.raises(OptionError, match=f"{tmp_path / 'cap.fst'}: .*4 states and {2**33:,} arcs .*`max_ngrams`"):
        model.save(tmp_path / "cap.fst")
