"""Translations recased by their source: golden texts, and invariants of any text."""

import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.translations import NAMES, WORDS, Bitext, bitext

import capfst
from capfst.bilingual.evidence import PART, Evidence
from capfst.exceptions import CapfstError, CorpusError, ModelError
from capfst.fst.read import CapFst
from capfst.fst.write import write_fst
from capfst.io.alignments import Block
from capfst.models.info import describe, render
from capfst.recaser import Recaser
from capfst.text.unicode import lower


def aligned(line: str) -> str:
    return " ".join(f"{i}-{i}" for i in range(len(line.split())))


GOLDEN = [
    ("ouvrez le fichier dans calc", "Open the file in Calc", "Ouvrez le fichier dans Calc"),
    ("ouvrez le fichier dans calc", "open the File in Calc", "ouvrez le Fichier dans Calc"),
    ("FERMEZ LE TABLEAU AVEC IPHONE", "Close the table with iPhone", "Fermez le tableau avec iPhone"),
    # Words that neither text has.
    ("ouvrez le menu avec dbase", "Open the menu with dBase", "Ouvrez le menu avec dBase"),
    ("cliquez le menu et openxml", "Click the Menu and OpenXML", "Cliquez le Menu et OpenXML"),
]


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_golden(bilingual_model, engine):
    recaser = capfst.load(bilingual_model, engine=engine)
    targets, sources, expected = map(list, zip(*GOLDEN, strict=True))
    assert recaser.recase_aligned(targets, sources, [aligned(line) for line in targets]) == expected


def test_held_out_translations_are_better_than_without_their_source(recaser):
    lines = [line for line in zip(*bitext(300, seed=9), strict=True) if line[1] != line[1].lower()]
    texts = Bitext(*map(list, zip(*lines, strict=True)))
    lowered = [line.lower() for line in texts.target]
    with_source = recaser.recase_aligned(lowered, texts.source, texts.align)
    without = recaser(lowered)

    def errors(lines):
        pairs = (zip(a.split(), b.split(), strict=True) for a, b in zip(lines, texts.target, strict=True))
        return sum(a != b for pair in pairs for a, b in pair)

    assert errors(without) > 100
    assert errors(with_source) == 0


@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_a_source_without_contrast_has_no_effect(recaser, case):
    texts = bitext(50, seed=5)
    lowered = [line.lower() for line in texts.target]
    source = [case(line) for line in texts.source]
    assert recaser.recase_aligned(lowered, source, texts.align) == recaser(lowered)


def test_training_on_translations_does_not_change_other_texts(monolingual_model, bilingual_model):
    text = "\n".join(line.lower() for line in bitext(100, seed=6).target)
    before, after = (capfst.load(path) for path in (monolingual_model, bilingual_model))
    assert before(text) == after(text)
    assert before.nbest("ouvrez le menu", 4) == after.nbest("ouvrez le menu", 4)


SOURCE_WORDS = [*WORDS, *NAMES, "Menu", "XYZZY", "dBase", "ΟΔΟΣ", "İx", ".", "12", "l'Été", "http://A.b/C", "ﬁN"]
TARGET_WORDS = [*WORDS.values(), *(name.lower() for name in NAMES), "dbase", "οδος", "οδοσ", "i̇x", "l’été", "l'été",
                "http://a.b/c", "xyzzy", ".", "ﬁn"]  # fmt: skip
LINES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(TARGET_WORDS), max_size=6), st.lists(st.sampled_from(SOURCE_WORDS), max_size=6),
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6),
    ),
    max_size=4,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(lines=LINES, with_pairs=st.booleans())
def test_only_case_changes_and_both_engines_agree(bilingual_model, lines, with_pairs):
    targets, sources, pairs = [], [], []
    for target, source, links in lines:
        targets.append(" ".join(target))
        sources.append(" ".join(source))
        pairs.append(" ".join(f"{s}-{t}" for s, t in links if s < len(source) and t < len(target)))
    alignment = pairs if with_pairs else None
    fast, slow = (capfst.load(bilingual_model, engine=engine) for engine in ("fast", "openfst"))
    recased = fast.recase_aligned(targets, sources, alignment)
    assert recased == slow.recase_aligned(targets, sources, alignment)
    assert [lower(line) for line in recased] == [lower(line) for line in targets]
    for k, (target, source) in enumerate(zip(targets, sources, strict=True)):
        given_pairs = None if alignment is None else alignment[k]
        best = fast.nbest(target, 3, source, given_pairs)
        assert best[0][1] == recased[k]
        assert [cost for cost, _ in best] == sorted(cost for cost, _ in best)
        assert len({casing for _, casing in best}) == len(best)
        text, changes = fast.confidence(target, source, given_pairs)
        assert text == recased[k]
        assert all(change.log_odds >= 0 and text[change.start : change.end] == change.word for change in changes)


