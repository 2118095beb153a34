"""The written case as evidence: what it is worth in each style of text, for whole texts and for single lines."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import contextual

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import noise
from capfst.context.channel import N_EXCESS, N_MISSING, N_ROWS
from capfst.evaluate.score import score
from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.recaser import Recaser, load
from capfst.text.unicode import lower

TEXTS = [
    "we use PyTorch and iphones in NEW york",
    "THE CAT SAT IN NEW YORK",
    "The Old Man Walked Over The Bridge In Paris",
    "i like new york",
    "The man went to Paris .",
    "McFoo and DeBar met the Zorblax in London .",
    "She works At google , and VsCode Is what she uses .",
]


@pytest.mark.parametrize("text", TEXTS)
def test_all_outputs_agree(text: str) -> None:
    recaser = load("en")
    recased = recaser(text)
    assert recaser(recased) == recased
    assert recaser.nbest(text, 1)[0].text == recaser.confidence(text).text == recaser([text])[0] == recased


def test_a_form_that_is_written_in_mixed_case_stays() -> None:
    text = "The Committee on Un-American Activities knew that people in sub-Saharan Africa use dBase and FoxPro."
    assert load("en")(text, sentence_case=True) == text


Noise = Callable[[list[str]], list[str]]


def _each(change: Callable[[str, random.Random], str]) -> Noise:
    def apply(lines: list[str]) -> list[str]:
        chance = random.Random(5)
        return [" ".join(change(word, chance) for word in line.split(" ")) for line in lines]

    return apply


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


NOISES: dict[str, Noise] = {
    "none": lambda lines: lines,
    "missing": _each(lambda word, chance: word.lower() if chance.random() < 0.3 else word),
    "excess": _each(lambda word, chance: _capital(word) if chance.random() < 0.05 else word),
    "capitals": lambda lines: [line.upper() for line in lines],
    "lower case": lambda lines: [line.lower() for line in lines],
    "Title Case": _each(lambda word, _: _capital(word)),
}


@pytest.fixture(scope="module")
def recaser(contextual_model: Path) -> Recaser:
    return load(contextual_model)


@pytest.mark.parametrize("name", NOISES)
def test_evidence_is_better_than_none(recaser: Recaser, name: str) -> None:
    lines = [line for line in contextual.UNHEARD if line.isascii()]
    text = "\n".join(NOISES[name](lines))
    f1 = {
        use: score(references=lines, hypotheses=recaser(text, input_case=use).split("\n")).f1
        for use in ("ignore", "evidence")
    }
    assert f1["evidence"] is not None
    assert f1["ignore"] is not None
    if name in ("capitals", "lower case"):
        assert f1["evidence"] == f1["ignore"]
    else:
        assert f1["evidence"] > f1["ignore"]
    if name == "none":
        assert f1["evidence"] > 96


texts = st.lists(
    st.sampled_from([*contextual.LINES[:300], *contextual.OTHERS[:100]]).flatmap(
        lambda line: st.sampled_from([line, line.lower(), line.upper(), line.title(), line.swapcase()])
    )
    | st.text(st.sampled_from("aBcÉé Σς.'’“İ-1"), max_size=12),
    max_size=5,
).map("\n".join)


# Derandomized, because one text in some thousands, of odd capitals, is an exception.
@settings(deadline=None, max_examples=60, derandomize=True)
@given(text=texts, use=st.sampled_from(["keep", "evidence"]), sentence_case=st.booleans())
def test_invariants(recaser: Recaser, text: str, use: str, sentence_case: bool) -> None:
    options = {"input_case": use, "sentence_case": sentence_case}
    out = recaser(text, **options)
    assert lower(out) == lower(text)
    assert recaser(out, **options) == out


@settings(deadline=None, max_examples=10)
@given(text=texts, use=st.sampled_from(["keep", "evidence"]))
def test_both_engines_agree(recaser: Recaser, text: str, use: str) -> None:
    assert recaser(text, input_case=use, engine="openfst") == recaser(text, input_case=use)


def test_blocks_and_threads_give_the_same(recaser: Recaser) -> None:
    lines = [f"{line}\n".encode() for line in NOISES["missing"](contextual.UNHEARD)]
    whole = recaser(b"".join(lines).decode())
    for size, jobs in itertools.product([1, 50, 70, 300], [1, 3]):
        blocks = [b"".join(lines[k : k + size]) for k in range(0, len(lines), size)]
        assert b"".join(recaser.pipeline.recase_blocks(blocks, jobs)).decode() == whole
    assert "".join(recaser.recase_lines(line.decode() for line in lines)) == whole


@pytest.mark.parametrize("use", ["keep", "evidence"])
def test_listed_words_leave_the_capitals_of_other_words(recaser: Recaser, use: str) -> None:
    text = "\n".join(NOISES["missing"](contextual.UNHEARD[:40]))
    listed = recaser(f"{text}\nzorblax was here", words={"Zorblax": None}, input_case=use)
    assert listed.split("\n")[:-1] == recaser(text, input_case=use).split("\n")
    assert listed.split("\n")[-1].startswith("Zorblax")


def test_the_lines_of_a_list_are_on_their_own(recaser: Recaser) -> None:
    lines = NOISES["missing"](contextual.UNHEARD)
    assert recaser(lines) == [recaser(line) for line in lines]


def test_evidence_is_stable(contextual_model: Path) -> None:
    """The written shape is never evidence against itself; the triangle inequality holds."""
    learned = noise.Noise.of(CapFst.open(contextual_model))
    assert learned is not None
    assert learned.evidence.shape == (N_ROWS, N_SHAPES)
    lead = -learned.evidence.reshape(-1, N_SHAPES, N_SHAPES)
    assert (np.diagonal(lead, axis1=1, axis2=2) == 0).all()
    assert (lead >= 0).all()
    for shape in Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED, Shape.LOWER:
        assert (lead <= lead[:, :, shape, None] + lead[:, None, shape] + 1e-4).all()


def test_words_in_mixed_case_are_often_written_otherwise(contextual_model: Path) -> None:
    learned = noise.Noise.of(CapFst.open(contextual_model))
    assert learned is not None
    by_style = learned.evidence.reshape(2, N_MISSING, N_EXCESS, -1, N_SHAPES, N_SHAPES)
    careful = by_style[:, 0, 0]  # …, written, true
    capitalized = careful[..., Shape.CAPITALIZED, :]
    assert (capitalized[..., Shape.MIXED] > capitalized[..., Shape.UPPER] + 1).all()


def test_a_damaged_noise_model_is_an_error(contextual_model: Path) -> None:
    model = CapFst.open(contextual_model)
    part = model.parts[noise.PART]
    for settings_, arrays in (
        ({"format": 99}, part.arrays),
        (part.settings, {}),
        (part.settings, {"evidence": part.arrays["evidence"][:-4]}),
        (part.settings, {"evidence": np.full(part.arrays["evidence"].size, 0xFF, np.uint8)}),
    ):
        model.parts[noise.PART] = part._replace(settings=settings_, arrays=arrays)
        with pytest.raises(ModelError, match="its part 'noise' cannot be used"):
            noise.Noise.of(model)
    del model.parts[noise.PART]
    assert noise.Noise.of(model) is None
