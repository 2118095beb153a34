"""transducer.py: the ranges of T, compared with the symbol table's own search."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import FORMS
from support.transducers import transducer_of

from capfst.casing.transducer import Transducer
from capfst.fst.symbols import Symbols, check
from capfst.text.protected import AUTOMATON, IDENTIFIER, VERSION, WHOLE_WORD, search
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, PROTECTED, WORD, canonical, tokenize
from capfst.text.unicode import INFO, LOWERING, lower_bytes, lower_into


def forms_of(t: Transducer, text: str) -> list[tuple[str, list[str]]]:
    """Return each word of a text with its surface forms."""
    data = text.encode()
    return [
        (data[s:e].decode(), [t.symbols[label] for label in range(first, first + forms)])
        for s, e, _, first, forms in zip(*t.words(np.frombuffer(data, np.uint8))[:5], strict=True)
    ]


def reference(t: Transducer, starts: np.ndarray, text: str) -> list[tuple[int, int, int, range]]:
    """Return (start, end, kind, labels) of the words, from `Symbols.forms`, if no form has a Σ."""
    data = text.encode()
    buf = np.frombuffer(data, np.uint8)
    out = np.empty(2 * buf.size + 8, np.uint8)
    found = []
    end = 0  # of the last compound in the vocabulary
    for s, e, kind in zip(*tokenize(data, t.pretokenized), strict=True):
        if s < end:
            continue
        word = data[s:e]
        if kind in (WORD, COMPOUND):
            word = out[: lower_into(buf, s, e, 0, buf.size, out, 0, LOWERING)].tobytes()
        if not t.pretokenized:
            word = out[: canonical(np.frombuffer(word, np.uint8), 0, len(word), kind, out)].tobytes()
        labels = range(0) if kind == NEWLINE else t.symbols.forms(word.decode(), starts)
        is_unknown = kind in (WORD, COMPOUND) and not labels and not t.pretokenized
        if is_unknown and search(buf, s, -1, e, WHOLE_WORD, INFO, AUTOMATON)[0] in (VERSION, IDENTIFIER):
            kind, end = PROTECTED, e
        elif kind == COMPOUND:
            if not labels:
                continue
            end = e
        found.append((int(s), int(e), int(kind), labels))
    return found


VOCABULARY = [
    *(form for form in FORMS if "Σ" not in form), "<url>", "<unk>", "well-known", "Well-Known", "F-00", "f-00", "00:00",
    "n't", "N'T", "...", "--", '"', "0", "İ", "I\u0307", "é", "É", "internationalisation", "Internationalisation",
    "ß", "ẞ", "k", "K", "<url", "''", "don't",
    "yahoo.com", "a_b", "C-00.0_x",
]  # fmt: skip
OTHERS = ["f-16", "x-y", "http://x", "don’t", "10:30", "Main.Py", "x-Main.Py", "c-12.3_x"]
PIECES = st.sampled_from([*VOCABULARY, *map(str.upper, VOCABULARY), *map(str.title, VOCABULARY), *OTHERS])
TEXTS = st.lists(
    PIECES | st.sampled_from([" ", "\n", "  ", "-", "'s", "’S", "Kelvin", "\0", "\u00a0"]), max_size=10
).map(" ".join)


@settings(deadline=None, max_examples=400)
@given(
    vocabulary=st.lists(st.sampled_from(VOCABULARY), unique=True),
    text=TEXTS | st.text(),
    plain=st.booleans(),
    costs=st.none() | st.lists(st.sampled_from([1, 20]), min_size=3 * len(VOCABULARY), max_size=3 * len(VOCABULARY)),
)
def test_ranges_are_those_of_the_symbol_table(vocabulary, text, plain, costs):
    forms = [*vocabulary, "<unk>"] if "<unk>" not in vocabulary else vocabulary
    t = transducer_of(forms, plain, costs if costs is None else np.array(costs[: len(forms)], np.float32))
    words = t.words(np.frombuffer(text.encode(), np.uint8))
    found = [
        (int(s), int(e), int(kind), range(first, first + forms))
        for s, e, kind, first, forms in zip(*words[:5], strict=True)
    ]
    assert found == reference(t, check(t.symbols), text)


GOLDEN = [
    (["US", "us", "Us"], "us uS U.S. usa", [("us", 3), ("uS", 3), ("U.S.", 0), ("usa", 0)]),
    (["00:00", "F-00"], "10:30 f-16 F-1", [("10:30", 1), ("f-16", 1), ("F", 0), ("-", 0), ("1", 0)]),
    (["don't", "o'Neill", "O'Neill"], "O’NEILL o'neill", [("O’NEILL", 2), ("o'neill", 2)]),
    (["well-known", "well", "-"], "Well-Known well-x", [("Well-Known", 1), ("well", 1), ("-", 1), ("x", 0)]),
    (["<url>", "..."], "http://X … .. @me", [("http://X", 1), ("…", 1), ("..", 1), ("@me", 1)]),
    (["İ", "i"], "İ i̇ I ı", [("İ", 1), ("i̇", 1), ("I", 1), ("ı", 0)]),
    (["<unk>", "<"], "<unk ><unk>", [("<", 1), ("unk", 0), (">", 0)]),
    (["node.js", "-"], "Node.js x-node.Js Vue.js x-y.c", [("Node.js", 1), ("x-node.Js", 0), ("Vue.js", 0), ("x", 0),
     ("-", 1), ("y.c", 0)]),
]  # fmt: skip


@pytest.mark.parametrize(("vocabulary", "text", "expected"), GOLDEN)
def test_golden(vocabulary, text, expected):
    assert [(word, len(forms)) for word, forms in forms_of(transducer_of(vocabulary), text)] == expected


def test_pretokenized_words_are_not_changed():
    t = transducer_of(["It's", "it's", "1990", "0000", "’s", "<unk>", "a-b", "<s>x"], pretokenized=True)
    found = forms_of(t, "IT'S 1990 1991 ’S 's <UNK> A-B a-c <S>X <epsilon>")
    assert [len(forms) for _, forms in found] == [2, 1, 0, 1, 0, 1, 1, 0, 1, 0]


GREEK = ["Οδος", "ΟΔΟΣ", "οδος", "οδοσ", "Οδοσ", "Σ", "σ", "ς", "a.Σ.", "A.σ.", "A.ς.", "δ", "Δ"]


@pytest.mark.parametrize(
    ("text", "word", "forms"),
    [
        ("οδος", "οδος", ["Οδος", "ΟΔΟΣ", "οδος"]),
        ("ΟΔΟΣ!", "ΟΔΟΣ", ["Οδος", "ΟΔΟΣ", "οδος"]),
        ("οδοσ", "οδοσ", ["οδοσ", "Οδοσ"]),
        ("ΟΔΟΣ's", "ΟΔΟΣ", ["οδοσ", "Οδοσ"]),  # without Σ: their lowercase is the same in any context
        ("οδος's", "οδος", []),  # the s would make the Σ of ΟΔΟΣ a σ
        ("Σ σ", "Σ", ["Σ", "σ"]),
        ("1:Σ", "Σ", ["Σ", "σ"]),
        ("a:Σ", "Σ", ["ς"]),  # a final sigma
        ("a:σ", "σ", []),
        ("a.ς.", "a.ς.", ["a.Σ.", "A.ς."]),
        ("A.Σ.:b", "A.Σ.", ["A.σ."]),
        ("a.ς.:b", "a.ς.", []),
        ("ΟΔΟΣ:δ", "δ", ["δ", "Δ"]),
    ],
)
def test_sigma(text, word, forms):
    """Forms are excluded if their neighbors would make their Σ another sigma, and so change the line's lowercase."""
    t = transducer_of(GREEK)
    assert dict(forms_of(t, text))[word] == forms
    data = text.encode()
    for s, e, _, first, count in zip(*t.words(np.frombuffer(data, np.uint8))[:5], strict=True):
        for label in range(first, first + count):
            assert lower_bytes(data[:s] + t.symbols.utf8(label) + data[e:]) == lower_bytes(data)


