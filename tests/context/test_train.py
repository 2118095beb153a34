"""context/train.py and training/stages.py: a corpus in, a model with a context model out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support import contextual

import capfst
from capfst.casing.shapes import N_SHAPES, Shape, shapes
from capfst.context import train
from capfst.context.domains import MAX_DOMAINS
from capfst.context.features import N_RANKED
from capfst.context.lexicon import Lexicon
from capfst.context.train import fit
from capfst.corpus.labels import LabeledCorpus
from capfst.corpus.vocabulary import Vocabulary
from capfst.exceptions import OptionError
from capfst.fst.symbols import Symbols, check
from capfst.io import files as io_files
from capfst.options import ContextOptions
from capfst.recaser import Recaser, load
from capfst.text.unicode import lower


def trained(folder: Path, *texts: str, **options: object) -> Recaser:
    """Train a model of texts, each of which is a source."""
    files = [folder / f"{number}.txt" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io_files, "_SMALL", 1)
        capfst.train(files, folder / "cap.fst", clean=False, **options)  # type: ignore[arg-type]
    return load(folder / "cap.fst")


def test_the_records_of_words(contextual_model: Path) -> None:
    context = load(contextual_model).pipeline.context
    assert context is not None
    symbols = load(contextual_model).model.symbols
    labels = {symbol: label for label, symbol in enumerate(symbols)}
    ranks = context.words["frequency_rank"]
    assert sorted(ranks[ranks > 0].tolist()) == list(range(1, N_RANKED + 1))
    assert ranks[labels["the"]] < ranks[labels["class"]]
    for symbol in ("<unk>", ",", "0"):
        assert context.shapes[labels[symbol]] == Shape.CASELESS
    log_odds = context.words["domain_log_odds"][:, :2]
    assert np.sign(log_odds[labels["the"]] - log_odds[labels["gur"]]).tolist() in ([1, -1], [-1, 1])


TINY = ["A b.\n", "a\n", ".\n", "A\nB\n", "A B C d\n" * 40, "x\n" * 40, "<unk> b\n"]


@pytest.mark.parametrize("text", TINY)
def test_tiny_corpora(tmp_path: Path, text: str) -> None:
    recaser = trained(tmp_path, text, order=1)
    assert recaser.pipeline.context is not None
    for line in (text, "a b c d", "XYZZY 's .", ""):
        assert lower(recaser(line)) == lower(line)


def test_empty_sources(tmp_path: Path) -> None:
    help_, rot13 = ("\n".join(lines) for lines in (contextual.LINES[:300], contextual.OTHERS[:300]))
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder, texts in zip(folders, (["", help_, "\n", "", rot13, ""], [help_, rot13]), strict=True):
        folder.mkdir()
        trained(folder, *texts)
    one, other = (load(folder / "cap.fst").pipeline.context for folder in folders)
    assert one is not None
    assert other is not None
    assert all(map(np.array_equal, flat(one), flat(other)))


def flat(value: object) -> list[object]:
    """Return the items of a tuple, and of tuples in it."""
    return [item for part in value for item in flat(part)] if isinstance(value, tuple) else [value]


def test_pretokenized_text(tmp_path: Path) -> None:
    recaser = trained(tmp_path, "\n".join(contextual.LINES[:500]), pretokenized=True)
    assert recaser.pipeline.loaded.pretokenized
    recaser, slow = (load(recaser.model.path, engine=engine, input_case="ignore") for engine in ("fast", "openfst"))
    text = "\n".join([*contextual.UNHEARD[:60], "Ab-Cd’s (xyzzy 1.2.3a ...", "'A ΟΔΟΣ' “É”"])
    out = recaser(text)
    assert out == slow(text) == recaser(lower(text)) == recaser(out)
    assert lower(out) == lower(text)
    assert "\n".join(map(recaser, text.split("\n"))) == out


def test_learning_from_a_sample(tmp_path: Path) -> None:
    """The shape counts of the words are still those of the whole corpus."""
    text = "\n".join(contextual.LINES)
    whole = trained(tmp_path, text).pipeline.context
    part = trained(tmp_path, text, context=ContextOptions(max_labels=500)).pipeline.context
    assert whole is not None
    assert part is not None
    assert part.stage1.size < whole.stage1.size
    assert (part.words["shape_evidence"] == whole.words["shape_evidence"]).all()


def test_max_domains(tmp_path: Path) -> None:
    texts = ["\n".join(contextual.LINES[:600]), "\n".join(contextual.OTHERS[:600])]
    for most, n in (1, 1), (6, 2):
        context = trained(tmp_path, *texts, context=ContextOptions(max_domains=most)).pipeline.context
        assert context is not None
        assert context.n_domains == n


@pytest.mark.parametrize(
    ("name", "wrong", "supported"),
    [
        ("max_labels", 0, "1 or more"),
        ("max_domains", 0, f"1 to {MAX_DOMAINS}"),
        ("max_domains", MAX_DOMAINS + 1, f"1 to {MAX_DOMAINS}"),
        ("max_bits", 7, "8 to 30"),
        ("max_bits", 31, "8 to 30"),
    ],
)
def test_values_out_of_range(name: str, wrong: int, supported: str) -> None:
    with pytest.raises(OptionError, match=rf"^`{name}` is {wrong}\. .*{supported}"):
        ContextOptions(**{name: wrong})


def test_words_outside_the_vocabulary_are_learned_from(tmp_path: Path) -> None:
    """So the record of a known word is the same as without a limit; and unseen words occur in training."""
    text = "\n".join(contextual.LINES)
    whole, part = trained(tmp_path, text), trained(tmp_path, text, max_words=100)
    assert whole.pipeline.context is not None
    assert part.pipeline.context is not None
    assert (whole.pipeline.context.stage1 == part.pipeline.context.stage1).all()
    assert (shapes(part.model.symbols) != Shape.MIXED).sum() == 102  # names in mixed case are kept
    for label in part.model.starts[:-1].tolist():
        forms = whole.model.symbols.forms(lower(part.model.symbols[label]), whole.model.starts)
        assert part.pipeline.context.words[label] == whole.pipeline.context.words[forms[0]]


@pytest.mark.parametrize("languages", [[0, 0], [0, 1]])
def test_counts_exclude_the_slices_that_are_learned_from(monkeypatch: pytest.MonkeyPatch, languages: list[int]) -> None:
    symbols = Symbols.from_words(["<unk>", "a", "A", "b"])
    starts = check(symbols)
    texts = [np.array([4, a, 4, 0] * n, np.uint32) for a, n in ((2, 400), (3, 200))]
    corpus = LabeledCorpus(np.concatenate(texts), np.cumsum([text.size for text in texts]))
    known: list[list[np.ndarray]] = []

    def learn(labels: np.ndarray, lexicon: Lexicon, *_: object) -> None:
        known.append([lexicon.shape_counts.copy(), *lexicon.language_counts.copy()])

    monkeypatch.setattr(train, "learn", learn)
    vocabulary = Vocabulary(symbols, np.bincount(corpus.labels, minlength=5), 1, [], [])
    lexicon = fit(vocabulary, starts, corpus, np.array(languages), None, silent, ContextOptions())[0]
    of_all = [lexicon.shape_counts, *lexicon.language_counts]
    assert lexicon.shape_counts[1:].tolist() == [[400, 200, 0, 0], [1200, 0, 0, 0]]
    for counts in known:
        for some, every in zip(counts, of_all, strict=True):
            assert some.sum() == pytest.approx(every.sum() * 15 / 16, rel=0.01)


@contextmanager
def silent(total: int, description: str, unit: str) -> Iterator[Callable[[int], object]]:
    yield lambda more: None


def test_progress_and_memory(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    symbols = Symbols.from_words(["<unk>", "a", "A", "b"])
    labels = np.array([2, 3, 4, 0, 4, 4, 0], np.uint32)
    vocabulary = Vocabulary(symbols, np.array([2, 0, 1, 1, 3]), 1, [], [])
    arguments = vocabulary, check(symbols), LabeledCorpus(labels, np.array([7])), np.zeros(1, np.int64)
    done: list[int] = []
    totals: list[int] = []

    @contextmanager
    def show(total: int, description: str, unit: str) -> Iterator[Callable[[int], object]]:
        totals.append(total)
        yield done.append

    lexicon, _ = fit(*arguments, None, show, ContextOptions())
    assert sum(done) == sum(totals) == len(labels)
    assert (len(lexicon.words), lexicon.domains) == (3, 1)
    assert lexicon.shape_counts.tolist() == [[0] * N_SHAPES, [1, 1, 0, 0], [3, 0, 0, 0]]
    with pytest.raises(OptionError, match=r"^`memory` is 1 MiB, .* \d+ MiB.*`context=False`"):
        fit(*arguments, 1 << 20, silent, ContextOptions())
    assert caplog.text == ""
    monkeypatch.setattr(train, "_FEW", 1)
    monkeypatch.setattr(train, "_PER_LABEL", 1 << 30)
    monkeypatch.setattr(train, "resident", lambda: 0)  # other tests of this process may have left memory
    assert fit(*arguments, 6 << 30, silent, ContextOptions())[0].shape_counts.tolist()[1] == [1, 1, 0, 0]
    assert "the context model learns from 3 of 7 tokens" in caplog.text
