"""Limits in the documentation that are numbers, or need more than a session; sessions run in tests/test_docs.py."""

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
from capfst.options import TrainOptions
from capfst.punctuation.network import MARKS

DOCS = Path(__file__).parent.parent / "docs"
EVIDENCE, RECASE = ((DOCS / name).read_text("utf-8") for name in ("evidence.md", "recase.md"))
LINE = "we fly united airlines"


def test_words_that_decide():
    assert f"{['no', 'one', 'two', 'three', 'four'][REACH]} words on either side" in EVIDENCE
    assert f"up to {SPAN} away" in EVIDENCE


def test_marks():
    assert MARKS == b"\0,.?"
    assert "restores commas, periods and question marks" in RECASE
    assert "Quotes, colons and exclamation marks are not restored" in " ".join(RECASE.split())


def test_sizes():
    assert f"more than {pipeline._LONGEST_PIECE >> 20} MB is recased in pieces" in RECASE
    assert f"A line of more than {blocks.LONGEST >> 20} MB" in RECASE
    assert MAX_ARCS == 2**32 - 1
    assert "2³¹ different words" in RECASE and "2³² arcs" in RECASE


def test_more_words_than_labels():
    with pytest.raises(OptionError, match=r"at most 2\^31"):
        estimate(np.zeros(0, np.uint32), 2**31 - 1, TrainOptions())


CORPUS = "we fly with United Airlines\nthey fly united\nwe stand united\n"


def test_pieces_are_recased_independently_but_searched_as_a_whole(tmp_path, monkeypatch):
    (tmp_path / "corpus.txt").write_text(CORPUS * 20)
    capfst.train(tmp_path / "corpus.txt", tmp_path / "cap.fst", clean=False, context=False)
    recaser = capfst.load(tmp_path / "cap.fst")
    for name in ("PIECE", "_LONGEST_PIECE"):
        monkeypatch.setattr(pipeline, name, LINE.index(" airlines"))
    assert recaser(LINE) == "we fly united Airlines"
    assert recaser.nbest(LINE, 1)[0].text == recaser.confidence(LINE).text == "we fly United Airlines"
