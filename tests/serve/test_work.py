"""Texts that wait at the same time are one call, and each gets its own answer."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from capfst.exceptions import CorpusError
from capfst.serve.work import BATCH, Batches


def run(texts, recase, key=lambda text: None):
    """Add all texts at once; return their answers, and the sizes of the calls."""
    sizes = []

    async def add_all():
        with ThreadPoolExecutor(2) as pool:
            batches = Batches(pool, sizes.append)
            answers = [batches.add(key(text), recase, text) for text in texts]
            return await asyncio.gather(*answers, return_exceptions=True)

    return asyncio.run(add_all()), sizes


def upper(texts):
    return [text.upper() for text in texts]


@given(st.lists(st.text(max_size=5), max_size=20))
def test_each_text_gets_its_own_answer(texts):
    answers, sizes = run(texts, upper)
    assert answers == upper(texts)
    assert sizes == ([len(texts)] if texts else [])


def test_other_options_are_another_call():
    answers, sizes = run(["a", "b", "A"], upper, str.isupper)
    assert (answers, sizes) == (["A", "B", "A"], [2, 1])


def test_a_call_has_a_limited_size():
    _, sizes = run(["a" * BATCH, "b", "c"], upper)
    assert sizes == [1, 2]


def test_texts_that_arrive_during_a_call_are_the_next_one():
    may_go, calls = threading.Event(), []

    def recase(texts):
        calls.append(texts)
        may_go.wait()
        return texts

    async def add_later():
        with ThreadPoolExecutor(2) as pool:
            batches = Batches(pool, lambda size: None)
            first = batches.add(None, recase, "a")
            while not calls:
                await asyncio.sleep(0.001)
            others = [batches.add(None, recase, text) for text in "bcd"]
            may_go.set()
            return await asyncio.gather(first, *others)

    assert asyncio.run(add_later()) == list("abcd")
    assert calls == [["a"], ["b", "c", "d"]]


def test_a_text_that_cannot_be_recased_does_not_harm_the_others():
    def recase(texts):
        if "bad" in texts:
            raise CorpusError("bad")
        return upper(texts)

    answers, _ = run(["a", "bad", "b"], recase)
    assert (answers[0], answers[2]) == ("A", "B")
    assert isinstance(answers[1], CorpusError)
