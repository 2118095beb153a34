"""boundaries.py: abbreviations, and lines with several sentences."""

import json
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scoring import path_costs

from capfst import CapfstError, CorpusError, Recaser, load, train
from capfst.cli import cli
from capfst.fst.read import CapFst
from capfst.kernels import kernel
from capfst.kernels.types import U8Array, u8
from capfst.search.boundaries import ODDS
from capfst.text.abbreviations import (
    LONGEST,
    MAY,
    NEVER,
    NUMBER,
    SCRATCH,
    UNLISTED,
    Abbreviations,
    kind_of,
    of_languages,
)
from capfst.text.unicode import LOWERING, Lowering, lower

SENTENCES = [
    "They met Mr. Smith at noon.", "No way!", "Was it late?", "He said so.", "It rained.", "Stop it!", "Who knows?",
    "We saw Mr. Jones.", "Mr. Hill left.", "They left at 5 p.m. to sleep.", "Then he slept.",
    '"It rained."', "(No way!)", '"They met at noon," he said.',
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CapFst:
    """Train a model on the sentences, one per line."""
    folder = tmp_path_factory.mktemp("boundaries")
    rng = random.Random(5)
    lines = [rng.choice(SENTENCES) for _ in range(4000)]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    train(folder / "corpus.txt", folder / "cap.fst", clean=False, context=True)
    return CapFst.open(folder / "cap.fst")


@pytest.mark.parametrize(
    ("text", "odds"),
    [
        ("it rained. he left! was it late? so", [ODDS] * 3),
        ("mr. smith left. he said no. it was no. 5, at inc. he left", [ODDS, ODDS, 0]),
        ("they left at 5 p.m. he left", [0]),
        ("it rained (he left. 5) so. he left. 5) so (no? b) so", [ODDS, ODDS]),  # not before what a bracket ends
        ("it rained :( he left. 5) so", [ODDS]),
        ("he left", []),
    ],
)
def test_odds_with_the_lm_alone(model: CapFst, text: str, odds: list[float]) -> None:
    words = Recaser(model, context=False).pipeline.words(np.frombuffer(text.encode(), np.uint8))
    assert words.begin_odds[words.may_begin].tolist() == odds
    assert words.begins.tolist() == (words.may_begin & (words.begin_odds == ODDS)).tolist()


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_the_lm_alone_prefers_that_a_sentence_begins(tmp_path: Path, engine: str) -> None:
    """Even if it has seen the next word only after a period inside a line, not at the start of a line."""
    lines = ["They met at noon."] * 50 + ["It rained. thanks to all"] * 5
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    train(tmp_path / "corpus.txt", tmp_path / "cap.fst", clean=False, context=False)
    recaser = Recaser(CapFst.open(tmp_path / "cap.fst"), sentence_case=True, engine=engine)
    assert recaser("they met at noon. thanks to all") == "They met at noon. Thanks to all"


@pytest.mark.parametrize("engine", ["fast", "openfst"])
@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("they met mr. smith at noon. was it late? no way! he said so.",
         ["They met Mr. Smith at noon. ", "Was it late? ", "No way! ", "He said so."]),
        ("they left at 5 p.m. to sleep. it rained.", ["They left at 5 p.m. to sleep. ", "It rained."]),
        ('he said so.  "it rained." (no way!)\tstop it!  ',
         ["He said so.  ", '"It rained." ', "(No way!)\t", "Stop it!  "]),
        ("STOP IT! WHO KNOWS?", ["Stop it! ", "Who knows?"]),
        ("no way!", ["No way!"]),
        ("", [""]),
    ],
)  # fmt: skip
def test_golden(model: CapFst, engine: str, text: str, sentences: list[str]) -> None:
    recaser = Recaser(model, sentence_case=True, engine=engine)
    assert recaser.sentences(text) == sentences
    assert recaser(text) == "".join(sentences)
    cost, best = recaser.nbest(text, 1)[0]
    assert best == recaser(text)
    assert cost == pytest.approx(path_costs(recaser, text.encode())[0])


