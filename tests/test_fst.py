"""cap.fst: layout, OpenFst's own reading of it, the mapped model, and files that are none."""

import itertools
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pynini
import pytest
import pywrapfst
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import FORMS, SIGNATURE, Model, backoff_models, build, random_model

from capfst.characters import lower
from capfst.errors import CapfstError
from capfst.fst import ARC, STATE, write_fst
from capfst.fst_read import MAX_ORDER, CapFst, find_arc, problem
from capfst.fst_read import _first_bad as first_bad
from capfst.info import describe, render
from capfst.symbols import Symbols, check, pack, unpack

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def tiny() -> Model:
    """a bigram model: P(It | <s>), P(works | It), </s> after works."""
    unk, it, big_it, works = 1, 2, 3, 4
    return build(
        ["<unk>", "it", "It", "works"],
        {(unk,): 4, (it,): 2, (big_it,): 3, (works,): np.inf, (0, big_it): 0.5, (big_it, works): 1.5},
        {(0,): 0.25, (big_it,): -0.125, (works,): 0},
        {(): 5, (works,): 0.75},
    )


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


def openfst(command: str, *arguments: str | Path) -> bytes:
    """The output of one of OpenFst's own programs (Debian: libfst-tools)."""
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def vector(model: Model) -> pynini.Fst:
    """The same acceptor, added to OpenFst arc by arc."""
    fst = pynini.Fst()
    fst.add_states(len(model.states))
    fst.set_start(model.start)
    for s, state in enumerate(model.states):
        if state["final"] < np.inf:
            fst.set_final(s, float(state["final"]))
        for arc in model.arcs[state["pos"] : state["pos"] + state["narcs"]]:
            fst.add_arc(s, pynini.Arc(*(value.item() for value in arc)))
    table = pynini.SymbolTable(str(SIGNATURE))
    for label, symbol in enumerate(model.symbols):
        table.add_symbol(symbol, label)
    fst.set_input_symbols(table)
    return fst


