"""encode.py: cased text in the words of the LM, compared with a reference implementation."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.transducers import transducer_of

from capfst.casing import encode
from capfst.text.tokenizer import NEWLINE, PROTECTED, canonical

VOCABULARY = [
    *[
        "us",
        "US",
        "Us",
        "don't",
        "Don't",
        "do",
        "n't",
        "00:00",
        "A-00",
        "a",
        "-",
        "...",
        '"',
        "<url>",
        "<unk>",
        "é",
        "É",
    ],
    *["İ", "i\u0307", "Well-Known", "O'Neill", "--", "10:30", "’s", "'s", "a-b"],
]
TEXT = st.lists(
    st.sampled_from([*VOCABULARY, "uS", "oov", "O’NEILL", "DON’T", "…", "—", "a-99", "x@y", "“", "A-B", "\n", "\r\n"])
    | st.text(max_size=4),
    max_size=10,
).map(" ".join)


TRANSDUCERS = {plain: transducer_of(VOCABULARY, plain) for plain in (False, True)}


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(TEXT, st.booleans())
@example("0_0", False)
def test_against_a_reference_implementation(text, plain):
    t = TRANSDUCERS[plain]
    label = {form: i for i, form in enumerate(t.symbols)}
    buf = np.frombuffer(text.encode(), np.uint8)
    words = t.words(buf)
    shown: list[list[str]] = [[]]
    labels = []
    for s, e, kind, n_forms in zip(*words[:3], words.n_forms, strict=True):
        if kind == NEWLINE:
            shown.append([])
            labels.append(0)
            continue
        out = np.empty(max(8, e - s), np.uint8)
        size = 0 if plain else canonical(buf, s, e, kind, out)
        word = (buf[s:e] if plain else out[:size]).tobytes().decode()
        shown[-1].append(word)
        is_identifier = kind == PROTECTED and n_forms == 0  # an unknown word, shown unchanged
        labels.append(label["<unk>"] if is_identifier else label.get(word, label["<unk>"]))
    assert encode.labels(buf, words, t.symbols, label["<unk>"]).tolist() == labels
    assert bytes(encode.spaced(buf, words, plain)).decode() == "\n".join(map(" ".join, shown))


@pytest.mark.parametrize(
    ("text", "plain", "expected"),
    [
        ("Don’t  say “A-10”…\n\n at 9:05\n", False, 'Do n\'t say " A-00 " ...\n\nat 0:00\n'),
        ("A-10 a-b a-c http://X  ,x", False, "A-00 a-b a - c <url> , x"),
        (" Don’t\tsay \0“US”\r\n10:30", True, "Don’t say “US”\n10:30"),
        ("", False, ""),
        ("\n", True, "\n"),
    ],
)
def test_golden(text, plain, expected):
    t = TRANSDUCERS[plain]
    buf = np.frombuffer(text.encode(), np.uint8)
    assert bytes(encode.spaced(buf, t.words(buf), plain)).decode() == expected