@pytest.mark.slow
def test_many_words():
    """200,000 words are found, and more than as many others are not."""
    rng = random.Random(2)
    made = {"".join(rng.choices("abcdefgé", k=rng.randint(1, 20))) for _ in range(520_000)}
    everything = sorted(made, key=str.encode)
    rng.shuffle(everything)
    known, others = sorted(everything[:200_000], key=str.encode), everything[200_000:]
    assert len(others) > 200_000
    symbols = Symbols.from_words(known)
    t = Transducer(symbols, check(symbols), pretokenized=True)
    words = t.words(np.frombuffer(" ".join(known).upper().encode(), np.uint8))
    assert (words.n_forms == 1).all()
    assert np.array_equal(words.first_labels, np.arange(1, len(known) + 1))
    words = t.words(np.frombuffer(" ".join(others).encode(), np.uint8))
    assert not words.n_forms.any()


def test_kinds_are_kept():
    t = transducer_of(["well-known", "a", "<unk>"])
    words = t.words(np.frombuffer(b"a well-known a-b, x@y\n", np.uint8))
    kinds = [WORD, COMPOUND, WORD, MARKS, WORD, MARKS, PROTECTED, NEWLINE]
    assert words.token_types.tolist() == kinds


def test_texts_of_any_size_follow_each_other():
    t = transducer_of(["US", "us", "Us", "well-known"])
    text = "us well-known us, x\n"
    known = forms_of(transducer_of(["US", "us", "Us", "well-known"]), text)
    for repeats in 0, 1, 5000, 2, 150_000, 3:
        assert forms_of(t, repeats * text) == repeats * known


def test_memory_that_could_not_be_allocated_is_not_used(monkeypatch):
    def fail(size, dtype):
        raise MemoryError

    t = transducer_of(["US", "us"])
    t.words(np.frombuffer(b"us", np.uint8))
    with monkeypatch.context() as patch:
        patch.setattr("capfst.text.tokenizer.sparse", fail)
        with pytest.raises(MemoryError):
            t.memory(1 << 18)
    (tokens, keys), _ = t.memory(1 << 18)
    assert min(tokens.starts.size, keys.size) >= 1 << 18
