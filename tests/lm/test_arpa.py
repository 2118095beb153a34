"""ARPA files: from KenLM, SRILM, IRSTLM and OpenGrm; round trips; the errors in invalid files, with their lines."""

import gzip
import io
import math
import re
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acceptors import Model, build, check_conventions, estimated
from support.plain_kneser_ney import WORDS, corpora, grams_of, labels_of

from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.io.codecs import zstd
from capfst.lm import arpa_write
from capfst.lm.acceptor import compile_levels
from capfst.lm.arpa_lines import BAD_FIELDS, BAD_NUMBER, POSITIVE, REASONS, TOO_LARGE, UNKNOWN_WORD, number
from capfst.lm.arpa_read import read_arpa
from capfst.lm.arpa_write import _lines, _put_number, write_arpa
from capfst.lm.query import token_costs
from capfst.models.convert import export_arpa, import_model

KENLM = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-1.2\t<unk>\t0
0\t<s>\t-0.3
-0.9\t</s>\t0
-0.5\tB\t-0.2
-0.7\tb\t-0.1

\\2-grams:
-0.4\t<s> B\t-0.25
-0.6\t<s> b\t0
-0.3\tB b\t0.15
-0.2\tb </s>\t0

\\3-grams:
-0.1\t<s> B b

\\end\\
"""
# No <unk>; blanks; -99; a pruned suffix (`b b` is the suffix of a trigram); numbers with exponents.
SRILM = """
\\data\\
ngram 1=4
ngram 2=2
ngram 3=1

\\1-grams:
-0.9\t</s>
-99\t<s>\t-3.0e-01
-0.5\tB\t-0.2
-0.7\tb\t-0.1

\\2-grams:
-0.4\t<s> B\t-0.25
-0.3\tB b\t0.15

\\3-grams:
-0.1\tB b b

\\end\\
"""
IRSTLM = """iARPA

\\data\\
ngram  1=         5
ngram  2=         3


