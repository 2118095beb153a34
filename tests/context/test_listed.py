"""context/train.py: word lists with frequencies are evidence, as far as they are right."""

from pathlib import Path

import pytest

import capfst
from capfst.casing.shapes import Shape
from capfst.context.context_model import Context
from capfst.context.lexicon import LISTED, N_TRUSTED, evidence_parts
from capfst.exceptions import CorpusError, OptionError
from capfst.fst.read import CapFst
from capfst.fst.symbols import check

LETTERS = "bcdfgklmnprstvz"
STEMS = [f"{a}u{b}e{c}" for a in LETTERS for b in LETTERS for c in LETTERS]
KNOWN, NEW = STEMS[:1500], STEMS[1500:1600]
"""Words of the corpus, of which every other one is a name; and others."""


def sentences() -> str:
    verbs = "saw", "left", "met", "knew", "had"
    return "".join(
        f"We {verbs[k % 5]} {word.capitalize() if k % 2 else word} here.\nWe {verbs[k % 5]} it.\n"
        for k, word in enumerate(KNOWN)
    )


def train(folder: Path, *lists: str, **options: object) -> capfst.Recaser:
    (folder / "text.txt").write_text(sentences())
    files = []
    for k, entries in enumerate(lists):
        files.append(folder / f"list{k}.txt")
        files[-1].write_text(entries)
    capfst.train(folder / "text.txt", folder / "cap.fst", words=files, **options)
    return capfst.load(folder / "cap.fst")


def listed(known: list[str], new: str = "") -> str:
    return "".join(f"{word}\t3\n" for word in [*known, *new.split()])


RIGHT = [word.capitalize() for word in KNOWN[1::2]]
WRONG = [word.capitalize() for word in KNOWN[::2]]


@pytest.mark.parametrize(("known", "is_name"), [(RIGHT, True), (WRONG, False), ([], True)])
def test_a_list_is_trusted_as_far_as_it_is_right(tmp_path: Path, known: list[str], is_name: bool) -> None:
    """Of words that the corpus lacks, a list is right as often as of the corpus's rare words. An unchecked one is."""
    name = NEW[0].capitalize()
    recaser = train(tmp_path, listed(known, name))
    assert not recaser.knows(NEW[0])
    assert recaser(f"we met {NEW[0]} here.").split()[2] == (name if is_name else NEW[0])


def test_a_right_list_outweighs_a_wrong_one(tmp_path: Path) -> None:
    name = NEW[0].capitalize()
    recaser = train(tmp_path, listed(RIGHT, name), listed([*WRONG[:300], *RIGHT[:300]], NEW[0]))
    assert recaser(f"we met {NEW[0]} here.").split()[2] == name


def test_the_corpus_decides_on_its_own_words(tmp_path: Path) -> None:
    ngrams = train(tmp_path).model.ngrams
    recaser = train(tmp_path, listed(RIGHT, "Here Met SAW"))
    assert recaser.model.ngrams == ngrams
    assert recaser("then we met and saw it here.") == "then we met and saw it here."


def test_evidence_of_lists_is_apart_from_that_of_text(tmp_path: Path) -> None:
    train(tmp_path, listed(RIGHT, f"{NEW[0].capitalize()} {NEW[1]}"))
    context = Context.of(CapFst.open(tmp_path / "cap.fst"))
    assert context is not None
    codes = sorted(context.rare.evidence.tolist())
    assert len(codes) == 2
    assert [evidence_parts(code)[0] for code in codes] == [0, 1]
    assert all(LISTED <= code < LISTED + 4 * N_TRUSTED for code in codes)


def test_lists_of_languages(tmp_path: Path) -> None:
    for language in "de", "en":
        (tmp_path / f"{language}.txt").write_text(sentences().replace("We", language.capitalize()))
    (tmp_path / "list.txt").write_text(listed([], NEW[0].capitalize()))
    capfst.train(
        [f"{language}={tmp_path}/{language}.txt" for language in ("de", "en")],
        tmp_path / "cap.fst",
        words=[f"en={tmp_path}/list.txt"],
    )
    recaser = capfst.load(tmp_path / "cap.fst")
    assert recaser(f"en saw {NEW[0]} here.").split()[2] == NEW[0].capitalize()


@pytest.mark.parametrize("wrong", ["Ulm\t3\nBern\n", "Ulm\tmany\n"])
def test_a_line_without_its_number(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(CorpusError, match=r"list0\.txt, line \d: no whole number .* after a tab"):
        train(tmp_path, wrong)


def test_the_same_lists_give_the_same_bytes(tmp_path: Path) -> None:
    models = []
    for jobs in 1, 3:
        train(tmp_path, listed(RIGHT), listed(WRONG), jobs=jobs)
        models.append((tmp_path / "cap.fst").read_bytes())
    assert models[0] == models[1]


def test_a_model_that_is_adapted_takes_no_frequencies(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^`words` has a list with frequencies.*`base`"):
        train(tmp_path, listed([], "Ulm"), base="en")


@pytest.mark.parametrize(("in_ten", "shape"), [(4, Shape.MIXED), (1, Shape.CAPITALIZED)])
def test_a_spelling_that_the_text_shares_outweighs_slips(tmp_path: Path, in_ten: int, shape: Shape) -> None:
    text = "".join(f"We met {'TuBec' if k % 10 < in_ten else 'Tubec'} here.\n" for k in range(200))
    (tmp_path / "text.txt").write_text(text)
    (tmp_path / "list.txt").write_text("TuBec\n")
    for words, expected in ([], Shape.CAPITALIZED), ([tmp_path / "list.txt"], shape):
        capfst.train(tmp_path / "text.txt", tmp_path / "cap.fst", words=words)
        model = CapFst.open(tmp_path / "cap.fst")
        context = Context.of(model)
        assert context is not None
        evidence = context.words["shape_evidence"][min(model.symbols.forms("tubec", check(model.symbols)))]
        most_frequent, impurity, _ = evidence_parts(int(evidence))
        assert most_frequent == expected
        assert (impurity <= 1) == (expected == Shape.MIXED)
