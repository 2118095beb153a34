"""scripts/data/sentences/ and the lists beside it: what the bundled models learn from them."""

import unicodedata
from pathlib import Path

import pytest

from capfst import models
from capfst.batch.manifest import sha256

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "scripts" / "data"
TEXTS = sorted(DATA.glob("sentences/*.txt"))
LISTS = [DATA / "spellings.txt", DATA / "names.txt"]

pytestmark = pytest.mark.skipif(
    not TEXTS, reason="source distributions leave the texts out, which only `make model` reads"
)


@pytest.mark.parametrize("path", [*TEXTS, *LISTS], ids=lambda path: path.name)
def test_lines_are_clean(path):
    text = path.read_text("utf-8")
    lines = text.splitlines()
    assert text == "".join(f"{' '.join(line.split())}\n" for line in lines)
    assert len(set(lines)) == len(lines) > 1000
    assert unicodedata.is_normalized("NFC", text)


def test_lists_have_each_word_once():
    words = [word.lower() for path in LISTS for word in path.read_text("utf-8").split()]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("name", models.names())
def test_the_models_learned_from_these_files(name):
    card = models.card(models.find(name))
    own = [each for each in [*card["sources"], *card["lists"]] if each["file"].startswith("scripts/")]
    assert {each["file"] for each in own} >= {"scripts/data/sentences/en.txt", "scripts/data/names.txt"}
    for each in own:
        path = ROOT / each["file"]
        assert (path.stat().st_size, sha256(path)) == (each["bytes"], each["sha256"])
