"""Files of a corpus, and the languages that the user names for them."""

from pathlib import Path

import pytest

from capfst.corpus.languages import find_corpus
from capfst.exceptions import CapfstError
from capfst.io.files import sources


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (
        "all/de/a.txt",
        "all/fr/b/c.txt",
        "all/fr/d.txt",
        "mixed/de/a.txt",
        "mixed/news/b.txt",
        "e.txt",
        "fr=x",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Text.\n")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "files", "languages"),
    [
        (["de=e.txt"], ["e.txt"], ["de"]),
        (["de=e.txt", "fr=all/fr"], ["e.txt", "all/fr/b/c.txt", "all/fr/d.txt"], ["de", "fr", "fr"]),
        (["all"], ["all/de/a.txt", "all/fr/b/c.txt", "all/fr/d.txt"], ["de", "fr", "fr"]),
        (["it=all"], ["all/de/a.txt", "all/fr/b/c.txt", "all/fr/d.txt"], ["it", "it", "it"]),
        (["nl=e.txt", "de=e.txt"], ["e.txt"], ["nl"]),
        (["mixed"], ["mixed/de/a.txt", "mixed/news/b.txt"], []),
        (["all/de"], ["all/de/a.txt"], []),
        (["fr=x"], ["fr=x"], []),  # a file has this name
        (["de=*/*/*.txt"], ["all/de/a.txt", "all/fr/d.txt", "mixed/de/a.txt", "mixed/news/b.txt"], ["de"] * 4),
    ],
)
def test_languages(folder: Path, names: list[str], files: list[str], languages: list[str]) -> None:
    found = find_corpus(names)
    assert ([str(file) for file in found[0]], found[1]) == (files, languages)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "^no corpus"),
        (["de=e.txt", "mixed"], "^mixed/de/a.txt: no language, .*de=mixed/de/a.txt"),
        (["xx=e.txt"], "'xx'"),
        (["de=none.txt"], "^none.txt: no such file"),
    ],
)
def test_refused(folder: Path, names: list[str], message: str) -> None:
    with pytest.raises(CapfstError, match=message):
        find_corpus(names)


def test_a_source_is_in_one_language(folder: Path) -> None:
    files, languages = find_corpus(["all"])
    assert [(len(source.files), source.language) for source in sources(files, languages)] == [(1, "de"), (2, "fr")]
    assert [(len(source.files), source.language) for source in sources(files)] == [(3, None)]
