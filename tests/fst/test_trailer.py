"""fst/trailer.py: its parts are read back, OpenFst ignores it, and any changed byte is detected."""

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.models import SIGNATURE, bare, openfst, tiny, trailer_start

from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.trailer import FOOTER, MAGIC, Part
from capfst.fst.write import write_fst
from capfst.system import verified

PARTS = {
    "one": Part({"a": [1, 2.5, "ä"]}, {"x": np.arange(7, dtype=np.uint8), "none": np.zeros(0, np.uint8)}),
    "two": Part({}, {"x": np.arange(100, dtype=np.uint8)}),
}


def save(path: Path) -> CapFst:
    model = tiny()
    write_fst(path, model.states, model.arcs, model.symbols, model.start, SIGNATURE, PARTS)
    return CapFst.open(path)


def with_contents(path: Path, contents: bytes, shift: int = 0) -> None:
    """Replace the contents of a model's trailer, keeping the rest valid; or shift the footer's offset."""
    whole = path.read_bytes()
    begin = FOOTER.unpack_from(whole, len(whole) - FOOTER.size)[1]
    whole = whole[:begin] + contents + struct.pack("<8sQI", MAGIC, begin + shift, len(contents) - shift)
    path.write_bytes(whole + struct.pack("<I", zlib.crc32(whole)))


def refused(path: Path) -> str:
    with pytest.raises(ModelError, match="damaged") as caught:
        CapFst.open(path)
    return str(caught.value)


def test_parts_are_read_back(tmp_path: Path) -> None:
    parts = save(tmp_path / "cap.fst").parts
    assert list(parts) == ["one", "two"]
    for name, part in PARTS.items():
        assert parts[name].settings == part.settings
        assert list(parts[name].arrays) == list(part.arrays)
        for array_name, array in part.arrays.items():
            mapped = parts[name].arrays[array_name]
            assert mapped.tolist() == array.tolist()
            assert mapped.ctypes.data % 16 == 0
            assert not mapped.flags.writeable


def test_a_model_without_parts_has_a_checksum(tmp_path: Path) -> None:
    model = tiny().save(tmp_path / "cap.fst")
    assert model.parts == {}
    assert model.checksum == zlib.crc32((tmp_path / "cap.fst").read_bytes()[:-4])


def test_openfst_reads_past_it(tmp_path: Path) -> None:
    import pynini  # noqa: PLC0415
    import pywrapfst  # noqa: PLC0415

    path = str(tmp_path / "cap.fst")
    save(tmp_path / "cap.fst")
    tiny().save(tmp_path / "bare.fst")
    (tmp_path / "bare.fst").write_bytes(bare(tmp_path / "bare.fst"))
    for read in pynini.Fst.read, pywrapfst.Fst.read:
        assert pywrapfst.equal(read(path), read(str(tmp_path / "bare.fst")))
    # With programs that map the file and programs that read it.
    assert openfst("fstinfo", path) == openfst("fstinfo", tmp_path / "bare.fst")
    assert openfst("fstprint", path) == openfst("fstprint", tmp_path / "bare.fst")


def test_a_file_without_trailer_opens(tmp_path: Path) -> None:
    """OpenFst's own programs write such files."""
    model = save(tmp_path / "cap.fst")
    openfst("fstconvert", "--fst_type=const", "--fst_align", tmp_path / "cap.fst", tmp_path / "other.fst")
    other = CapFst.open(tmp_path / "other.fst")
    assert other.trailer is None
    assert (other.arcs == model.arcs).all()
    assert other.checksum == zlib.crc32((tmp_path / "other.fst").read_bytes())


def test_a_file_of_an_earlier_version_opens(tmp_path: Path) -> None:
    """It has a trailer, but no flag that announces it."""
    model = save(tmp_path / "cap.fst")
    content = bare(tmp_path / "cap.fst") + (tmp_path / "cap.fst").read_bytes()[trailer_start(model) : -4]
    (tmp_path / "cap.fst").write_bytes(content + zlib.crc32(content).to_bytes(4, "little"))
    assert CapFst.open(tmp_path / "cap.fst").parts.keys() == model.parts.keys()


def test_every_flipped_bit_is_detected(tmp_path: Path) -> None:
    save(tmp_path / "cap.fst")
    content = (tmp_path / "cap.fst").read_bytes()
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        (tmp_path / "cap.fst").write_bytes(changed)
        with pytest.raises(ModelError):
            CapFst.open(tmp_path / "cap.fst")


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    """Also one right after the arcs, where files of other programs end."""
    model = save(tmp_path / "cap.fst")
    end = trailer_start(model)
    content = (tmp_path / "cap.fst").read_bytes()
    for size in range(end, len(content)):
        (tmp_path / "cap.fst").write_bytes(content[:size])
        assert "trailer" in refused(tmp_path / "cap.fst")
    (tmp_path / "cap.fst").write_bytes(content + b"\0")
    assert "trailer" in refused(tmp_path / "cap.fst")


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"[]",
        b"1",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"one": 1}',
        b'{"one": {}}',
        b'{"one": {"settings": 1, "arrays": {}}}',
        b'{"one": {"settings": {}, "arrays": []}}',
        b'{"one": {"settings": {}, "arrays": {"x": 1}}}',
        b'{"one": {"settings": {}, "arrays": {"x": [1]}}}',
        b'{"one": {"settings": {}, "arrays": {"x": ["a", "b"]}}}',
    ],
)
def test_invalid_contents(tmp_path: Path, contents: bytes) -> None:
    save(tmp_path / "cap.fst")
    with_contents(tmp_path / "cap.fst", contents)
    assert "contents" in refused(tmp_path / "cap.fst")


@pytest.mark.parametrize("place", [(-16, 16), (0, 16), (1, 3), (0, -1), (0, 2**62), (2**62, 2), (0, True), (0.0, 1)])
def test_arrays_outside_the_trailer(tmp_path: Path, place: tuple[float, float]) -> None:
    """place: the offset relative to the first array's, and the number of bytes."""
    model = save(tmp_path / "cap.fst")
    begin = trailer_start(model)
    begin += -begin % 16
    first = begin + place[0] if place != (0, 16) else 16
    contents = {"one": {"settings": {}, "arrays": {"x": [first, place[1]]}}}
    with_contents(tmp_path / "cap.fst", json.dumps(contents).encode())
    assert "contents" in refused(tmp_path / "cap.fst")


@pytest.mark.parametrize("shift", [-300, 1, 10_000])
def test_a_footer_with_a_wrong_offset(tmp_path: Path, shift: int) -> None:
    save(tmp_path / "cap.fst")
    with_contents(tmp_path / "cap.fst", b'{"one": {"settings": {}, "arrays": {}}}'.ljust(20_000), shift)
    refused(tmp_path / "cap.fst")


def test_a_validated_file_is_checked_again_after_a_change(tmp_path: Path) -> None:
    path = tmp_path / "cap.fst"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verified, "MIN_AGE", -(10**12))  # of any age
        save(path)
        assert verified.recall(path.stat())
        whole = bytearray(path.read_bytes())
        whole[-FOOTER.size - 300] ^= 1
        path.write_bytes(whole)
        assert "checksum" in refused(path)
