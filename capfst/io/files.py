"""Names → files.

In: the names that a user gives: files, folders, glob patterns. Out: the files that they stand for.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CapfstError
from capfst.io.compression import SUFFIXES

_PAGES = re.compile(r"-p\d+p\d+$")
_SMALL = 1 << 16  # bytes of a file, compressed or not

# A folder is read whole but for these: a corpus may be called `news.en` as well as `news.txt`.
NO_TEXT = frozenset(
    f".{suffix}"
    for formats in (
        "7z rar tar tbz2 tgz txz zip",
        "doc docx epub odt pdf ppt pptx ps xls xlsx",
        "bmp gif jpeg jpg png svg tif tiff webp avi flac mov mp3 mp4 ogg wav webm",
        "csv htm html json jsonl parquet tsv xml yaml yml",
        "arpa bin context db far fst npy npz pickle pkl sqlite",
    )
    for suffix in formats.split()
)


class ExpandedFile(NamedTuple):
    """A file that a name stands for."""

    file: Path
    base: Path | None  # the named folder, or the pattern's folders without wildcards; None: it was named itself
    folder: Path | None  # the folder that was walked, if it was found in one


def expand(name: str) -> Iterator[ExpandedFile]:
    """The files that a name stands for.

    A folder stands for all files below it, sorted by path, without the hidden ones. A name that does not exist and
    holds `*`, `?` or `[` is a glob pattern, in which `**` is any number of folders. Any other name stands for itself,
    whether or not there is such a file.

    Raises:
        CapfstError: an empty name, a pattern that nothing matches, or a folder that may not be read.
    """
    if not name:
        raise CapfstError("an empty name stands for no file: name a file, a folder or a quoted glob pattern")
    if os.path.isdir(name):
        yield from (ExpandedFile(file, Path(name), Path(name)) for file in _below(name))
    elif os.path.lexists(name) or not glob.has_magic(name):
        yield ExpandedFile(Path(name), None, None)
    else:
        folders = Path(name).parts[:-1]
        fixed = next((i for i, part in enumerate(folders) if glob.has_magic(part)), len(folders))
        base = Path(*folders[:fixed])
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise CapfstError(f"{name}: no file matches this pattern: check it, and quote it for the shell")
        for match in matches:
            if os.path.isdir(match):
                yield from (ExpandedFile(file, base, Path(match)) for file in _below(match))
            else:
                yield ExpandedFile(Path(match), base, None)


def _below(folder: str) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise CapfstError(f"{error.filename}: {error.strerror}: give yourself permission, or leave it out")

    files = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(files)


def suffix_of(name: str) -> str:
    """The suffix, in lower case, that tells a file's format: that before `.gz` and the like, and before the numbers of
    pages in a name of Wikimedia's (`.xml-p1p41242.bz2`)."""
    stem, suffix = os.path.splitext(name.lower())
    if suffix in SUFFIXES:
        suffix = os.path.splitext(stem)[1]
    return _PAGES.sub("", suffix)


def is_text(name: str) -> bool:
    """Whether a file of this name is text, a sentence a line, as far as its suffix tells."""
    return suffix_of(name) not in NO_TEXT


def find_files(paths: Iterable[str | Path], taken: Callable[[str], bool] = is_text) -> list[Path]:
    """The files of a corpus, in the order of `paths`, each once: as `expand` finds them, but of the files in folders
    only those whose names are `taken`.

    Raises:
        CapfstError: a path, pattern or folder without files, or a file or folder that may not be read.
    """
    files: dict[str, Path] = {}
    for path in map(str, paths):
        matches = [file for file, _, folder in expand(path) if folder is None or taken(file.name)]
        if not matches:
            what = "no text in this folder: put text there, or say which --field or --column of its files is text"
            if not os.path.isdir(path):
                what = "no file matches this pattern: check it, and quote it for the shell"
            raise CapfstError(f"{path}: {what}")
        for file in matches:
            if not os.path.exists(file):
                raise CapfstError(f"{file}: no such file or folder: check the name")
            if not os.access(file, os.R_OK):
                raise CapfstError(f"{file}: cannot be read: give yourself permission, or leave it out")
            files.setdefault(os.path.realpath(file), file)
    if not files:
        raise CapfstError("no corpus given: name a file, a folder or a quoted glob pattern")
    return list(files.values())


class Source(NamedTuple):
    """Files that may be a domain of their own, in one language; None if no language was named."""

    files: list[Path]
    language: str | None


def sources(files: Sequence[Path], languages: Sequence[str] = ()) -> list[Source]:
    """The files in their order, each by itself if it is not too small, else with its neighbours of the same language:
    some hundreds of sources at most. languages: that of each file, if any were named."""
    sizes = [file.stat().st_size for file in files]
    least = max(_SMALL, sum(sizes) // 256)
    found: list[Source] = []
    held = 0
    for file, size, language in zip_longest(files, sizes, languages):
        if not found or held + size > least or language != found[-1].language:
            found.append(Source([], language))
            held = 0
        found[-1].files.append(file)
        held += size
    return found