def test_golden_bytes(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    name = b"capfst|v:0.1.0|order:3|smoothing:kn|pruning:none|tokenizer:capfst|lowercasing:default|corpus:00000000"
    content = struct.pack("<i i5s i8s ii", 2125659606, 5, b"const", 8, b"standard", 1, 1 | 4)
    # expanded, acceptor, deterministic, ε, sorted, weighted, cyclic, not sorted by state, coaccessible, no string
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
    assert (tmp_path / "cap.fst").read_bytes() == content


def test_golden_text(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    assert openfst("fstprint", "--acceptor", tmp_path / "cap.fst").decode() == TINY_TEXT


# --- OpenFst reads it


@in_one_folder
@given(model=backoff_models())
def test_openfst_holds_the_same(model: Model, tmp_path: Path) -> None:
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
    """OpenFst 1.7: reads it, maps it, finds no property wrong; its own file of the same FST has the same bytes."""
    path, source, theirs = tmp_path / "cap.fst", tmp_path / "vector.fst", tmp_path / "theirs.fst"
    model.save(path)
    read = openfst("fstinfo", "--fst_verify_properties", path)
    assert read == openfst("fstinfo", "--fst_verify_properties", "--fst_read_mode=map", path)
    assert openfst("fstinfo", "--fst_read_mode=map", "--v=2", path) == read
    vector(model).write(str(source))
    openfst("fstconvert", "--fst_type=const", "--fst_align", source, theirs)
    ours, converted = bytearray(path.read_bytes()), bytearray(theirs.read_bytes())
    bits = slice(33, 41)  # the property bits: OpenFst knows more of them after its search
    assert int.from_bytes(ours[bits], "little") & ~int.from_bytes(converted[bits], "little") == 0
    ours[bits] = converted[bits] = bytes(8)
    assert ours == converted
    CapFst.open(theirs)


# --- the mapped model


@in_one_folder
@given(model=backoff_models())
def test_what_was_written_is_read(model: Model, tmp_path: Path) -> None:
    opened = model.save(tmp_path / "cap.fst")
    np.testing.assert_array_equal(opened.states, model.states)
    np.testing.assert_array_equal(opened.arcs, model.arcs)
    assert list(opened.symbols) == list(model.symbols)
    assert (opened.start, opened.signature, opened.order) == (model.start, SIGNATURE, model.order)
    assert opened.bytes == (tmp_path / "cap.fst").stat().st_size
    with pytest.raises(ValueError, match="read-only"):
        opened.arcs["weight"][0] = 0


@in_one_folder
@given(model=backoff_models())
def test_look_ups(model: Model, tmp_path: Path) -> None:
    opened = model.save(tmp_path / "cap.fst")
    counts = np.zeros(MAX_ORDER, int)
    for s, context in enumerate(model.contexts):
        arcs = opened.arcs_of(s)
        counts[len(context)] += len(arcs) - (s > 0) + (opened.final(s) < np.inf)
        if s > 0:
            cost, lower_state = opened.backoff(s)
            assert (arcs["ilabel"][0], arcs["weight"][0], arcs["nextstate"][0]) == (0, cost, lower_state)
            assert context[-len(model.contexts[lower_state]) or len(context) :] == model.contexts[lower_state]
        first = int(opened.states["pos"][s])
        for label in range(len(opened.symbols) + 1):
            found = find_arc(opened.arcs, first, first + len(arcs), label)
            assert found == find_arc.py_func(opened.arcs.view(np.recarray), first, first + len(arcs), label)
            assert found == first + np.searchsorted(arcs["ilabel"], label)
    # A backoff chain of these models skips no length of context, but where nothing is listed after it.
    assert sum(opened.ngrams) == counts.sum()
    words = itertools.groupby(range(1, len(model.symbols)), lambda label: lower(model.symbols[label]))
    for word, labels in words:
        assert list(opened.forms(word)) == list(labels)
    for word in ["", "missing", "IT", "\U0010ffff"]:
        assert len(opened.forms(word)) == 0


def test_closing(tmp_path: Path) -> None:
    with tiny().save(tmp_path / "cap.fst") as model:
        arcs = model.arcs_of(0)
        assert repr(model) == f"<CapFst '{tmp_path / 'cap.fst'}': order 2, 4 surface forms, 8 n-grams>"
    assert len(model.arcs) == 0
    assert arcs["weight"][0] == 4


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
        "most_ambiguous": [{"word": "it", "forms": ["it", "It"]}],
    }
    assert render(description).splitlines()[-3:] == [
        f"bytes            {size} ({size / 8:.1f} per n-gram)",
        "most ambiguous:",
        "  it: it It",
    ]


# --- writing


def test_chunks_and_whole_make_the_same_bytes(tmp_path: Path) -> None:
    model = random_model(random.Random(1), 3)
    model.save(tmp_path / "whole")
    chunks = (model.arcs[i : i + 3] for i in range(0, len(model.arcs), 3))
    write_fst(tmp_path / "chunks", model.states, chunks, model.symbols, model.start, SIGNATURE)
    assert (tmp_path / "chunks").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    model = tiny()
    model.save(tmp_path / "cap.fst")
    before = (tmp_path / "cap.fst").read_bytes()
    with pytest.raises(ValueError, match="9 arcs, but there are 8"):
        model._replace(arcs=model.arcs[:-1]).save(tmp_path / "cap.fst")
    assert (tmp_path / "cap.fst").read_bytes() == before


def test_too_many_arcs(tmp_path: Path) -> None:
    model = tiny()
    model.states["narcs"] = 2**31
    with pytest.raises(CapfstError, match="are more than a file holds: prune the model"):
        model.save(tmp_path / "cap.fst")


# --- symbols


def test_symbols() -> None:
    symbols = Symbols.from_words(["é", "<unk>"])
    assert (len(symbols), list(symbols), symbols.utf8(1)) == (3, ["<epsilon>", "é", "<unk>"], b"\xc3\xa9")
    for label in (-1, 3):
        with pytest.raises(IndexError):
            symbols[label]


@settings(deadline=None)
@given(st.lists(st.text(min_size=1)))
def test_pack_and_unpack(words: list[str]) -> None:
    symbols = Symbols.from_words(["x", *words])
    plain = b"".join(
        struct.pack(f"<i{len(utf8)}sq", len(utf8), utf8, label)
        for label, utf8 in enumerate(symbol.encode() for symbol in symbols)
    )
    assert pack(symbols).tobytes() == plain
    again, after = unpack(np.frombuffer(b"before" + plain + b"after", np.uint8), 6, len(symbols))
    assert (list(again), after) == (list(symbols), 6 + len(plain))


@settings(deadline=None)
@given(st.lists(st.sampled_from([*FORMS, *"ab", "AB", "aB", "<epsilon>"]) | st.text(min_size=1), min_size=1))
def test_check_of_symbols(words: list[str]) -> None:
    keys = [lower(word).encode() for word in words]
    if sorted(keys) == keys and len(set(words)) == len(words) and "<epsilon>" not in words:
        starts = check(Symbols.from_words(words))
        firsts = [label for label in range(1, len(words) + 1) if label == 1 or keys[label - 1] != keys[label - 2]]
        assert starts.tolist() == [*firsts, len(words) + 1]
    else:
        with pytest.raises(CapfstError):
            check(Symbols.from_words(words))
    words = sorted(set(words) - {"<epsilon>"}, key=lambda word: lower(word).encode())
    if words:
        assert len(check(Symbols.from_words(words))) == len({lower(word) for word in words}) + 1


def casings(number: int) -> list[str]:
    """So many forms of one word."""
    return ["".join("aA"[i >> k & 1] for k in range(9)) for i in range(number)]


def test_words_of_very_many_forms() -> None:
    assert check(Symbols.from_words(casings(500))).tolist() == [1, 501]
    for repeated in (0, 200, 499):
        with pytest.raises(CapfstError, match="twice"):
            check(Symbols.from_words([*casings(500), casings(500)[repeated]]))


# --- files that are no models


def opens(path: Path, content: bytes) -> CapFst | None:
    """The model in a file of this content, all numbers in it in range; None if it is refused."""
    path.write_bytes(content)
    try:
        model = CapFst.open(path)
    except CapfstError as error:
        assert str(path) in str(error)
        return None
    labels, states = len(model.symbols) - 1, len(model.states)
    assert 0 <= model.start < states
    assert ((model.arcs["ilabel"] >= 0) & (model.arcs["ilabel"] <= labels)).all()
    assert ((model.arcs["nextstate"] >= 0) & (model.arcs["nextstate"] < states)).all()
    assert (model.arcs["weight"] > -np.inf).all()
    assert model.arcs["ilabel"][:labels].tolist() == list(range(1, labels + 1))
    ends = model.states["pos"].astype(int) + model.states["narcs"]
    assert [0, *ends[:-1]] == model.states["pos"].tolist()
    assert ends[-1] == len(model.arcs)
    for s in range(1, states):
        assert model.backoff(s)[1] < s
        assert (np.diff(model.arcs_of(s)["ilabel"]) > 0).all()
    assert model.starts[-1] == len(model.symbols)
    assert all(list(model.symbols))
    return model


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = (tmp_path / "cap.fst").read_bytes()
    for size in range(len(content)):
        assert opens(tmp_path / "short.fst", content[:size]) is None
    assert opens(tmp_path / "long.fst", content + b"\0") is None
    assert opens(tmp_path / "same.fst", content) is not None


@settings(in_one_folder, max_examples=500)
@given(data=st.data())
def test_changed_bytes_are_refused_or_harmless(data: st.DataObject, tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = bytearray((tmp_path / "cap.fst").read_bytes())
    at = data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3))
    for i in at:
        content[i] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    opens(tmp_path / "changed.fst", bytes(content))


