"""Adapt a model to a small corpus: `capfst train --base`."""

from pathlib import Path

import pytest
from support import contextual
from support.command_line import run
from support.models import without_context

import capfst
from capfst.context.context_model import Context
from capfst.exceptions import CapfstError, OptionError
from capfst.fst.read import CapFst
from capfst.models.convert import mix_models
from capfst.training import adapt

LINES = [
    f"{who} {verb} {tool} with {other} for the {noun}."
    for who in ("We", "They", "You")
    for verb in ("use", "like", "combine")
    for tool, other in (("PyTorch", "Zarniwoop"), ("the Widget", "GraphQL"), ("a widget", "PyTorch"))
    for noun in ("job", "test", "Sprint")
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    return tmp_path / "text.txt"


def test_an_adapted_model_knows_the_words_of_both(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    trained = capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model)
    for engine in "fast", "openfst":
        recaser = capfst.load(tmp_path / "cap.fst", engine=engine)
        assert recaser("we use pytorch with graphql for the sprint.").endswith(
            " use PyTorch with GraphQL for the Sprint."
        )
    base, model = CapFst.open(contextual_model), CapFst.open(tmp_path / "cap.fst")
    assert set(model.symbols) > set(base.symbols)
    assert set(model.symbols) > {"PyTorch", "GraphQL", "Zarniwoop"}
    assert trained.adapted is not None
    path, of_base, of_corpus = trained.adapted
    assert path == str(contextual_model)
    assert 0 < of_base < of_corpus < 1
    assert of_base + of_corpus == pytest.approx(1)
    assert f"adapted {contextual_model}" in trained.report()
    assert trained.ngrams == model.ngrams
    assert model.signature == trained.signature
    assert trained.signature.smoothing == "adapted"
    assert trained.signature.corpus.startswith(f"{base.signature.corpus}+")


def test_text_of_the_base_keeps_its_case(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model)
    lines = contextual.LINES[:300]
    lower = [line.lower() for line in lines]
    before, after = capfst.load(contextual_model)(lower), capfst.load(tmp_path / "cap.fst")(lower)
    same = sum(one == other for one, other in zip(before, after, strict=True))
    assert same > 0.9 * len(lines)


def test_the_same_bytes_for_any_number_of_threads(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    for jobs in 1, 3:
        capfst.train(corpus, tmp_path / f"{jobs}.fst", base=contextual_model, jobs=jobs)
    assert (tmp_path / "1.fst").read_bytes() == (tmp_path / "3.fst").read_bytes()


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11])
def test_tiny_corpora(contextual_model: Path, tmp_path: Path, n: int) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES[:n]) + "\n", "utf-8")
    capfst.train(tmp_path / "text.txt", tmp_path / "cap.fst", base=contextual_model)
    assert "PyTorch" in capfst.load(tmp_path / "cap.fst")("we use pytorch.")


