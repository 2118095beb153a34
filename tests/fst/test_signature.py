import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import CapfstError
from capfst.fst.signature import Signature

TEXT = "capfst|v:0.1.0|order:3|smoothing:kn|pruning:none|tokenizer:capfst|lowercasing:default|corpus:1f0c6a5e"
SIGNATURE = Signature("0.1.0", 3, "kn", "none", "capfst", "default", "1f0c6a5e")

values = st.text(min_size=1).filter(lambda value: "|" not in value and value.isprintable())


def test_golden() -> None:
    assert SIGNATURE.format() == str(SIGNATURE) == TEXT
    assert Signature.parse(TEXT) == SIGNATURE


@pytest.mark.slow
@given(st.builds(Signature, values, st.integers(0, 999), values, values, values, values, values))
def test_round_trip(signature: Signature) -> None:
    assert Signature.parse(signature.format()) == signature


@pytest.mark.parametrize("value", ["", "a|b", "a\nb", "\0"])
def test_no_value_breaks_the_line(value: str) -> None:
    with pytest.raises(ValueError, match="a signature's corpus cannot be"):
        Signature("0.1.0", 3, "kn", "none", "capfst", "default", value).format()


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no capfst signature"),
        ("words.txt", "no capfst signature"),
        ("capfst2" + TEXT[6:], "no capfst signature"),
        ("capfst", "has not exactly the keys"),
        (TEXT + "|oov:guess", "has not exactly the keys"),
        (TEXT + "|v:0.2.0", "has not exactly the keys"),
        (TEXT.replace("|order:3", ""), "has not exactly the keys"),
        (TEXT.replace("order:3", "order:three"), "order is not a number"),
        (TEXT.replace("order:3", "order:-3"), "order is not a number"),
        (TEXT.replace("order:3", "order:٣"), "order is not a number"),
        (TEXT.replace("order:3", "order:03"), "is damaged"),
        (TEXT.replace("kn", ""), "is damaged"),
        ("capfst|order:3|v:0.1.0" + TEXT[22:], "is damaged"),
    ],
)
def test_foreign_names(text: str, message: str) -> None:
    with pytest.raises(CapfstError, match=message):
        Signature.parse(text)