def test_sentences_of_a_line_are_recased_as_lines(model: CapFst) -> None:
    for sentence_case in (False, True):
        recaser = Recaser(model, sentence_case=sentence_case)
        lines = [lower(line) for line in SENTENCES if "p.m." not in line]
        random.Random(1).shuffle(lines)
        assert recaser(" ".join(lines)) == " ".join(recaser(lines))
        assert [sentence.rstrip() for sentence in recaser.sentences(" ".join(lines))] == recaser(lines)


@pytest.mark.parametrize(
    ("lm", "text", "recased"),
    [
        ("multi", "he was 25. she was 30.", "He was 25. She was 30."),
        ("de", "als ludwig xiii. die macht übernahm, war krieg.", "Als Ludwig XIII. die Macht übernahm, war Krieg."),
        ("multi", "fue en el siglo xvi. el rey murió.", "Fue en el siglo XVI. El rey murió."),
        ("tr", "anayasanın 5. maddesi ve 6. fıkrası değişti.", "Anayasanın 5. maddesi ve 6. fıkrası değişti."),
    ],
)
def test_ordinals(lm: str, text: str, recased: str) -> None:
    assert load(lm, sentence_case=True)(text) == recased


@pytest.mark.parametrize("lm", ["de", "multi"])
def test_nouns_after_ordinals(lm: str) -> None:
    assert load(lm)("er kam am 5. mai und am 6. juni.") == "er kam am 5. Mai und am 6. Juni."


def test_no_breaks(model: CapFst) -> None:
    recaser = Recaser(model, sentence_case=True, breaks=False)
    assert recaser("no way! it rained. stop it!") != "No way! It rained. Stop it!"
    assert recaser.sentences("no way! it rained. stop it!") == [recaser("no way! it rained. stop it!")]


def test_a_sentence_initial_capital_is_as_likely_as_the_boundary(model: CapFst) -> None:
    """The alternative to the capital of a sentence's first word is a line in which no sentence begins there."""
    recaser = Recaser(model, sentence_case=True)
    line = 'no way! they met at noon." he said.'
    text, changes = recaser.confidence(line)
    assert text == 'No way! They met at noon." He said.'
    assert [change.word for change in changes] == ["No", "They", "He"]
    casings = recaser.nbest(line, 50)
    other = next(cost for cost, casing in casings if " he " in casing)
    assert changes[2].log_odds == pytest.approx((other - casings[0][0]) / recaser.pipeline.temperature)


def test_sentences_take_one_line(model: CapFst) -> None:
    with pytest.raises(CapfstError, match="single line"):
        Recaser(model).sentences("no way!\nit rained.")


@pytest.mark.slow
def test_a_line_of_megabytes(model: CapFst) -> None:
    """The result is that of its parts, for any number of threads, and the search is not repeated."""
    sentences = [lower(line) for line in SENTENCES if "p.m." not in line]
    rng = random.Random(2)
    line = " ".join(rng.choice(sentences) for _ in range(60_000))
    recaser = Recaser(model, sentence_case=True)
    cased = {lower(sentence): sentence for sentence in recaser(sentences)}
    out = recaser(line)
    assert lower(out) == line
    assert set(map(str.rstrip, recaser.sentences(line[: 1 << 20].rpartition(". ")[0] + "."))) <= set(cased.values())
    assert b"".join(recaser.pipeline.recase_blocks([line.encode() + b"\n"] * 2, jobs=2)).decode() == 2 * (out + "\n")


def test_commands(model: CapFst, tmp_path: Path) -> None:
    """recase and batch write the same bytes, for any number of threads, and follow the option."""
    text = "\n".join(" ".join(map(lower, SENTENCES[k:] + SENTENCES[:k])) for k in range(len(SENTENCES))) * 50
    (tmp_path / "a.txt").write_text(text + "\n")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in text.split("\n")))
    written = []
    for option in ([], ["--no-breaks"]):
        options = ["--quiet", "--lm", str(model.path), "--sentence-case", *option]
        out = tmp_path / f"out{len(option)}"
        cli.main(["batch", *options, "--output", str(out), str(tmp_path / "*.*")], standalone_mode=False)
        for jobs in ("1", "3"):
            arguments = ["recase", *options, str(tmp_path / "a.txt"), "-o", str(out / "b"), "--jobs", jobs]
            cli.main(arguments, standalone_mode=False)
            assert (out / "b").read_text() == (out / "a.txt").read_text()
        lines = [json.loads(line)["text"] for line in (out / "a.jsonl").read_text().splitlines()]
        assert "\n".join([*lines, ""]) == (out / "b").read_text()
        written.append((out / "b").read_text())
    assert written[0] != written[1]
    assert written[0] == Recaser(model, sentence_case=True)(text + "\n")


