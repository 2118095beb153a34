"""docs/limits.md: its limits that are numbers, or need more than a session; sessions run in tests/test_docs.py."""

import re
from pathlib import Path

import numpy as np
import pytest

import capfst
from capfst import pipeline
from capfst.context.network import REACH, SPAN
from capfst.exceptions import OptionError
from capfst.fst.write import MAX_ARCS
from capfst.io import blocks
from capfst.lm.estimate import estimate
from capfst.punctuation.network import MARKS

PAGE = (Path(__file__).parent.parent / "docs" / "limits.md").read_text("utf-8")
LIMITS = re.split(r"^\* ", PAGE.partition("## Size")[0], flags=re.MULTILINE)[1:]
LINE = "i live in new york"


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit[:30])
def test_each_limit_has_an_example_or_figures(limit):
    assert "```console" in limit or re.search(r"\(experiments\.md#[\w-]+\)", limit)


def test_words_that_decide():
    assert f"{['no', 'one', 'two', 'three', 'four'][REACH]} words on either side" in PAGE
    assert f"up to {SPAN} away" in PAGE


def test_marks():
    assert MARKS == b"\0,.?"
    assert "commas, periods and\n  question marks, no quotes" in PAGE


def test_sizes():
    assert f"more than {pipeline._LONGEST_PIECE >> 20} MB is recased in pieces" in PAGE
    assert f"A line of more than {blocks.LONGEST >> 20} MB" in PAGE
    assert MAX_ARCS == 2**32 - 1
    assert "2³¹ different words" in PAGE and "2³² arcs" in PAGE


def test_more_words_than_labels():
    with pytest.raises(OptionError, match=r"at most 2\^31"):
        estimate(np.zeros(0, np.uint32), 2**31 - 1, 1)


def test_pieces_are_recased_independently_but_searched_as_a_whole(monkeypatch):
    recaser = capfst.load()
    for name in ("PIECE", "_LONGEST_PIECE"):
        monkeypatch.setattr(pipeline, name, LINE.index(" york"))
    assert recaser(LINE) == "I live in new York"
    assert recaser.nbest(LINE, 1)[0].text == recaser.confidence(LINE).text == "I live in New York"