\\1-grams:
-1.2 <unk>
-1.0 <s> -0.3
-0.9 </s>
-0.5 B -0.2
-0.7 b -0.1
\\2-grams:
-0.4 <s> B
-0.2 b </s>
-0.5 </s> <s>
\\end\\
"""
FORMS = ["<unk>", "B", "b"]


def read(text: str) -> tuple[dict, dict]:
    words, levels = read_arpa(io.BytesIO(text.encode()))
    assert sorted(words) == sorted(FORMS)
    prob, weight = grams_of(levels, words)
    return {gram: math.log10(p) for gram, p in prob.items()}, {gram: math.log10(w) for gram, w in weight.items()}


def test_kenlm() -> None:
    prob, weight = read(KENLM)
    assert prob == pytest.approx(
        {
            ("<unk>",): -1.2,
            ("</s>",): -0.9,
            ("B",): -0.5,
            ("b",): -0.7,
            ("<s>", "B"): -0.4,
            ("<s>", "b"): -0.6,
            ("B", "b"): -0.3,
            ("b", "</s>"): -0.2,
            ("<s>", "B", "b"): -0.1,
        }
    )
    assert weight == pytest.approx({("<s>",): -0.3, ("B",): -0.2, ("b",): -0.1, ("<s>", "B"): -0.25, ("B", "b"): 0.15})


def test_words_are_sorted_like_symbols() -> None:
    """By lowercase form, then by probability: B before b."""
    assert read_arpa(io.BytesIO(KENLM.encode())).words == FORMS


def test_srilm() -> None:
    prob, weight = read(SRILM)
    assert prob["<unk>",] == pytest.approx(-100)
    assert prob["b", "b"] == pytest.approx(-0.1 - 0.7), "its probability by backing off"
    assert prob["B", "b", "b"] == pytest.approx(-0.1)
    assert weight["<s>",] == pytest.approx(-0.3)


def test_irstlm() -> None:
    prob, _ = read(IRSTLM)
    assert ("b", "</s>") in prob
    assert len(prob) == 4 + 2, "no sentence contains `</s> <s>`"


def test_the_backoff_weight_of_an_ngram_that_is_not_extended_counts() -> None:
    """`B b` is a context because of its weight: log10 P(<unk> | B b) is 0.15 - 0.1 - 1.2."""
    model = compile_levels(read_arpa(io.BytesIO(KENLM.encode())).levels)
    costs = token_costs(*model, np.array([2, 3, 1], np.uint32))
    assert -costs / math.log(10) == pytest.approx([-0.4, -0.1, 0.15 - 0.1 - 1.2])


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_compressed(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a").write_bytes(compress(KENLM.encode()))
    assert read_arpa(tmp_path / "a").words == FORMS


@settings(deadline=None, max_examples=30)
@given(corpora, st.integers(1, 5), st.none() | st.integers(9, 60))
def test_round_trip(corpus: list[list[str]], order: int, limit: int | None) -> None:
    levels = estimated(labels_of(corpus), len(WORDS), order, max_ngrams=limit)
    states, arcs, start = compile_levels(levels)
    with tempfile.TemporaryDirectory() as folder:
        write_arpa(f"{folder}/model.arpa", states, arcs, start, Symbols.from_words(WORDS))
        words, read_levels = read_arpa(f"{folder}/model.arpa")
    prob, weight = grams_of(levels)
    prob_back, weight_back = grams_of(read_levels, words)
    assert prob_back == pytest.approx(prob, rel=1e-6)
    for context in weight | weight_back:  # a weight of 1 may be given or not
        assert weight_back.get(context, 1) == pytest.approx(weight.get(context, 1), rel=1e-6)
    own = Model(*compile_levels(read_levels), [])
    check_conventions(own, len(WORDS))
    assert len(own.states) == len(states)


def edit(old: str, new: str) -> str:
    assert old in KENLM
    return KENLM.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 0, "\\data\\"),
        ("hello\nworld\n", 2, "\\data\\"),
        (edit("ngram 2=4\n", ""), 3, "number of 2-grams"),
        (edit("ngram 2=4", "ngram 2=5"), 18, "1 2-grams"),
        (edit("ngram 2=4", "ngram 2=3"), 17, "\\3-grams:"),
        (edit("ngram 1=5", "ngram 1=6"), 13, "1 1-grams"),
        (edit("ngram 1=5", "ngram 1=4"), 11, "\\2-grams:"),
        (edit("\\2-grams:\n", ""), 13, "\\2-grams:"),
        (edit("\n\\end\\\n", ""), 20, "\\end\\"),
        (KENLM[: KENLM.index("B b\t0.15")], 16, REASONS[BAD_FIELDS].format(n=2)),
        (edit("-0.3\tB b", "-0.3\tB c"), 16, REASONS[UNKNOWN_WORD]),
        (edit("-0.3\tB b", "nan\tB b"), 16, REASONS[BAD_NUMBER]),
        (edit("-0.3\tB b", "-0.3x\tB b"), 16, REASONS[BAD_NUMBER]),
        (edit("B b\t0.15", "B b\tnan"), 16, REASONS[BAD_NUMBER]),
        (edit("-0.3\tB b", "0.3\tB b"), 16, REASONS[POSITIVE]),
        (edit("0.15", "0.15 0.15"), 16, REASONS[BAD_FIELDS].format(n=2)),
        (edit("-0.3\tB b\t0.15", "-0.4\t<s> B\t0"), 16, "2-gram is repeated"),
        (edit("-0.1\t<s> B b", "-0.1\tb B b"), 20, "3-gram extends"),
        (edit("-0.5\tB", "-0.5\tb"), 11, "'b'"),
        (edit("-0.5\tB", "0.5\tB"), 10, REASONS[POSITIVE]),
        (edit("-0.5\tB", "minus\tB"), 10, REASONS[BAD_NUMBER]),
        (edit("-0.5\tB\t-0.2", "-0.5"), 10, REASONS[BAD_FIELDS].format(n=1)),
        (edit("-0.9\t</s>\t0", "-0.9\tc\t0"), 11, "</s>"),
        (edit("ngram 3=1", "ngram 3=1\nngram 4=0\nngram 5=0\nngram 6=0"), 7, "6 orders"),
        (edit("ngram 1=5", "ngram 1=" + "9" * 5000), 2, "5000 digits"),
        (edit("ngram 2=4", "ngram 2=9999999999"), 18, "9999999995 2-grams"),
        (edit("ngram 2=4", "ngram " + "2" * 5000 + "=4"), 3, "\\1-grams:"),
        (edit("ngram 2=4", "ngram 2=-4"), 3, "\\1-grams:"),
        *(
            (edit("-0.3\tB b", f"{value}\tB b"), 16, REASONS[POSITIVE])
            for value in ("inf", "1e308", "+Infinity", "1e999")
        ),
        *((edit("-0.5\tB", f"{value}\tB"), 10, REASONS[POSITIVE]) for value in ("inf", "1e308", "infinity")),
        *((edit("B b\t0.15", f"B b\t{value}"), 16, REASONS[TOO_LARGE]) for value in ("inf", "1e308", "100")),
        *((edit("B\t-0.2", f"B\t{value}"), 10, REASONS[TOO_LARGE]) for value in ("inf", "1e308", "1e7")),
        *((edit("-0.3\tB b", f"{value}\tB b"), 16, REASONS[BAD_NUMBER]) for value in ("-infx", "-nan", "-0x1", "-1_0")),
        *(
            (edit("-0.5\tB", f"{value}\tB"), 10, REASONS[BAD_NUMBER])
            for value in ("-infx", "-nan", "-0x1", "-1_0", "nan")
        ),
        *((edit("-0.9\t</s>", f"{value}\t</s>"), 9, "</s>") for value in ("-inf", "-1e308")),
        (edit("-0.5\tB", "-0.5\t<epsilon>"), 10, "<epsilon>"),
    ],
)
def test_invalid_files(text: str, line: int, message: str) -> None:
    with pytest.raises(ModelError) as error:
        read_arpa(io.BytesIO(text.encode()))
    assert message in str(error.value)
    assert f"line {line}:" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-0.5\tB", "-inf\tB"),
        ("-0.5\tB", "-1e308\tB"),
        ("B\t-0.2", "B\t-inf"),
        ("-0.3\tB b", "-infinity\tB b"),
        ("B b\t0.15", "B b\t-1e308"),
        ("-0.4\t<s> B", "-1e-400\t<s> B"),
        ("-0.5\tB", "-0.5\tB" + " " * 100_000),
        ("-0.3\tB b", "-0.3\tB b" + " " * 100_000),
    ],
)
def test_extreme_models(tmp_path: Path, old: str, new: str) -> None:
    """Models with probabilities of 0 and long lines are compiled, opened and exported."""
    (tmp_path / "a.arpa").write_text(edit(old, new))
    import_model(tmp_path / "a.arpa", tmp_path / "a.fst")
    export_arpa(tmp_path / "a.fst", tmp_path / "b.arpa")
    import_model(tmp_path / "b.arpa", tmp_path / "b.fst")
    first, second = CapFst.open(tmp_path / "a.fst"), CapFst.open(tmp_path / "b.fst")
    assert list(first.symbols) == list(second.symbols)
    assert not np.isnan(first.arcs["weight"]).any()


@pytest.mark.parametrize("word", ["B\x00", "\x00", "\x01B", "\x0b", "B\u2028", "B\xa0", "<eps>", "B" * 70_000])
def test_odd_words(tmp_path: Path, word: str) -> None:
    text = re.sub(r"\bB\b", lambda match: word, KENLM)
    (tmp_path / "a.arpa").write_text(text)
    import_model(tmp_path / "a.arpa", tmp_path / "a.fst")
    assert word in list(CapFst.open(tmp_path / "a.fst").symbols)


@pytest.mark.slow
@pytest.mark.parametrize("after", ["\\data\\\n", "ngram 3=1\n", "\\1-grams:\n", "-0.9\t</s>\t0\n", "\\3-grams:\n"])
def test_blank_lines(tmp_path: Path, after: str) -> None:
    """Many blank lines take no memory, and little time."""
    lines = 40_000_000
    begin, end = edit(after, after + "!").split("!")
    wrong = 1 if after.startswith("\\data") else lines + begin.count("\n") + 1
    (tmp_path / "a").write_bytes(zstd.compress(begin.encode() + b"\n" * lines + end.encode()))
    tracemalloc.start()
    try:
        if after.startswith("\\3"):
            with pytest.raises(ModelError, match=" 1 3-grams"):
                read_arpa(tmp_path / "a")
        else:
            assert read_arpa(tmp_path / "a").words == FORMS
            (tmp_path / "a").write_bytes(zstd.compress(begin.encode() + b"\n" * lines + b"x" + end.encode()))
            with pytest.raises(ModelError, match=f"line {wrong}: "):
                read_arpa(tmp_path / "a")
        assert tracemalloc.get_traced_memory()[1] < 150 << 20
    finally:
        tracemalloc.stop()


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capfst.lm.arpa_read._BLOCK", 100)
    monkeypatch.setattr("capfst.lm.arpa_read._LONGEST", 1 << 20)
    with (
        open("/dev/zero", "rb") as zeros,
        pytest.raises(ModelError, match=r"/dev/zero, line 1: .* 1 MB"),
    ):
        read_arpa(zeros)
    with pytest.raises(ModelError, match=r"line 16: .* 1 MB"):
        read_arpa(io.BytesIO(edit("-0.3\tB b", "-0.3\tB b" + " " * (2 << 20)).encode()))


@pytest.mark.parametrize("before", ["\ufeff", "\ufeff\n", "a comment\n"])
def test_text_and_marks_before_the_data(before: str) -> None:
    assert read_arpa(io.BytesIO((before + KENLM).encode())).words == FORMS


def test_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of blocks does not affect the model."""
    text = KENLM.replace("\n\n", "\n \n\t\n").encode()
    words, levels = read_arpa(io.BytesIO(text))
    for size in range(1, len(text) + 2):
        monkeypatch.setattr("capfst.lm.arpa_read._BLOCK", size)
        again = read_arpa(io.BytesIO(text))
        assert again.words == words
        for level, same in zip(levels, again.levels, strict=True):
            assert all(map(np.array_equal, vars(level).values(), vars(same).values()))


