"""`capfst info`: the description of a model's context model."""

from support.models import tiny, with_old_context

from capfst.context.context_model import PART
from capfst.fst.read import CapFst
from capfst.models.info import describe, render


def test_a_context_model(contextual_model):
    description = describe(CapFst.open(contextual_model))
    size = sum(map(len, CapFst.open(contextual_model).parts[PART].arrays.values()))
    assert description["context"] == {"domains": 2, "bytes": size}
    assert f"context model    {size:,} bytes, domains: 2" in render(description).splitlines()


def test_no_context_model(tmp_path):
    description = describe(tiny().save(tmp_path / "cap.fst"))
    assert description["context"] is None
    assert "context model    none, so only the LM decides" in render(description).splitlines()


def test_an_unusable_context_model(tmp_path):
    path = with_old_context(tiny(), tmp_path / "cap.fst")
    description = describe(CapFst.open(path))
    assert "another version" in description["context"]["error"]
    assert f"context model    cannot be used: {path}" in render(description)