def test_blocks_and_threads_do_not_matter(recaser):
    texts = bitext(40, seed=8)
    texts = texts._replace(target=[line.lower() for line in texts.target])
    whole = "".join(f"{line}\n" for line in recaser.recase_aligned(*texts))
    blocks = [
        Block(*(f"{line}\n".encode() for line in lines), line=k) for k, lines in enumerate(zip(*texts, strict=True))
    ]
    for jobs in (1, 3):
        assert b"".join(recaser.pipeline.recase_aligned_blocks(blocks, jobs)).decode() == whole
    assert recaser.recase_aligned(*("\n".join(lines) for lines in texts)) == whole[:-1]


def test_pickled(recaser):
    again = pickle.loads(pickle.dumps(recaser))
    assert again.recase_aligned("ouvrez calc", "Open Calc") == "Ouvrez Calc"


def test_alignments_may_count_the_words_of_tokenize(bilingual_model):
    recaser = capfst.load(bilingual_model, align_words=True)
    assert recaser.recase_aligned("(ouvrez le menu)", "(Open the Menu)", "1-1 3-3") == "(Ouvrez le Menu)"


@pytest.mark.parametrize("case", [str.title, str.upper, "{}, ÉTAT".format])
def test_the_case_of_a_translation_is_no_evidence(bilingual_model, case):
    recaser = capfst.load(bilingual_model, input_case="keep")
    source = "Insert the window and XML"
    target = case("insérez") + " le fenêtre ET " + case("xml")
    lowered = target.lower()
    assert recaser.recase_aligned(target, source) == recaser.recase_aligned(lowered, source)


def test_repair_is_refused(recaser):
    with pytest.raises(CapfstError, match="`repair` cannot be used with a source"):
        recaser.recase_aligned("a", "b", repair=True)


def test_bad_input(recaser, monolingual_model):
    with pytest.raises(CapfstError, match="the source: more lines than the translation"):
        recaser.recase_aligned("a", "b\nc")
    with pytest.raises(CapfstError, match="1, 1, 2"):
        recaser.recase_aligned(["a"], ["b"], ["0-0", ""])
    with pytest.raises(TypeError, match="must all be a str, or all a list of str"):
        recaser.recase_aligned(["a"], "b")
    with pytest.raises(CapfstError, match="line 1 contains"):
        recaser.recase_aligned(["a\nb"], ["b"])
    with pytest.raises(CorpusError, match=r"the alignment, line 2: the pair 0-1 .* the source has 1 word "):
        recaser.recase_aligned(["a", "b"], ["b", "c"], ["0-0", "0-1"])
    with pytest.raises(CapfstError, match=rf"^{re.escape(str(monolingual_model))}: .*`train_bilingual`"):
        capfst.load(monolingual_model).recase_aligned([], [])
    with pytest.raises(CapfstError, match="source and alignment must be single lines"):
        recaser.nbest("a", 1, "b\nc")
    assert recaser.recase_aligned([], []) == []
    assert recaser.recase_aligned("", "") == ""
    assert recaser.recase_aligned(["", "calc"], ["Calc", ""], ["", ""]) == ["", recaser("calc")]


# The part of the model's file


def damaged(path, tmp_path, part) -> CapFst:
    model = CapFst.open(path)
    write_fst(tmp_path / "m.fst", model.states, model.arcs, model.symbols, model.start, model.signature,
              {**model.parts, PART: part})  # fmt: skip
    return CapFst.open(tmp_path / "m.fst")


def test_a_part_that_cannot_be_used_is_refused(bilingual_model, tmp_path):
    part = CapFst.open(bilingual_model).parts[PART]
    for wrong in ({}, {"weights": np.zeros(12, np.uint8)}, {"weights": np.zeros(7, np.uint8)}):
        model = damaged(bilingual_model, tmp_path, part._replace(arrays=wrong))
        with pytest.raises(ModelError, match=r"m\.fst: .* cannot be used \(.*\)"):
            Evidence.of(model)
        assert Recaser(model)("ouvrez calc")
        assert "cannot be used" in render(describe(model))
    other = part._replace(settings={**part.settings, "format": 99})
    with pytest.raises(ModelError, match=r"m\.fst: .* another version of capfst"):
        Evidence.of(damaged(bilingual_model, tmp_path, other))


def test_info_describes_the_part(bilingual_model, monolingual_model):
    described = describe(CapFst.open(bilingual_model))
    assert described["bilingual"]["pairs"] == 600
    assert json.dumps(described["bilingual"])
    assert "learned from 600 pairs of lines" in render(described)
    assert describe(CapFst.open(monolingual_model))["bilingual"] is None
