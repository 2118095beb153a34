"""scripts/bench/leaderboard.py and its peers: what they write, and that only the case of text changes."""

import json
from pathlib import Path

import leaderboard
import peers
import pytest
from click.testing import CliRunner, Result

import capfst
from capfst.exceptions import CapfstError

TRAINING = "The Navy told Ann that the US Navy left York .\nShe met Ann 's boss , a McDonald , in York .\n" * 40
TEXT = "Boss McDonald left York.\n\nIn Ohio, she met the Navy's Ann.\n"
TITLE = "most frequent casing"


def trained(name: str, folder: Path) -> peers.Recase:
    """Train a peer on the text, and return its recaser; skip the test if its package is not installed."""
    module = pytest.importorskip(f"peers.{name}", exc_type=ImportError)
    if hasattr(module, "FOLDER"):
        return module.load(module.FOLDER)
    if hasattr(module, "EPOCHS"):
        module.EPOCHS = 1
    module.train([words for _, words in peers.words(TRAINING.encode())], folder)
    return module.load(folder)


@pytest.mark.parametrize("name", peers.PEERS)
def test_a_peer_changes_only_case(name, tmp_path):
    text = " `in'\tohio: x-ray of mcdonald's <b> http://york.us/navy | (ann's)\r\n\n \u0130\u00df ŉ ǆ \n…ann".encode()
    recase = trained(name, tmp_path)
    assert peers.recased(text, recase).decode().lower() == text.decode().lower()
    assert peers.recased(b"", recase) == b""


@pytest.mark.parametrize("name", ["unigram", "sacremoses", "word_crf", "character_crf"])
def test_a_peer_learns_the_case_of_words(name, tmp_path):
    recased = peers.recased(b"she told ann that a mcdonald, in the us navy, left york.", trained(name, tmp_path))
    assert recased == b"She told Ann that a McDonald, in the US Navy, left York."


@pytest.mark.parametrize(
    ("text", "expected"),
    [("in-law don't", ["in", "-", "law", "do", "n't"]), ("u.s. (1,000)", ["u.s.", "(", "1,000", ")"]), ("", [])],
)
def test_words_are_those_of_the_tokenizer(text, expected):
    assert [words for _, words in peers.words(f"{text}\n".encode())] == [expected]


def measured(folder: Path, *options: str) -> Result:
    (folder / "training.txt").write_text(TRAINING)
    arguments = [folder / "text.txt", "--train", folder / "training.txt", "--work", folder, "-o", folder / "r.json"]
    return CliRunner().invoke(leaderboard.main, [*map(str, arguments), *options])


@pytest.mark.slow
def test_results_are_merged_and_make_tables(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    assert measured(tmp_path, "--quick", "--only", "unigram").exit_code == 0
    done = measured(tmp_path, "--quick", "--only", "capfst-lm")
    results = json.loads((tmp_path / "r.json").read_text())
    assert results["trained_on"] == {"training": 920}
    assert results["texts"] == {"text": 11}
    unigram, lm = results["entries"].values()
    assert (unigram["title"], lm["title"]) == (TITLE, "capfst, LM alone")
    assert unigram["bytes"] == (tmp_path / "quick" / "unigram" / "casings.json").stat().st_size
    hypotheses = ["Boss McDonald left York.", "", "In ohio, she met the Navy's Ann."]
    scores = capfst.score(references=TEXT.splitlines(), hypotheses=hypotheses)
    figures = unigram["scores"]["text"]
    assert (figures["accuracy"], figures["f1"]) == (scores.accuracy, scores.f1)
    assert figures["kinds"]["Capitalized"] == pytest.approx(100 * 5 / 6)
    rows = [line for line in done.output.splitlines() if line.startswith(f"| {TITLE} | ")]
    assert rows[0].startswith(f"| {TITLE} | 0.0 M words | 0.0 | ")
    assert rows[0].endswith(" | 90.91 / 92.31 / 12.50 |")
    assert rows[1] == f"| {TITLE} | 100.0 / 83.3 / – / 100.0 / 0.0 |"


def test_results_of_other_texts_are_not_merged(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "r.json").write_text('{"trained_on": {"training": 1}, "texts": {"text": 11}}')
    with pytest.raises(CapfstError, match=r"measured with other texts or corpora"):
        raise measured(tmp_path, "--only", "unigram").exception
    with pytest.raises(CapfstError, match=r"no such entry: moses"):
        raise measured(tmp_path, "--only", "moses").exception
