"""gaps.py: where sentences begin inside lines is learned from text, and weighs on S."""

import random
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import capfst
from capfst import Recaser
from capfst.casing.types import Words
from capfst.context.context_model import Context
from capfst.context.domains import ANY
from capfst.context.features import (
    GAP_WORDS,
    LONGEST_SINCE,
    N_GAP_FEATURES,
    QUOTATION,
    TOKEN,
    add_mark,
    gap_features,
)
from capfst.context.gaps import gap_odds
from capfst.context.lexicon import BEGIN, END
from capfst.context.shape_scores import scores_of
from capfst.context.tokens import read_words
from capfst.fst.read import CapFst
from capfst.kernels import kernel
from capfst.kernels.types import U32Array, f64
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, WORD

NAMES = ["Anna", "Tom", "Mary", "Bill"]
LINES = [
    "I thought... and then we left.", "We waited... but {} was late.", "So {} said... you know how it is.",
    '"Who is it?" asked {}.', '"Where are you?" cried the old man.', "Stop it! We have to go. It is late.",
    "Who are you? We met {} in London.", "We saw it! The old man was there.", "{} left. Then it rained.",
    "It was late. We left. And {} came.", "We had 2 oz. of it.", "They had 3 oz. more than {}.",
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CapFst:
    """Train a model on such lines."""
    folder, rng = tmp_path_factory.mktemp("gaps"), random.Random(2)
    lines = [rng.choice(LINES).format(rng.choice(NAMES)) for _ in range(6000)]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    capfst.train(folder / "corpus.txt", folder / "cap.fst", clean=False)
    return CapFst.open(folder / "cap.fst")


@pytest.mark.parametrize("engine", ["fast", "openfst"])
@pytest.mark.parametrize(
    "text",
    [
        "I thought... and then we left.",
        "It rained... but we left.",
        '"Who is it?" asked the old man. "Where are you?" cried Anna.',
        "Stop it! The old man was late.",
        "We had 5 oz. more than Tom. It was late.",
        "Who is it? It is Mary! And it rained. Stop it!",
        "It rained. [Laughs] We left. [Late] We met in London.",
        "1) We had 2 oz. of it. 2) It was late.",
        "It rained. :-) We left. 🙂❤️ We met in London. ;D It was late.",
        "It rained. *We* left. _We_ met in **London**. **It** was late.",
    ],
)
def test_sentences_begin_as_in_the_training_text(model: CapFst, engine: str, text: str) -> None:
    recaser = Recaser(model, sentence_case=True, engine=engine)
    assert recaser(text.lower()) == text


@kernel
def _odds(stage1: U32Array, features: U32Array, scale: f64) -> f64:
    return scale * scores_of(stage1, features, N_GAP_FEATURES)[0]


@kernel
def _features(words: capfst.context.features.TokenArray, marks: capfst.kernels.types.U32Array, out: U32Array) -> None:
    """marks: hash so far, words since a beginning, and whether a quotation is open."""
    gap_features(words, marks[0], marks[1], marks[2] > 0, out)


@kernel
def _add_mark(words: capfst.context.features.TokenArray, marks: U32Array) -> None:
    marks[0] = add_mark(marks[0], words[0])


def face_end(written: list[str], words: Words, i: int) -> int:
    """Return the token after the emoticon or picture that begins with token i, or i."""
    if i == len(written) or words.token_types[i] != MARKS or written[i][0] in "🙂❤":
        return i + (i < len(written) and words.token_types[i] == MARKS)
    j = i + 1
    while j < len(written) and words.starts[j] == words.ends[j - 1]:
        j += 1
    face = "".join(written[i:j])
    n_nose = j - i == 3 and written[i + 1][0] in "-'^"
    is_face = face[0] in ":;=" and j - i == 2 + n_nose and written[j - 1][0] in r"()/3DPX[]\dpox|"
    is_face = is_face and (len(written[j - 1]) == 1 or words.token_types[j - 1] == MARKS)
    return j if is_face and written[j - 1] != "\n" else i


def aside_end(written: list[str], words: Words, i: int) -> int:
    """Return the token after the remark, emoticons, mark of emphasis, or number with its bracket, that begins with
    token i, or i."""
    starts, ends, types = words.starts, words.ends, words.token_types
    if types[i] != MARKS:
        is_item = types[i] == WORD and re.fullmatch(r"\d.*|[a-z]|[ivx]{1,4}", written[i])
        return i + 2 if is_item and written[i + 1 : i + 2] == [")"] and starts[i + 1] == ends[i] else i
    after = i
    for j in range(i + 1, min(len(written), i + 16) if written[i] in "([" else i):
        if types[j] <= MARKS and written[j][-1] in ".?!":
            break
        if written[j] == {"(": ")", "[": "]"}[written[i]]:
            is_attached = j + 1 < len(written) and starts[j + 1] == ends[j] and types[j + 1] <= COMPOUND
            after = i if is_attached and starts[j] - ends[i] < 3 else j + 1
            break
    while (end := face_end(written, words, after)) > after:
        after = end
    is_attached = i + 1 < len(written) and starts[i + 1] == ends[i]
    return i + 1 if after == i and is_attached and written[i][0] in "*_" else after


def reference(recaser: Recaser, text: str) -> list[float]:
    """Compute the log-odds line by line, from the tokens of the whole line."""
    odds: list[float] = []
    transducer, context = recaser.pipeline.loaded.transducer, recaser.pipeline.loaded.context
    assert context is not None
    for line in text.split("\n"):
        buf = np.frombuffer(line.encode(), np.uint8)
        words = transducer.words(buf)
        n = len(words.starts)
        tokenized = read_words(buf, words, context, transducer, True, ANY)
        tokens = tokenized.tokens[tokenized.token_of]
        written = [bytes(buf[start:end]).decode() for start, end in zip(words.starts, words.ends, strict=True)]
        at, asides, is_gap = [], set[int](), False
        for i in range(n):
            if words.may_begin[i] and not is_gap and i not in asides:
                is_gap = True
                asides |= set(range(i, aside_end(written, words, i)))
            if words.token_types[i] != MARKS and i not in asides:
                at.append(i)
                is_gap = False
        of_line, since, quoted = [-np.inf] * n, 0, QUOTATION
        for k, i in enumerate(at):
            since, quoted = min(since + 1, LONGEST_SINCE), min(quoted + 1, QUOTATION)
            first, is_open = at[k - 1] + 1 if k else i, quoted < QUOTATION
            for mark in (written[j] for j in range(first, i) if j not in asides):
                if mark[0] in '"“”«»' or mark in ("``", "''"):  # "" is one mark
                    quoted = QUOTATION if quoted < QUOTATION else 0
            before = at[k - 1] + 1 if k else 0
            gaps = [j for j in range(before, i + 1) if words.may_begin[j]]
            if not gaps:
                continue
            marks = np.array([0, since, is_open], np.uint32)
            for j in sorted(set(range(first, i)) - asides):
                _add_mark(tokens[j : j + 1].copy(), marks)
            window = np.zeros(GAP_WORDS, TOKEN)
            left = [j for j in range(gaps[0]) if words.token_types[j] != MARKS]  # words of remarks, too
            right = [j for j in range(i, n) if words.token_types[j] != MARKS]
            for place, other in enumerate([*[-1, -1, *left][-2:], *[*right, n, n, n][:3]]):
                if 0 <= other < n:
                    window[place] = tokens[other]
                else:
                    boundary = BEGIN if other < 0 else END
                    for name in ("word_hash", "suffix2_hash", "shape_evidence"):
                        window[name][place] = boundary
            features = np.empty(N_GAP_FEATURES, np.uint32)
            _features(window, marks, features)
            scale = 1e6 if gaps[0] in asides else context.scales[0]
            of_line[gaps[0]] = _odds(context.stage1, features, scale)
            since = 0 if of_line[gaps[0]] > 0 else since
        odds += [*of_line, -np.inf]
    return odds[:-1]


WORDS = ["D", "we", "anna", "oov", "asked", "oz", "a.m.", "it", "3", "x@y.org", "'s"]
SIGNS = [".", "...", "?", "!", '"', "“", "”", "'", "‘", ",", "(", ")", "[", "]", "--", ":", "``", "''", "*", "🙂", "\n"]


def odds_of(recaser: Recaser, text: str) -> tuple[Words, npt.NDArray[np.float32]]:
    buf = np.frombuffer(text.encode(), np.uint8)
    loaded = recaser.pipeline.loaded
    words = loaded.transducer.words(buf)
    assert loaded.context is not None
    return words, gap_odds(loaded.context, buf, words, loaded.transducer)


@pytest.mark.slow
@settings(max_examples=200)
@example([*([("we", ""), (".", " "), ("3", ""), (")", " ")] * 2), ("we", ". "), ("it", "")])
@example([("we", ""), (".", " "), ("(", ""), ("'s", " "), ("we", ""), (")", " "), ("we", "")])
@example([("we", ""), ('"', ""), ('"', ""), ("we", ""), (".", ""), ("we", "")])
@given(parts=st.lists(st.tuples(st.sampled_from(WORDS + SIGNS), st.sampled_from(["", " "])), max_size=30))
def test_against_the_reference(model: CapFst, parts: list[tuple[str, str]]) -> None:
    recaser = Recaser(model)
    text = "".join(map("".join, parts))
    words, odds = odds_of(recaser, text)
    assert odds.tolist() == pytest.approx(reference(recaser, text), rel=1e-5)
    assert not (np.isfinite(odds) & (words.token_types == NEWLINE)).any()


def test_adapted_models_learn_gaps(model: CapFst, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("We waited... but it was late.\n" * 50)
    capfst.train(tmp_path / "more.txt", tmp_path / "more.fst", base=model.path, clean=False)
    adapted = Context.of(CapFst.open(tmp_path / "more.fst"))
    assert adapted is not None
    assert adapted.has_gaps


def test_explanations_have_the_cost_of_gaps(model: CapFst) -> None:
    recaser = Recaser(model, sentence_case=True)
    casing = recaser.explain("we waited... but it was late.").casings[0]
    assert casing.parts["gap"] >= 0
    assert sum(casing.parts.values()) == pytest.approx(casing.cost)
    assert "gap" not in recaser.explain("we waited").casings[0].parts
