"""Word lists: words and names that supplement a corpus."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from support.command_line import run
from support.plain_context import shape_evidence

import capfst
from capfst.context.context_model import Context
from capfst.corpus.intern import BREAKS, COMPOUNDS, LINE_ENDS
from capfst.corpus.word_lists import read_word_lists
from capfst.exceptions import CorpusError
from capfst.fst.read import CapFst

SENTENCES = "".join(
    f"We {verb} the {noun} in {city} and {other}.\nShe {verb} no {noun}.\n"
    for verb in ("saw", "left", "met", "knew", "had", "lost", "won")
    for noun in ("cat", "king", "train", "river", "park", "queen")
    for city, other in (("York", "Leeds"), ("Leeds", "Bath"), ("Bath", "Ely"))
)
LIST = "Wells\nred panda\nNew Ulm\nvan Dyck\nWell-Known\niPhone\nMr.\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(SENTENCES)
    (tmp_path / "words.txt").write_text(LIST)
    return tmp_path


def test_the_words_of_a_list_enter_the_vocabulary_in_their_case(corpus: Path) -> None:
    capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt")
    for engine in "fast", "openfst":
        for context in True, False:
            recaser = capfst.load(corpus / "cap.fst", engine=engine, context=context)
            assert all(map(recaser.knows, ["Wells", "panda", "dyck", "well-known", "mr"]))
            line = "no red panda had the iphone and van dyck met in wells"
            assert recaser(line) == "no red panda had the iPhone and van Dyck met in Wells"
    context_model = Context.of(CapFst.open(corpus / "cap.fst"))
    assert context_model is not None
    labels = {form: label for label, form in enumerate(CapFst.open(corpus / "cap.fst").symbols)}
    assert [context_model.words["shape_evidence"][labels[form]] for form in ("panda", "Wells")] == [4, 34]


@pytest.mark.parametrize("line", ["Ely", "Ely\tBath"])
def test_a_line_without_a_number_among_frequencies_is_an_error(corpus: Path, line: str) -> None:
    (corpus / "words.txt").write_text(f"Wells\t3\n\n{line}\n")
    with pytest.raises(CorpusError, match=r"words\.txt, line 3: "):
        capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt")


def test_blank_lines_among_frequencies_are_skipped(corpus: Path) -> None:
    (corpus / "words.txt").write_text("Wells\t3\n\nEly\t4\n\n")
    assert list(read_word_lists([corpus / "words.txt"], [], hashlib.sha256()).streams[0].occurrences) == [3, 4]


@pytest.mark.parametrize("number", [-1, 10**12 + 1, 10**30])
def test_a_number_out_of_range_is_an_error(corpus: Path, number: int) -> None:
    (corpus / "words.txt").write_text(f"Wells\t{number}\n")
    with pytest.raises(CorpusError, match=r"words\.txt, line 1: "):
        capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt")


def test_single_words_have_no_context(corpus: Path) -> None:
    """The n-grams are those of the corpus, and one unigram per word."""
    (corpus / "words.txt").write_text("Wells\nred\npanda\nWell-Known\n")
    plain = capfst.train(corpus / "text.txt", corpus / "plain.fst")
    listed = capfst.train(corpus / "text.txt", corpus / "cap.fst", words=[corpus / "words.txt"])
    assert listed.ngrams[1:] == plain.ngrams[1:]
    new = {"Wells", "red", "panda", "Well-Known"}
    assert set(CapFst.open(corpus / "cap.fst").symbols) == set(CapFst.open(corpus / "plain.fst").symbols) | new
    assert listed.ngrams[0] == plain.ngrams[0] + len(new)
    assert (listed.sentences, listed.tokens) == (plain.sentences, plain.tokens)
    assert (listed.listed, plain.listed) == (len(new), 0)
    assert f"\nadded {len(new)} surface forms " in listed.report()
    assert listed.signature.corpus != plain.signature.corpus


def test_names_of_several_words_are_sentences_of_their_own(corpus: Path) -> None:
    (corpus / "words.txt").write_text("New Ulm\n")
    (corpus / "text.txt").write_text(SENTENCES.replace("the ", "the new "))
    for limit in None, 40:
        capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt", max_words=limit)
        recaser = capfst.load(corpus / "cap.fst", context=False)
        assert recaser("in new ulm the new king left") == "in New Ulm the new king left"


def test_a_word_is_capitalized_in_listed_names_only(corpus: Path) -> None:
    (corpus / "words.txt").write_text("".join(f"New {name}\n" for name in ("Ulm", "Bern", "Rome", "Paris", "Oslo") * 9))
    (corpus / "text.txt").write_text(SENTENCES.replace("the ", "the new "))
    capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt")
    recaser = capfst.load(corpus / "cap.fst")
    assert recaser("in new ulm and new york the new king left") == "in New Ulm and new York the new king left"


def test_limits_do_not_remove_listed_words(corpus: Path) -> None:
    for limit in {"max_words": 5}, {"min_count": 1000}:
        capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt", **limit)  # type: ignore[arg-type]
        recaser = capfst.load(corpus / "cap.fst")
        assert recaser.knows("panda")
        assert not recaser.knows("ely")


@pytest.mark.parametrize(
    ("in_corpus", "listed", "counts"),
    [
        ([], ["Ulm"], [0, 10, 0, 0]),
        ([], ["Ulm"] * 3, [0, 10, 0, 0]),
        ([], ["Ulm"] * 30, [0, 30, 0, 0]),
        ([], ["panda"], [10, 0, 0, 0]),
        ([], ["us", "US"], [5, 0, 5, 0]),
        ([], ["PyTorch"], [0, 0, 0, 1000]),
        (["may"] * 3, ["May"], [3, 1, 0, 0]),
        (["may"] * 3, ["May"] * 4, [3, 4, 0, 0]),
        (["latex"] * 3, ["LaTeX"], [3, 0, 0, 7]),
        (["latex"] * 300, ["LaTeX"], [300, 0, 0, 1]),
    ],
)
def test_entries_are_occurrences(tmp_path: Path, in_corpus: list[str], listed: list[str], counts: list[int]) -> None:
    """If the corpus lacks the word, or the form is in mixed case, one entry counts as several."""
    (tmp_path / "text.txt").write_text("".join(f"We saw {word}.\n" for word in ["cats", *in_corpus]))
    (tmp_path / "words.txt").write_text("\n".join(listed) + "\n")
    capfst.train(tmp_path / "text.txt", tmp_path / "cap.fst", words=tmp_path / "words.txt")
    model = CapFst.open(tmp_path / "cap.fst")
    context = Context.of(model)
    assert context is not None
    record = context.words[model.symbols.forms(listed[0].lower(), model.starts)[0]]
    assert record["shape_evidence"] == shape_evidence(counts)
    assert record["unseen_penalty"] == np.float32(1 + np.log(1 + sum(counts)))


def test_one_entry_teaches_a_name(corpus: Path) -> None:
    names = ["PyTorch", "ChatGPT", "Wells", "USB", "numpy", "iPhone"]
    (corpus / "words.txt").write_text("\n".join(names) + "\n")
    capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt")
    recaser = capfst.load(corpus / "cap.fst")
    for name in names:
        for line in "we had {} and left.", "she met the {} king.", "{} won.":
            assert name in recaser(line.format(name.lower()))


def test_names_in_mixed_case_survive_a_small_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("We saw cats and dogs.\nWe like PyTorch and NumPy.\nThey like PyTorch.\n" * 20)
    (tmp_path / "words.txt").write_text("iPadOS\t6\nIpados\t1\nFOObar\t1\nfoobar\t9\n")
    capfst.train(tmp_path / "text.txt", tmp_path / "cap.fst", words=tmp_path / "words.txt", max_words=3)
    symbols = CapFst.open(tmp_path / "cap.fst").symbols
    assert {"PyTorch", "NumPy", "iPadOS"} < {*symbols} and not {"FOObar", "Ipados", "dogs"} & {*symbols}
    line = "cats like ipados and numpy"
    assert capfst.load(tmp_path / "cap.fst")(line) == "cats like iPadOS and NumPy"


def test_lines_of_a_list_are_not_sentences(corpus: Path) -> None:
    lists = read_word_lists([corpus / "words.txt"], [], hashlib.blake2b())
    assert not lists.interner.counts[:, [LINE_ENDS, BREAKS]].any()
    assert lists.interner.counts[:, COMPOUNDS].max() == 2


def test_lists_of_each_language(corpus: Path) -> None:
    """`gift` is lowercase in English, and capitalized in German, where it is a noun."""
    for language, text in ("de", "Wir sahen die Stadt.\nEr hat die Stadt nicht.\n" * 40), ("en", SENTENCES):
        (corpus / language).mkdir()
        (corpus / language / "text.txt").write_text(text)
    (corpus / "de.txt").write_text("Gift\n")
    (corpus / "en.txt").write_text("gift\n")
    out = corpus / "cap.fst"
    run("train", "-q", f"de={corpus}/de", f"en={corpus}/en", "-o", out, "--words", f"de={corpus}/de.txt", "--words",
        f"en={corpus}/en.txt")  # fmt: skip
    context = Context.of(CapFst.open(out))
    assert context is not None
    label = CapFst.open(out).symbols.forms("gift", CapFst.open(out).starts)[0]
    assert context.language_evidence[label].tolist() == [34, 4]
    assert not np.delete(context.language_evidence, CapFst.open(out).starts[:-1], 0).any()
    with pytest.raises(CorpusError, match=r"words\.txt: no language, .*de=.*words\.txt"):
        capfst.train([f"de={corpus}/de"], out, words=corpus / "words.txt")
    with pytest.raises(CorpusError, match=r"words\.txt: the corpus has no text in its language, fr"):
        capfst.train([f"de={corpus}/de"], out, words=f"fr={corpus}/words.txt")
    with pytest.raises(CorpusError, match=r"words\.txt: has the language de, but the corpus has none"):
        capfst.train(corpus / "de", out, words=f"de={corpus}/words.txt")


def test_bad_lists(corpus: Path) -> None:
    (corpus / "latin1.txt").write_bytes("Köln\n".encode("latin-1"))
    (corpus / "reserved.txt").write_text("<s>\n")
    for name, cause in ("none.txt", "no such file"), ("latin1.txt", "not UTF-8 at byte 1"):
        with pytest.raises(CorpusError, match=cause):
            capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / name)
    with pytest.raises(CorpusError, match="'<s>'"):
        capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "reserved.txt", pretokenized=True)
    assert not (corpus / "cap.fst").exists()


def test_names_with_a_period_stay_whole(corpus: Path) -> None:
    (corpus / "words.txt").write_text("St. Louis\nDr. No\nMt. Fuji\n" * 9)
    trained = capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "words.txt", min_count=2)
    symbols = list(CapFst.open(corpus / "cap.fst").symbols)
    assert {"St", "Louis", "Dr", "No", "Mt", "Fuji"} <= set(symbols)
    plain = capfst.train(corpus / "text.txt", corpus / "plain.fst", min_count=2)
    # In each of the three names: <s> St, St ., . Louis, Louis </s>; <s> St ., St . Louis, . Louis </s>.
    assert trained.ngrams[1] == plain.ngrams[1] + 12
    assert trained.ngrams[2] == plain.ngrams[2] + 9


def test_lists_without_words_and_languages_without_text(corpus: Path) -> None:
    (corpus / "empty.txt").write_text("")
    (corpus / "en.txt").write_text(SENTENCES)
    (corpus / "fr.txt").write_text("nothing that is kept\n")
    capfst.train(corpus / "text.txt", corpus / "cap.fst", words=corpus / "empty.txt")
    plain = capfst.train(corpus / "text.txt", corpus / "plain.fst")
    assert plain.ngrams == capfst.load(corpus / "cap.fst").model.ngrams
    texts = [f"en={corpus}/en.txt", f"fr={corpus}/fr.txt"]
    capfst.train(texts, corpus / "cap.fst", words=f"fr={corpus}/words.txt")
    assert capfst.load(corpus / "cap.fst").knows("panda")
