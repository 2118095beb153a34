"""unicode.py: the tables compared with `unicodedata`, the kernels with `str`."""

import runpy
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.text import unicode as ch
from capfst.text.unicode import INFO, LOWERING, TO_LOWER, TO_TITLE, TO_UPPER

ROOT = Path(__file__).parents[2]
GRAMMARS = ROOT / "grammars"

SCALARS = [code for code in range(ch.CODE_POINTS) if not 0xD800 <= code < 0xE000]
# Without characters in which `str.lower` may differ from the tables (Unicode 15.1): those that this Python's Unicode
# lacks (category Cn; Python 3.10 has Unicode 13), and U+1734, which was IGNORABLE before Unicode 14.
REVISED = "\u1734"
KNOWN = [code for code in SCALARS if unicodedata.category(chr(code)) != "Cn" and chr(code) != REVISED]

known_text = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters=REVISED))
# A few characters, each a case of its own in the final-sigma rule.
sigma_text = st.text(st.sampled_from("ΣσςΑα aİǅⅧ0'.,·:\u00ad\u0301\u0345ʰ\u200d\n😀"))


@given(st.binary(min_size=8, max_size=8), st.integers(0, 127), st.integers(0, 127))
@settings(deadline=None)
def test_within(text, a, b):
    ascii_text = bytes(byte & 127 for byte in text)
    least, most = min(a, b), max(a, b)
    found = int(ch.within(np.frombuffer(ascii_text, np.uint64)[0], least, most)).to_bytes(8, "little")
    assert list(found) == [128 * (least <= byte <= most) for byte in ascii_text]