def test_a_model_can_be_adapted_again(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("They met at McZarnix again.\n" * 12, "utf-8")
    first = capfst.train(corpus, tmp_path / "one.fst", base=contextual_model)
    second = capfst.train(tmp_path / "more.txt", tmp_path / "two.fst", base=tmp_path / "one.fst")
    assert second.signature.corpus.startswith(f"{first.signature.corpus}+")
    recaser = capfst.load(tmp_path / "two.fst")
    assert recaser("we use pytorch.").endswith(" use PyTorch.")
    assert recaser("they met at mczarnix again.").endswith(" met at McZarnix again.")


def test_a_base_without_a_context_model(
    contextual_model: Path, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alone = without_context(contextual_model, tmp_path / "alone.fst")
    capfst.train(corpus, tmp_path / "cap.fst", base=alone)
    assert Context.of(CapFst.open(tmp_path / "cap.fst")) is None
    assert "alone.fst has no context model" in caplog.text
    assert capfst.load(tmp_path / "cap.fst")("we use pytorch.").endswith(" use PyTorch.")
    caplog.clear()
    capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model, context=False)
    assert Context.of(CapFst.open(tmp_path / "cap.fst")) is None
    assert not caplog.text


def test_options_of_the_vocabulary_and_the_lm(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("McQuux\nOld Ulmberg\n", "utf-8")
    options = {"words": tmp_path / "words.txt", "max_words": 8, "order": 2, "min_count": 2}
    capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model, **options)
    recaser = capfst.load(tmp_path / "cap.fst")
    assert recaser("we met mcquux.").endswith(" met McQuux.")
    assert recaser.knows("ulmberg")
    assert not recaser.knows("zarniwoop")


def test_words_that_the_lm_of_the_corpus_lacks_count_for_the_base(contextual_model: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(contextual.LINES[:200]) + "\n", "utf-8")
    trained = capfst.train(tmp_path / "text.txt", tmp_path / "cap.fst", base=contextual_model, max_words=5)
    assert trained.adapted is not None
    assert trained.adapted[1] > 0.5


def test_a_base_of_several_languages(tmp_path: Path) -> None:
    (tmp_path / "de.txt").write_text("Wir sahen die Stadt.\nEr hat die Stadt nicht.\n" * 40, "utf-8")
    (tmp_path / "en.txt").write_text("We saw the city.\nHe has not seen the city.\n" * 40, "utf-8")
    base = tmp_path / "base.fst"
    capfst.train([f"de={tmp_path}/de.txt", f"en={tmp_path}/en.txt"], base)
    (tmp_path / "more.txt").write_text("We saw the Gift in the city of Xanten.\n" * 20, "utf-8")
    (tmp_path / "words.txt").write_text("Bernd\n", "utf-8")
    out = tmp_path / "cap.fst"
    capfst.train(f"en={tmp_path}/more.txt", out, base=base, words=f"en={tmp_path}/words.txt")
    model, before = CapFst.open(out), Context.of(CapFst.open(base))
    context = Context.of(model)
    assert context is not None
    assert before is not None
    assert context.n_languages == before.n_languages == 2
    evidence = {form: context.language_evidence[label].tolist() for label, form in enumerate(model.symbols)}
    assert evidence["Gift"][0] == evidence["Bernd"][0] == 0
    assert 31 <= evidence["Gift"][1] < 61
    assert 31 <= evidence["Bernd"][1] < 61
    assert capfst.load(out)("we saw xanten.").endswith(" saw Xanten.")
    with pytest.raises(OptionError, match=r"^`base` is .*base\.fst, .* de, en: .*de=FILE"):
        capfst.train(tmp_path / "more.txt", out, base=base)
    with pytest.raises(OptionError, match=r"^`base` is .*base\.fst, .*does not know fr"):
        capfst.train(f"fr={tmp_path}/more.txt", out, base=base)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "tr"}, r"`language`, .*'tr'.*'default'"),
        ({"restore": "both"}, r"`restore`.*'default/both'"),
        ({"pretokenized": True}, r"`pretokenized` does not match `base`"),
    ],
)
def test_options_that_do_not_match(
    contextual_model: Path, corpus: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model, **options)
    assert not (tmp_path / "cap.fst").exists()


def test_other_errors(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"`base` is .*Leave out the languages"):
        capfst.train(f"de={corpus}", tmp_path / "cap.fst", base=contextual_model)
    with pytest.raises(CapfstError, match=r"none\.fst: no such model"):
        capfst.train(corpus, tmp_path / "cap.fst", base="none.fst")
    with pytest.raises(OptionError, match=r"is also an input"):
        capfst.train(corpus, contextual_model, base=contextual_model)
    with pytest.raises(OptionError, match=r"`base` cannot be used on Spark"):
        capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model, spark=object())  # type: ignore[arg-type]


def test_options_that_match(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model, language="default", restore="case")


def test_pretokenized_text_and_diacritics_follow_the_base(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Il a vu le garçon à Orléans .\nElle a été à Paris .\n" * 20, "utf-8")
    (tmp_path / "more.txt").write_text("Il a vu Zoé à Besançon .\n" * 12, "utf-8")
    base = tmp_path / "base.fst"
    capfst.train(tmp_path / "text.txt", base, restore="both", pretokenized=True)
    capfst.train(tmp_path / "more.txt", tmp_path / "cap.fst", base=base)
    signature = CapFst.open(tmp_path / "cap.fst").signature
    assert (signature.tokenizer, signature.lowercasing) == ("none", "default/both")
    assert capfst.load(tmp_path / "cap.fst")("il a vu zoe a besancon .")[1:] == "l a vu Zoé à Besançon ."
    assert capfst.load(tmp_path / "cap.fst")("il a vu le garcon a orleans .")[1:] == "l a vu le garçon à Orléans ."


def test_an_adapted_model_can_be_mixed(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    capfst.train(corpus, tmp_path / "cap.fst", base=contextual_model)
    mix_models([contextual_model, tmp_path / "cap.fst"], tmp_path / "mixed.fst", weights=[0.6, 0.4])
    model = CapFst.open(tmp_path / "mixed.fst")
    assert model.signature.smoothing == "mixed"
    assert adapt.ADAPTED not in model.parts


def test_the_command(contextual_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "cap.fst"
    assert b"adapted " in run("train", corpus, "--base", contextual_model, "-o", out).stderr
    described = run("info", "--lm", out).stdout
    assert b"\nadapted from     capfst|v:" in described
    refused = run("train", corpus, "--base", contextual_model, "--language", "tr", "-o", out, code=1)
    assert b"--language" in refused.stderr
