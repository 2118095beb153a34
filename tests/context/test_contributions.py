"""context/contributions.py: the contributions of the features add up to the scores."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import contextual

import capfst
from capfst.context.contributions import contributions
from capfst.context.shape_scores import score
from capfst.context.tokens import read_words
from capfst.recaser import Recaser

REAL = st.sampled_from([*contextual.LINES, *contextual.UNHEARD, *contextual.OTHERS])


def check(recaser: Recaser, text: str, chosen: range | None = None) -> list[dict]:
    pipeline, buf = recaser.pipeline, np.frombuffer(text.encode(), np.uint8)
    assert pipeline.context is not None
    words = pipeline.words(buf)
    transducer = pipeline.loaded.transducer
    tokens = read_words(buf, words, pipeline.context, transducer, True, pipeline.language)
    log_p = np.full((len(words.starts), 4), np.nan, np.float32)
    score(tokens, pipeline.context, log_p)
    chosen = chosen or range(len(words.starts))
    found = contributions(pipeline.context, buf, words, transducer, pipeline.language, chosen)
    for i, reasons in zip(chosen, found, strict=True):
        if np.isnan(log_p[i]).any():  # a word without case
            assert not reasons
            continue
        total = np.sum([np.zeros(4), *reasons.values()], 0)
        assert (total - total.max()).tolist() == pytest.approx(log_p[i].tolist(), abs=1e-3)
    return found


@settings(deadline=None, max_examples=60)
@given(lines=st.lists(REAL, min_size=1, max_size=3))
def test_they_add_up_to_the_scores(recaser: Recaser, lines: list[str]) -> None:
    check(recaser, "\n".join(lines))


def test_the_network_is_a_reason(with_network: Recaser) -> None:
    found = [reasons for line in contextual.UNHEARD for reasons in check(with_network, line)]
    assert any("all words around it" in reasons for reasons in found)


def test_each_pass_has_its_features(recaser: Recaser) -> None:
    names = set()
    for line in contextual.UNHEARD:
        for reasons in check(recaser, line):
            names |= {name.split('"')[0] for name in reasons}
    assert {
        "the word ",
        "its letters",
        "its ending",
        "after ",
        "before ",
        "between ",
        "the capitals in the line",
    } <= names
    assert {"the usual case of it and its neighbors", "the first decision on it"} <= names


def test_words_of_other_lines_and_sentences_are_not_named(recaser: Recaser) -> None:
    text = "the string is here\nan object is a class\n"
    found = check(recaser, text, range(5, 10))
    names = {name for reasons in found for name in reasons}
    assert {"at the start of the sentence", "at the end of the sentence"} <= names
    assert "here" not in " ".join(names)


def test_the_start_and_the_end_of_a_sentence_are_named_as_such() -> None:
    edges = set()
    for reasons in check(capfst.load(), "an it meeting in may\nmay i go\nwe\nthe us open was won by us"):
        edges |= {re.sub('".*?"', "_", name) for name in reasons if "of the sentence" in name}
    assert edges <= {
        "at the start of the sentence", "after _ at the start of the sentence",
        "two words after the start of the sentence", "three words after the start of the sentence",
        "at the end of the sentence", "before _ at the end of the sentence",
        "two words before the end of the sentence", "three words before the end of the sentence",
        "between the start of the sentence and _", "between _ and the end of the sentence",
        "between the start of the sentence and the end of the sentence",
    }  # fmt: skip
    assert {"after _ at the start of the sentence", "two words before the end of the sentence"} <= edges