@settings(in_one_folder, max_examples=200)
@given(data=st.data())
def test_changed_numbers_are_refused_or_harmless(data: st.DataObject, tmp_path: Path) -> None:
    """Of the header and the symbol table: as 32 or 64 bits, small, huge or negative."""
    tiny().save(tmp_path / "cap.fst")
    content = bytearray((tmp_path / "cap.fst").read_bytes())
    size = data.draw(st.sampled_from([4, 8]))
    at = data.draw(st.integers(0, 300))
    value = data.draw(st.sampled_from([0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]))
    content[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    opens(tmp_path / "changed.fst", bytes(content))


Change = Callable[[npt.NDArray, npt.NDArray], None]


def put(where: str, field: str, at: int, value: float) -> Change:
    def change(states: npt.NDArray, arcs: npt.NDArray) -> None:
        (states if where == "states" else arcs)[field][at] = value

    return change


def label(at: int, value: int) -> Change:
    def change(states: npt.NDArray, arcs: npt.NDArray) -> None:
        arcs["ilabel"][at] = arcs["olabel"][at] = value

    return change


@pytest.mark.parametrize(
    "change, state, message",
    [
        (put("states", "final", 0, np.inf), 0, "as the empty context"),
        (put("states", "final", 0, np.nan), 0, "final weight is nan"),
        (put("states", "final", 2, -np.inf), 2, "final weight is -inf"),
        (put("states", "pos", 2, 5), 2, "do not lie between"),
        (put("states", "pos", 2, 2**32 - 1), 2, "do not lie between"),
        (put("states", "narcs", 0, 3), 0, "as the empty context"),
        (put("states", "narcs", 0, 5), 0, "as the empty context"),
        (put("states", "narcs", 3, 0), 3, "do not lie between"),
        (put("states", "narcs", 3, 2**32 - 1), 3, "do not lie between"),
        (put("states", "niepsilons", 0, 1), 0, "number of ε arcs"),
        (put("states", "noepsilons", 3, 0), 3, "number of ε arcs"),
        (put("arcs", "olabel", 5, 1), 1, "different input and output labels"),
        (put("arcs", "weight", 4, np.nan), 1, "is not a number"),
        (put("arcs", "weight", 0, -np.inf), 0, "is not a number"),
        (put("arcs", "nextstate", 5, 4), 1, "leads to no state"),
        (put("arcs", "nextstate", 3, -1), 0, "leads to no state"),
        (put("arcs", "nextstate", 6, 2), 2, "not a backoff to a state before it"),
        (label(0, 0), 0, "do not rise"),
        (label(2, 2), 0, "do not rise"),
        (label(3, 5), 0, "do not rise"),
        (label(4, 1), 1, "not a backoff to"),
        (label(5, 5), 1, "do not rise"),
        (label(5, -1), 1, "do not rise"),
        (label(7, 0), 2, "do not rise"),
    ],
)
def test_damaged_states_and_arcs(tmp_path: Path, change: Change, state: int, message: str) -> None:
    model = tiny()
    model.save(tmp_path / "cap.fst")
    content = bytearray((tmp_path / "cap.fst").read_bytes())
    arcs = np.frombuffer(content, ARC, len(model.arcs), len(content) - model.arcs.nbytes)
    # The states' 80 bytes need no padding.
    states = np.frombuffer(content, STATE, 4, len(content) - model.arcs.nbytes - model.states.nbytes)
    np.testing.assert_array_equal(states, model.states)
    change(states, arcs)
    (tmp_path / "cap.fst").write_bytes(content)
    with pytest.raises(CapfstError, match=f"is damaged: state {state}: .*{message}.*: copy it again"):
        CapFst.open(tmp_path / "cap.fst")


@settings(deadline=None)
@given(model=backoff_models(), data=st.data())
def test_kernel_and_twin_object_to_the_same_state(model: Model, data: st.DataObject) -> None:
    labels = len(model.symbols) - 1
    for _ in range(data.draw(st.integers(0, 2))):
        array = data.draw(st.sampled_from([model.states, model.arcs]))
        field = data.draw(st.sampled_from(array.dtype.names))
        value = data.draw(st.sampled_from([0, 1, 2, labels, labels + 1, 2**31 - 1]))
        if field in ("final", "weight"):
            value = data.draw(st.sampled_from([0, np.nan, np.inf, -np.inf]))
        array[field][data.draw(st.integers(0, len(array) - 1))] = value
    depth, ngrams = np.zeros(len(model.states), np.uint8), np.zeros(MAX_ORDER, np.int64)
    bad = first_bad(model.states, model.arcs, labels, depth, ngrams)
    before = range(len(model.states) if bad < 0 else bad)
    assert not any(problem(model.states, model.arcs, labels, depth, s) for s in before)
    if bad >= 0:
        assert problem(model.states, model.arcs, labels, depth, bad)


def chain(order: int) -> Model:
    """The n-grams of `order` words, all the same."""
    contexts = {(1,) * n: 0.5 for n in range(1, order)}
    return build(["a"], {(1,) * n: 1.0 for n in range(1, order + 1)}, contexts, {(): 1.0})


def test_the_greatest_order(tmp_path: Path) -> None:
    assert chain(MAX_ORDER).save(tmp_path / "cap.fst").ngrams == (2, *[1] * (MAX_ORDER - 1))
    with pytest.raises(CapfstError, match=f"its order is greater than {MAX_ORDER}"):
        chain(MAX_ORDER + 1).save(tmp_path / "cap.fst")


@pytest.mark.parametrize(
    "words, message",
    [
        (["it", "", "works"], "symbol 2 is empty"),
        (["works", "it"], r"symbol 2 \('it'\) is out of order"),
        (["it", "It", "it"], r"symbol 3 \('it'\) is out of order or there twice"),
        (["Zebra", "ähre", "Öl", "ätna"], r"symbol 4 \('ätna'\) is out of order"),
        (["<epsilon>", "a"], "<epsilon> is among its words"),
        ([], "cannot have 1 symbols"),
    ],
)
def test_wrong_symbols(tmp_path: Path, words: list[str], message: str) -> None:
    with pytest.raises(CapfstError, match=message):
        build(words, {(i,): 1 for i in range(1, len(words) + 1)}, {(1,): 1}, {(): 1}).save(tmp_path / "cap.fst")


@pytest.mark.parametrize("utf8", [b"w\xff", b"\xc3(", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"])
def test_symbols_that_are_not_utf8(utf8: bytes) -> None:
    offsets = np.cumsum([0, 9, 1, len(utf8), 1])
    symbols = Symbols(np.frombuffer(b"<epsilon>a" + utf8 + b"z", np.uint8), offsets)
    with pytest.raises(CapfstError, match="symbol 2 is not UTF-8"):
        check(symbols)


def test_a_character_torn_between_symbols() -> None:
    symbols = Symbols(np.frombuffer("<epsilon>aé".encode(), np.uint8), np.array([0, 9, 11, 12]))
    with pytest.raises(CapfstError, match="symbol 2 is not UTF-8"):
        check(symbols)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "the file is empty"),
        (b"\x1f\x8b\x08\x00", "a gzip file: decompress it first"),
        (b"\x28\xb5\x2f\xfd\x00", "a zstd file: decompress it first"),
        (b"\n\\data\\\nngram 1=2\n", "an ARPA file: train a model"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0", "a KenLM binary"),
        (b"This is a text.\n", "no OpenFst file"),
        (b"abc", "ends inside its header"),
        (bytes(1000), "no OpenFst file"),
    ],
)
def test_foreign_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "cap.fst"
    path.write_bytes(content)
    with pytest.raises(CapfstError, match=f"cannot use the model {path}: .*{message}"):
        CapFst.open(path)


def test_other_fsts(tmp_path: Path) -> None:
    path = str(tmp_path / "other.fst")
    fst = vector(tiny())

    def refused(message: str) -> None:
        with pytest.raises(CapfstError, match=message):
            CapFst.open(path)

    fst.write(path)
    refused("vector<standard>, version 2, not aligned const<standard>: convert it with `fstconvert")
    pywrapfst.convert(pywrapfst.Fst.read(path), "const").write(path)
    refused("const<standard>, version 2, not aligned")
    pywrapfst.arcmap(pywrapfst.Fst.read(path), map_type="to_log").write(path)
    refused("vector<log>")
    for setting, message in [
        (lambda: fst.set_output_symbols(fst.input_symbols()), "no output symbols"),
        (lambda: fst.set_input_symbols(None), "must have input symbols"),
    ]:
        setting()
        fst.write(path)
        openfst("fstconvert", "--fst_type=const", "--fst_align", path, path)
        refused(message)


def test_a_symbol_table_of_another_name(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = (tmp_path / "cap.fst").read_bytes()
    (tmp_path / "cap.fst").write_bytes(content.replace(b"capfst|v", b"words|||"))
    with pytest.raises(CapfstError, match="name is no capfst signature: 'words"):
        CapFst.open(tmp_path / "cap.fst")


def test_property_bits_that_lie(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = bytearray((tmp_path / "cap.fst").read_bytes())
    content[33 + 3] ^= 0b11 << 4  # input labels sorted → not sorted
    (tmp_path / "cap.fst").write_bytes(content)
    with pytest.raises(CapfstError, match="property bits contradict"):
        CapFst.open(tmp_path / "cap.fst")


@pytest.mark.parametrize(
    "name, message",
    [
        ("missing.fst", "No such file or directory: check the path"),
        (".", "not a regular file"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_places_where_no_file_is(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(CapfstError, match=message):
        CapFst.open(tmp_path / name)
