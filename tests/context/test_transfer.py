"""context/adapt.py: a context model for other symbols gives each word the costs that it had before."""

import re
from pathlib import Path

import numpy as np
import pytest
from support import contextual
from support.models import without_context

import capfst
from capfst.casing.shapes import N_SHAPES
from capfst.context.adapt import transferred
from capfst.context.casing_costs import casing_costs
from capfst.context.context_model import Context
from capfst.fst.read import CapFst
from capfst.fst.write import write_fst
from capfst.models.convert import contexts_for, mix_models
from capfst.recaser import Recaser, load

TEXT = "\n".join([*contextual.UNHEARD[:200], *contextual.OTHERS[-100:], "Xyzzy of zzzq in PYTHON"])
TEXT = re.sub(r"-|(?<=\w)[._](?=\w)", " ", TEXT)
"""Without compounds and identifiers: what is a word then does not depend on the vocabulary."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of other text, with words and casings of its own."""
    folder = tmp_path_factory.mktemp("other")
    lines = [*contextual.UNHEARD, "Xyzzy met XYZZY in a zzzq at PYTHON with É and é."] * 2
    (folder / "corpus").write_text("\n".join(lines), "utf-8")
    capfst.train(folder / "corpus", folder / "cap.fst", clean=False)
    return folder / "cap.fst"


def costs(recaser: Recaser) -> tuple[list[list[tuple[str, int]]], list[list[float]], list[list[float]]]:
    """Return for each word of TEXT: its forms and their shapes, the cost of each form and of each option by the context
    model."""
    buf = np.frombuffer(TEXT.lower().encode(), np.uint8)
    words = recaser.pipeline.loaded.transducer.words(buf)
    assert recaser.pipeline.context
    found = casing_costs(
        recaser.pipeline.context, buf, words, recaser.pipeline.loaded.transducer, True, include_pruned=True
    )
    assert found.arc_costs is not None
    assert found.options is not None
    ends = np.cumsum(words.n_forms)
    forms = [
        [(recaser.model.symbols[label + k], int(recaser.pipeline.context.shapes[label + k])) for k in range(n)]
        for label, n in zip(words.first_labels.tolist(), words.n_forms.tolist(), strict=True)
    ]
    by_word = [found.arc_costs[end - n : end].tolist() for end, n in zip(ends, words.n_forms, strict=True)]
    return forms, by_word, found.options.tolist()


def test_the_same_symbols_give_the_same_part(contextual_model: Path) -> None:
    model = CapFst.open(contextual_model)
    context = Context.of(model)
    assert context
    part = transferred(context, model.starts[:-1], model.symbols, model.starts).part()
    assert part.settings == model.parts["context"].settings
    for name, array in model.parts["context"].arrays.items():
        assert (part.arrays[name] == array).all(), name


def test_words_cost_what_they_did(contextual_model: Path, other: Path, tmp_path: Path) -> None:
    """Words that only the mixture has cost what they did when they were OOV."""
    mix_models([contextual_model, other], tmp_path / "lm.fst", weights=[0.9, 0.1], context=False)
    lm = CapFst.open(tmp_path / "lm.fst")
    context = contexts_for(CapFst.open(contextual_model), lm.symbols, lm.starts)["context"]
    parts = {"context": context.part()}
    write_fst(tmp_path / "mixed.fst", lm.states, lm.arcs, lm.symbols, lm.start, lm.signature, parts)
    before, after = costs(load(contextual_model)), costs(load(tmp_path / "mixed.fst"))
    new = same = 0
    for forms_before, cost_before, option_before, forms, cost, option in zip(*before, *after, strict=True):
        if not forms_before and forms:
            new += 1
            for k, (_, shape) in enumerate(forms):
                # The most frequent form may have the lower cost of an unseen casing.
                assert (
                    shape >= N_SHAPES or cost[k] == option_before[shape] or (k == 0 and cost[k] < option_before[shape])
                )
        elif forms_before == forms:
            same += 1
            assert (cost, option) == (cost_before, option_before)
    assert new > 50
    assert same > 500


def test_a_mixture_has_the_context_of_the_heaviest(contextual_model: Path, other: Path, tmp_path: Path) -> None:
    mixed = mix_models([other, contextual_model], tmp_path / "mixed.fst", weights=[0.3, 0.7])
    assert mixed.context == str(contextual_model)
    before, after = load(contextual_model), load(tmp_path / "mixed.fst")
    assert after.pipeline.context
    assert before.pipeline.context
    assert (after.pipeline.context.stage1 == before.pipeline.context.stage1).all()
    text = TEXT.lower()
    assert after(text) != load(tmp_path / "mixed.fst", context=False)(text)
    mixed = mix_models([other, contextual_model], tmp_path / "mixed.fst", weights=[0.7, 0.3])
    assert mixed.context == str(other)


def test_the_heaviest_model_may_have_no_context_model(contextual_model: Path, other: Path, tmp_path: Path) -> None:
    alone = without_context(contextual_model, tmp_path / "alone.fst")
    mixed = mix_models([other, alone], tmp_path / "mixed.fst", weights=[0.3, 0.7])
    assert mixed.context is None
    assert load(tmp_path / "mixed.fst").pipeline.context is None