def lower_slice(text: str, start: int, end: int) -> str:
    """Return the kernel's lowercase of text[start:end] in its context."""
    buf = np.frombuffer(text.encode(), np.uint8)
    first, last = len(text[:start].encode()), len(text[:end].encode())
    out = np.zeros(3 + (last - first) * 3 // 2, np.uint8)
    stop = ch.lower_into(buf, first, last, 0, len(buf), out, 3, LOWERING)
    assert not out[:3].any() and not out[stop:].any()
    return out[3:stop].tobytes().decode()


@pytest.mark.parametrize(
    ("characters", "name", "flags"),
    [
        ("az", "LETTER", ch.IS_CASED),
        ("AZÉΣЖǄǅⅧⒶẞ", "LETTER", ch.IS_CASED | ch.IS_UPPER),
        ("ßıςſⅷⓐ𝐀ªﬁა", "LETTER", ch.IS_CASED),
        ("אب漢かnǃ"[:4], "LETTER", 0),
        ("ʰˈー", "LETTER", ch.IS_IGNORABLE),
        ("\u0301\u0345\u200c\u200d\u00ad", "MARK", ch.IS_IGNORABLE),
        ("09٣½²〇", "NUMBER", 0),
        (" \t\n\r\x0b\x1c\x85\u00a0\u2003\u3000", "SPACE", 0),
        ("!-–“«$+©😀", "PUNCT", 0),
        ("'’.·:^`", "PUNCT", ch.IS_IGNORABLE),
        ("\0\x7f\ue000\U0010ffff", "OTHER", 0),
        ("\u200b\ufeff", "OTHER", ch.IS_IGNORABLE),
    ],
)
def test_info(characters: str, name: str, flags: int) -> None:
    for c in characters:
        assert INFO[ord(c)] == getattr(ch, name) | flags, c


def test_info_agrees_with_str() -> None:
    for code in KNOWN:
        c = chr(code)
        assert (INFO[code] & ch.CLASS == ch.SPACE) == c.isspace(), hex(code)
        assert bool(INFO[code] & ch.IS_UPPER) == (c.lower() != c), hex(code)


@pytest.mark.parametrize(
    ("small", "title"),
    [*zip("akåωσǆიიßıςſŉﬁ𝐚1A\u0345", "AKÅΩΣǅიიßıςſŉﬁ𝐚1A\u0345", strict=True)],
)
def test_title(small: str, title: str) -> None:
    assert chr(ch.mapped(TO_TITLE, ord(small))) == title


def test_capital() -> None:
    changed = np.flatnonzero(TO_TITLE != TO_UPPER)
    assert "".join(map(chr, changed[changed < 0x10D0])) == "ǆǉǌǳ"
    assert "".join(chr(ch.mapped(TO_UPPER, ord(c))) for c in "ǆǉǌǳაჿßk") == "ǄǇǊǱᲐᲿßK"
    assert (TO_LOWER[TO_UPPER[changed]] == changed).all()


def test_title_lowers_to_itself() -> None:
    changed = np.flatnonzero(np.arange(len(TO_TITLE)) != TO_TITLE)
    assert len(changed) > 1300
    assert (TO_LOWER[TO_TITLE[changed]] == changed).all()
    assert (TO_LOWER[TO_LOWER] == TO_LOWER).all()


def test_tables_are_read_only() -> None:
    assert INFO.shape == (0x110000,)
    assert TO_LOWER.shape == TO_TITLE.shape == TO_UPPER.shape
    for table in (INFO, TO_LOWER, TO_TITLE, TO_UPPER):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1


def test_decode_and_encode() -> None:
    edges = [0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    codes = [*edges, *SCALARS[::97]]
    buf = np.frombuffer("".join(map(chr, codes)).encode(), np.uint8)
    out = np.zeros(len(buf), np.uint8)
    i = j = 0
    for code in codes:
        decoded, i = ch.decode(buf, i, len(buf))
        assert decoded == code
        j = ch.encode(code, out, j)
        assert i == j
    assert i == len(buf)
    assert (out == buf).all()


@pytest.mark.parametrize("cut", ["é", "€", "😀"])
def test_a_character_cut_by_the_end(cut: str) -> None:
    buf = np.frombuffer(cut.encode(), np.uint8)
    for end in range(1, len(buf)):
        assert ch.decode(buf, 0, end) == (0xFFFD, end)


@pytest.mark.parametrize("around", ["{}", "{}Σ", "A{}Σ", "AΣ{}", "AΣ{}A"])
def test_lower_is_str_lower_on_every_code_point(around: str) -> None:
    text = "\n".join(around.format(chr(code)) for code in KNOWN)
    if ch.lower(text) != text.lower():
        wrong = [hex(code) for code in KNOWN if ch.lower(x := around.format(chr(code))) != x.lower()]
        pytest.fail(f"differs from str.lower: {wrong}")


@settings(deadline=None)
@given(known_text | sigma_text)
def test_lower_is_str_lower(text: str) -> None:
    assert ch.lower(text) == text.lower()
    assert ch.lower_bytes(text.encode()) == text.lower().encode()


@settings(deadline=None)
@given(known_text | sigma_text, st.data())
def test_lower_of_a_slice_sees_its_line(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    bounds = [0, *cuts, len(text)]
    parts = [lower_slice(text, first, last) for first, last in pairwise(bounds)]
    assert "".join(parts) == text.lower()


def test_the_context_is_limited() -> None:
    buf = np.frombuffer("ΑΣΑ".encode(), np.uint8)
    out = np.zeros(3, np.uint8)
    for context, sigma in [((0, 6), "σ"), ((0, 4), "ς"), ((2, 4), "σ")]:
        stop = ch.lower_into(buf, 2, 4, *context, out, 0, LOWERING)
        assert out[:stop].tobytes().decode() == sigma


def test_the_script_writes_these_tables(tmp_path: Path) -> None:
    version = (GRAMMARS / "lower.tsv").read_text(encoding="utf-8").split(maxsplit=3)[2].rstrip(",")
    if unicodedata.unidata_version != version:
        pytest.skip(f"the tables are of Unicode {version}, this Python has {unicodedata.unidata_version}")
    runpy.run_path(str(ROOT / "scripts" / "maintain" / "make_characters.py"))["write_tables"](tmp_path)
    for name in ("characters.tsv", "decompositions.tsv", "lower.tsv"):
        assert (tmp_path / name).read_bytes() == (GRAMMARS / name).read_bytes()


def _is_decoded(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(st.text(max_size=12).map(lambda s: s.encode("utf-8", "replace")) | st.binary(max_size=4), max_size=6))
def test_utf8_is_valid_if_python_decodes_it(parts: list[bytes]) -> None:
    text = b"".join(parts)
    assert ch.is_utf8(np.frombuffer(text, np.uint8)) == _is_decoded(text)


def test_the_bounds_of_utf8() -> None:
    for first in range(0x80, 0x100):
        for second in (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0):
            for rest in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf", b"\x80\xc0"):
                text = bytes([first, second]) + rest
                assert ch.is_utf8(np.frombuffer(text, np.uint8)) == _is_decoded(text)
