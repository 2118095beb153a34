"""The signature: its text, there and back, and texts that are not signatures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import ModelError
from capfst.fst.signature import Signature

TEXT = "capfst|v:0.1.0|order:3|smoothing:kn|pruning:none|tokenizer:capfst|lowercasing:default|corpus:1f0c6a5e"
SIGNATURE = Signature("0.1.0", 3, "kn", "none", "capfst", "default", "1f0c6a5e")

values = st.text(min_size=1).filter(lambda value: "|" not in value and value.isprintable())


def test_golden() -> None:
    assert str(SIGNATURE) == TEXT
    assert Signature.parse(TEXT) == SIGNATURE


@pytest.mark.slow
@given(st.builds(Signature, values, st.integers(0, 999), values, values, values, values, values))
def test_round_trip(signature: Signature) -> None:
    assert Signature.parse(str(signature)) == signature


@pytest.mark.parametrize("value", ["", "a|b", "a\nb", "\0"])
def test_values_that_cannot_be_in_the_line(value: str) -> None:
    with pytest.raises(ValueError, match="corpus"):
        str(Signature("0.1.0", 3, "kn", "none", "capfst", "default", value))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "signature: ''"),
        ("words.txt", "signature: 'words.txt'"),
        ("capfst2" + TEXT[6:], r"signature: 'capfst2\|"),
        ("capfst", "keys"),
        (TEXT + "|oov:guess", "keys"),
        (TEXT + "|v:0.2.0", "keys"),
        (TEXT.replace("|order:3", ""), "keys"),
        (TEXT.replace("order:3", "order:three"), "order .*'three'"),
        (TEXT.replace("order:3", "order:-3"), "order .*'-3'"),
        (TEXT.replace("order:3", "order:٣"), "order .*'٣'"),
        (TEXT.replace("order:3", "order:03"), r"order:03\|.* damaged"),
        (TEXT.replace("kn", ""), r"smoothing:\|.* damaged"),
        ("capfst|order:3|v:0.1.0" + TEXT[22:], r"'capfst\|order:3\|v:0.1.0.* damaged"),
    ],
)
def test_texts_that_are_not_signatures(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Signature.parse(text)