def test_many_boundaries_and_few_casings(model: CapFst) -> None:
    """Paths that differ only in boundaries are one casing: here there are few casings, but very many paths."""
    recaser = Recaser(model, context=False, oov="pass")
    assert len(recaser.nbest("5 p.m. " * 40, 3)) <= 3


def test_own_abbreviations(tmp_path: Path) -> None:
    text = "we measured the bldgs. they left, cf. fig. of j. doe et frs. they left. it rained."
    assert load(sentence_case=True)(text).count(" They ") == 2
    own = tmp_path / "own.txt"
    own.write_text("\nBldgs.\net Frs.\n")
    recaser = load(sentence_case=True, abbreviations=own)
    assert recaser(text).count(" They ") == 0
    assert recaser(text, abbreviations=()).count(" They ") == 2
    assert pickle.loads(pickle.dumps(recaser))(text) == recaser(text)
    own.write_bytes(b"bldgs\n\xff\n")
    with pytest.raises(CorpusError, match=r"own.txt, line 2: not UTF-8"):
        load(abbreviations=[own])
    with pytest.raises(CorpusError, match=r"none.txt"):
        load(abbreviations=tmp_path / "none.txt")


def test_own_abbreviations_in_commands(tmp_path: Path) -> None:
    """recase and batch follow the list, and batch makes its output again when the list has changed."""
    text, own, out = tmp_path / "a.txt", tmp_path / "own.txt", tmp_path / "out"
    text.write_text("we saw the buildings. they were old.\n")
    options = ["--quiet", "--sentence-case", "--abbreviations", str(own)]
    for listed, expected in (("buildings", "buildings. they"), ("building", "buildings. They")):
        own.write_text(listed)
        cli.main(["batch", *options, "--output", str(out), str(text)], standalone_mode=False)
        cli.main(["recase", *options, str(text), "-o", str(tmp_path / "b.txt")], standalone_mode=False)
        assert (out / "a.txt").read_text() == (tmp_path / "b.txt").read_text() == f"We saw the {expected} were old.\n"


@settings(deadline=None)
@given(
    word=st.sampled_from(["mr", "no", "etc", "mister", "e.g", "oof", "z.b", "m" * 40, "straßenstr", "ärz", "Σας"]),
    own=st.lists(st.sampled_from(["oof", "ärz.", "et Oof.", "oof. mister", "z.B.", "m" * 40, "ΣΑΣ"]), max_size=2),
    languages=st.sets(st.sampled_from(["default", "de", "en"])),
)
def test_kinds(word: str, own: list[str], languages: set[str]) -> None:
    """The kernel finds what a dictionary has, in any case and with or without a period."""
    kinds = {("en", "mr"): NEVER, ("en", "no"): NUMBER, ("en", "etc"): MAY, ("de", "etc"): MAY, ("en", "e.g"): NEVER,
             ("de", "z.b"): NEVER}  # fmt: skip
    names = {"en" if name == "default" else name for name in languages}
    listed = [kind for (name, known), kind in kinds.items() if known == lower(word) and name in names]
    entries = [entry.split() for entry in own]
    mine = {part.removesuffix(".") for parts in entries for part in parts if part.endswith(".") or parts == [part]}
    is_mine = lower(word) in map(lower, mine) and len(word) <= LONGEST
    expected = NEVER if is_mine else max(listed, default=UNLISTED)
    abbreviations = of_languages(languages, own, LOWERING)
    for text in (word, word.upper() if "ß" not in word else word, word + "."):
        buf = np.frombuffer(f"<{text}>".encode(), np.uint8)
        assert _kind(abbreviations, buf, LOWERING, np.empty(SCRATCH, np.uint8)) == expected


@kernel
def _kind(abbreviations: Abbreviations, buf: U8Array, lowering: Lowering, scratch: U8Array) -> u8:
    return kind_of(abbreviations, buf, 1, buf.size - 1, lowering, scratch)
