"""Find the files of a corpus and the language of each, as the user names them: `de=news/ fr=web.txt`, or a folder with
the folders `de/`, `fr/`, ….

Input: the names. Output: the files that they stand for, and the files' languages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from capfst.exceptions import CorpusError
from capfst.io.files import find_files, is_text
from capfst.text.language import check_known, known

_TAGGED = re.compile(r"([a-z]{2,3})=(.+)", re.DOTALL)


def find_corpus(names: Iterable[str], taken: Callable[[str], bool] = is_text) -> tuple[list[Path], list[str]]:
    """Return the files of a corpus, as `find_files`, and the language of each; no languages if none is named.

    `de=NAME` names files in German. A folder that contains only folders named `de`, `fr` and the like also names their
    languages.

    Raises:
        CapfstError: as `find_files`; an unknown language; files with and without a language.
    """
    named: dict[str, tuple[Path, str | None]] = {}
    for name in names:
        language, path = _parted(name)
        files = find_files([path], taken)
        for file, of_folder in zip(files, _folder_languages(path, files), strict=True):
            named.setdefault(os.path.realpath(file), (file, language or of_folder))
    files = [file for file, _ in named.values()] or find_files(())
    languages = [language for _, language in named.values() if language]
    if languages and len(languages) < len(files):
        file = next(file for file, language in named.values() if not language)
        raise CorpusError(f"{file}: no language, but other inputs have one. Name it, as in de={file}.")
    return files, languages


def _parted(name: str) -> tuple[str | None, str]:
    """Split `de=NAME` into `de` and NAME, unless a file has this whole name."""
    tagged = _TAGGED.fullmatch(name)
    if tagged is None or os.path.lexists(name):
        return None, name
    check_known(tagged[1])
    return tagged[1], tagged[2]


def _folder_languages(name: str, files: list[Path]) -> list[str] | list[None]:
    if os.path.isdir(name):
        folders = [file.relative_to(name).parts[0] for file in files]
        if set(folders) <= set(known()):
            return folders
    return [None] * len(files)