def test_not_utf8() -> None:
    with pytest.raises(ModelError, match=r"line 10: .*UTF-8"):
        read_arpa(io.BytesIO(KENLM.encode().replace(b"\tB\t", b"\t\xff\t", 1)))


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_truncated_compressed_files(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a").write_bytes(compress(KENLM.encode())[:-20])
    with pytest.raises(ModelError, match=f"{tmp_path}/a, line 1: "):
        read_arpa(tmp_path / "a")


@given(st.floats(-220, 300) | st.sampled_from([0.0, -99.0, 1e-7, -9.99999999]))
def test_written_numbers_are_read_back(cost: float) -> None:
    out = np.zeros(40, np.uint8)
    text = out[: _put_number(cost, out, 0)].tobytes().decode()
    expected = max(-99.0, -cost / math.log(10))
    assert float(text) == pytest.approx(expected, abs=1e-7)


@given(st.floats(-1e12, 1e12) | st.integers(-(10**18), 10**18), st.sampled_from(["", "e", ".4f", "g", "+.3e"]))
def test_number_as_python_reads_it(value: float, form: str) -> None:
    text = format(value, form)
    parsed = number(np.frombuffer(text.encode(), np.uint8), 0, len(text))
    assert parsed == pytest.approx(float(text), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    "text",
    ["2.1725991062774948e-299", "0e99999", "-0." + "1" * 5000, "9" * 5000 + "e-4999", "0." + "0" * 400 + "1e401"],
)
def test_numbers_of_many_digits(text: str) -> None:
    assert number(np.frombuffer(text.encode(), np.uint8), 0, len(text)) == pytest.approx(float(text), rel=1e-12, abs=0)


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1.2.3", "1-", "x", "nan", "--1"])
def test_texts_that_are_not_numbers(text: str) -> None:
    assert math.isnan(number(np.frombuffer(text.encode(), np.uint8), 0, len(text)))


def test_model_without_backoff_arcs(tmp_path: Path) -> None:
    model = build(labels_of([list("ab")]), len(WORDS), 1)
    write_arpa(tmp_path / "one.arpa", model.states, model.arcs, model.start, Symbols.from_words(WORDS))
    assert (tmp_path / "one.arpa").read_text().startswith("\\data\\\nngram 1=10\n\n\\1-grams:\n-99\t<s>\t0\n")


def test_one_long_word_is_allocated_only_for_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of the lines that are written at once."""
    capacities: list[int] = []
    monkeypatch.setattr(arpa_write, "_lines", lambda *given: (capacities.append(given[-1]), _lines(*given))[1])
    symbols = Symbols.from_words(["a" * 100_000, *(f"b{k:04}" for k in range(1000))])
    labels = np.array([label for k in range(1, 1002) for label in (k, 0)], np.uint32)
    model = build(labels, 1001, 2)
    write_arpa(tmp_path / "a", model.states, model.arcs, model.start, symbols)
    assert 200_000 < sum(capacities) < 1_000_000
