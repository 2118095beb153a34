"""`capfst info`: what is said of the context model beside a model."""

import shutil

import pytest
from support.models import tiny

from capfst.fst.read import CapFst
from capfst.info import describe, render


@pytest.fixture
def alone(contextual_model, tmp_path):
    shutil.copy(contextual_model, tmp_path / "cap.fst")
    return tmp_path / "cap.fst"


def test_a_context_model_is_described(contextual_model):
    description = describe(CapFst.open(contextual_model))
    size = contextual_model.with_name("cap.fst.context").stat().st_size
    assert description["context"] == {"kinds": 2, "bytes": size}
    assert f"context model    {size:,} bytes, kinds of text: 2" in render(description).splitlines()


def test_there_may_be_none(alone):
    description = describe(CapFst.open(alone))
    assert description["context"] is None
    assert "context model    none: the LM alone" in render(description).splitlines()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{}", "is damaged"), (b"x" * 9999, "no context model of this version"), (None, "belongs to another model")],
)
def test_one_that_cannot_be_used_is_noticed(alone, contextual_model, content, said):
    tiny().save(alone)
    whole = contextual_model.with_name("cap.fst.context").read_bytes()
    alone.with_name("cap.fst.context").write_bytes(whole if content is None else content)
    description = describe(CapFst.open(alone))
    assert said in description["context"]["error"]
    assert f"context model    cannot be used: {alone}.context" in render(description)
