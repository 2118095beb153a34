"""Foreign, truncated and damaged files: each is refused with a reason or harmless."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import (
    Model,
    arcs_of,
    backoff_models,
    backoff_of,
    bare,
    build,
    in_one_folder,
    openfst,
    tiny,
    vector,
)

from capfst.exceptions import CapfstError, ModelError
from capfst.fst.read import CapFst
from capfst.fst.validate import MAX_ORDER, find_problem
from capfst.fst.write import ARC, STATE


def opens(path: Path, content: bytes) -> CapFst | None:
    """Open a file with this content and check that all its numbers are in range; return None if it is refused."""
    path.write_bytes(content)
    try:
        model = CapFst.open(path)
    except ModelError as error:
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
        assert backoff_of(model, s)[1] < s
        assert (np.diff(arcs_of(model, s)["ilabel"]) > 0).all()
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


@pytest.mark.slow
@settings(in_one_folder, max_examples=500)
@given(data=st.data())
def test_changed_bytes_are_refused_or_harmless(data: st.DataObject, tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = bare(tmp_path / "cap.fst")
    at = data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3))
    for i in at:
        content[i] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    opens(tmp_path / "changed.fst", bytes(content))


@settings(in_one_folder, max_examples=200)
@given(data=st.data())
def test_changed_numbers_are_refused_or_harmless(data: st.DataObject, tmp_path: Path) -> None:
    """Numbers in the header and the symbol table, of 32 or 64 bits: small, huge or negative."""
    tiny().save(tmp_path / "cap.fst")
    content = bare(tmp_path / "cap.fst")
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
        (put("states", "final", 0, np.inf), 0, "empty context"),
        (put("states", "final", 0, np.nan), 0, "final weight is nan"),
        (put("states", "final", 2, -np.inf), 2, "final weight is -inf"),
        (put("states", "pos", 2, 5), 2, "neighbors"),
        (put("states", "pos", 2, 2**32 - 1), 2, "neighbors"),
        (put("states", "narcs", 0, 3), 0, "empty context"),
        (put("states", "narcs", 0, 5), 0, "empty context"),
        (put("states", "narcs", 3, 0), 3, "neighbors"),
        (put("states", "narcs", 3, 2**32 - 1), 3, "neighbors"),
        (put("states", "niepsilons", 0, 1), 0, "number of ε arcs"),
        (put("states", "noepsilons", 3, 0), 3, "number of ε arcs"),
        (put("arcs", "olabel", 5, 1), 1, "different input and output labels"),
        (put("arcs", "weight", 4, np.nan), 1, "is not a number"),
        (put("arcs", "weight", 0, -np.inf), 0, "is not a number"),
        (put("arcs", "nextstate", 5, 4), 1, "leads to no state"),
        (put("arcs", "nextstate", 3, -1), 0, "leads to no state"),
        (put("arcs", "nextstate", 6, 2), 2, "not a backoff to a state before it"),
        (label(0, 0), 0, "increase"),
        (label(2, 2), 0, "increase"),
        (label(3, 5), 0, "increase"),
        (label(4, 1), 1, "not a backoff to"),
        (label(5, 5), 1, "increase"),
        (label(5, -1), 1, "increase"),
        (label(7, 0), 2, "increase"),
    ],
)
def test_damaged_states_and_arcs(tmp_path: Path, change: Change, state: int, message: str) -> None:
    model = tiny()
    model.save(tmp_path / "cap.fst")
    content = bare(tmp_path / "cap.fst")
    arcs = np.frombuffer(content, ARC, len(model.arcs), len(content) - model.arcs.nbytes)
    # The states' 80 bytes need no padding.
    states = np.frombuffer(content, STATE, 4, len(content) - model.arcs.nbytes - model.states.nbytes)
    np.testing.assert_array_equal(states, model.states)
    change(states, arcs)
    (tmp_path / "cap.fst").write_bytes(content)
    with pytest.raises(ModelError, match=f"state {state}: .*{message}"):
        CapFst.open(tmp_path / "cap.fst")


def problems(states: npt.NDArray, arcs: npt.NDArray, labels: int, depth: npt.NDArray[np.uint8], s: int) -> bool:
    """Return whether state s is wrong, given that all states before it are right: the kernel in plain Python."""
    state = states[s]
    end = int(state["pos"]) + int(state["narcs"])
    begin = 0 if s == 0 else int(states["pos"][s - 1]) + int(states["narcs"][s - 1])
    if state["pos"] != begin or end > len(arcs) or (s == len(states) - 1 and end < len(arcs)):
        return True
    own, epsilons = arcs[begin:end], int(s > 0)
    if not state["final"] > -np.inf or state["niepsilons"] != epsilons or state["noepsilons"] != epsilons:
        return True
    targets = own["nextstate"]
    if not (own["weight"] > -np.inf).all() or (targets < 0).any() or (targets >= len(states)).any():
        return True
    if (own["ilabel"] != own["olabel"]).any():
        return True
    if s == 0:
        if len(own) != labels or state["final"] == np.inf:
            return True
    elif len(own) == 0 or own["ilabel"][0] != 0 or targets[0] >= s or depth[targets[0]] + 1 >= MAX_ORDER:
        return True
    return bool((np.diff(own["ilabel"][epsilons:], prepend=0) <= 0).any() or (own["ilabel"] > labels).any())


@settings(deadline=None)
@given(model=backoff_models(), data=st.data())
def test_the_kernel_finds_the_same_state_as_the_reference_implementation(model: Model, data: st.DataObject) -> None:
    labels = len(model.symbols) - 1
    for _ in range(data.draw(st.integers(0, 2))):
        array = data.draw(st.sampled_from([model.states, model.arcs]))
        field = data.draw(st.sampled_from(array.dtype.names))
        value = data.draw(st.sampled_from([0, 1, 2, labels, labels + 1, 2**31 - 1]))
        if field in ("final", "weight"):
            value = data.draw(st.sampled_from([0, np.nan, np.inf, -np.inf]))
        array[field][data.draw(st.integers(0, len(array) - 1))] = value
    depth = np.zeros(len(model.states), np.uint8)
    bad, found = find_problem(model.states, model.arcs, labels, depth, np.zeros(MAX_ORDER, np.int64))
    assert not any(problems(model.states, model.arcs, labels, depth, s) for s in range(bad))
    if bad < len(model.states):
        assert found
        assert problems(model.states, model.arcs, labels, depth, bad)


def chain(order: int) -> Model:
    """Build a model of n-grams up to `order` words, all the same word."""
    contexts = {(1,) * n: 0.5 for n in range(1, order)}
    return build(["a"], {(1,) * n: 1.0 for n in range(1, order + 1)}, contexts, {(): 1.0})


def test_the_greatest_order(tmp_path: Path) -> None:
    assert chain(MAX_ORDER).save(tmp_path / "cap.fst").ngrams == (2, *[1] * (MAX_ORDER - 1))
    with pytest.raises(ModelError, match=f"order .*{MAX_ORDER}"):
        chain(MAX_ORDER + 1).save(tmp_path / "cap.fst")


@pytest.mark.parametrize(
    "words, message",
    [
        (["it", "", "works"], "symbol 2 is empty"),
        (["works", "it"], r"symbol 2 \('it'\)"),
        (["it", "It", "it"], r"symbol 3 \('it'\)"),
        (["Zebra", "ähre", "Öl", "ätna"], r"symbol 4 \('ätna'\)"),
        (["<epsilon>", "a"], "<epsilon>"),
        ([], "1 symbol in"),
    ],
)
def test_wrong_symbols(tmp_path: Path, words: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build(words, {(i,): 1 for i in range(1, len(words) + 1)}, {(1,): 1}, {(): 1}).save(tmp_path / "cap.fst")


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "empty"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd"),
        (b"\n\\data\\\nngram 1=2\n", "ARPA .*`capfst import .*cap.fst -o "),
        (b"\xef\xbb\xbf# comments\n" * 99 + b"\\data\\\nngram 1=2\n", "ARPA"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0", "KenLM"),
        (b"This is a text.\n", "not an OpenFst file"),
        (b"abc", "header, after 3 bytes"),
        (bytes(1000), "not an OpenFst file"),
    ],
)
def test_foreign_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "cap.fst"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=f"{path}: .*{message}"):
        CapFst.open(path)


def test_other_fsts(tmp_path: Path) -> None:
    import pywrapfst  # noqa: PLC0415

    path = str(tmp_path / "other.fst")
    fst = vector(tiny())

    def refused(message: str) -> None:
        with pytest.raises(ModelError, match=message):
            CapFst.open(path)

    fst.write(path)
    refused(f"vector<standard>, version 2, .* `capfst import {path} -o aligned.fst`")
    pywrapfst.convert(pywrapfst.Fst.read(path), "const").write(path)
    refused("const<standard>, version 2, .* `capfst import ")
    pywrapfst.arcmap(pywrapfst.Fst.read(path), map_type="to_log").write(path)
    refused("vector<log>.* `fstmap --map_type=to_std`")
    for setting, message in [
        (lambda: fst.set_output_symbols(fst.input_symbols()), "output symbols"),
        (lambda: fst.set_input_symbols(None), "input symbols"),
    ]:
        setting()
        fst.write(path)
        openfst("fstconvert", "--fst_type=const", "--fst_align", path, path)
        refused(message)


def test_a_symbol_table_of_another_name(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = (tmp_path / "cap.fst").read_bytes()
    (tmp_path / "cap.fst").write_bytes(content.replace(b"capfst|v", b"words|||"))
    with pytest.raises(ModelError, match=r"signature: 'words\|\|\|"):
        CapFst.open(tmp_path / "cap.fst")


def test_false_property_bits(tmp_path: Path) -> None:
    tiny().save(tmp_path / "cap.fst")
    content = bare(tmp_path / "cap.fst")
    content[33 + 3] ^= 0b11 << 4  # input labels sorted → not sorted
    (tmp_path / "cap.fst").write_bytes(content)
    with pytest.raises(ModelError, match="property bits"):
        CapFst.open(tmp_path / "cap.fst")


@pytest.mark.parametrize(
    "name, message",
    [
        ("missing.fst", "No such file or directory"),
        (".", "not a regular file"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_paths_without_a_file(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        CapFst.open(tmp_path / name)


def test_errors_of_the_kernel_library_are_not_errors_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny().save(tmp_path / "cap.fst")
    error = CapfstError("no kernels")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("capfst.fst.read.unpack", fail)
    with pytest.raises(CapfstError) as caught:
        CapFst.open(tmp_path / "cap.fst")
    assert caught.value is error


@pytest.mark.parametrize("at", [4, 13, 85])
def test_messages_quote_a_line_of_a_damaged_header_at_most(tmp_path: Path, at: int) -> None:
    """Its strings are the type of the FST, the type of its arcs, and the name of the symbol table."""
    tiny().save(tmp_path / "cap.fst")
    content = (tmp_path / "cap.fst").read_bytes()
    length = int.from_bytes(content[at : at + 4], "little")
    damaged = content[:at] + (1 << 16).to_bytes(4, "little") + b"capfst|x".ljust(1 << 16, b"\xff")
    (tmp_path / "cap.fst").write_bytes(damaged + content[at + 4 + length :])
    with pytest.raises(ModelError) as refused:
        CapFst.open(tmp_path / "cap.fst")
    assert len(str(refused.value)) < 500 + len(str(tmp_path))
