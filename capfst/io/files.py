"""Find the files that names stand for.

Input: names of files, folders and glob patterns from the user. Output: the files, and their grouping into sources.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CapfstError, CorpusError, with_remedy
from capfst.io.compression import SUFFIXES

_PAGES = re.compile(r"-p\d+p\d+$")
_SMALL = 1 << 16  # bytes, compressed or not; smaller files share a source
_NAME = "Name a file, a folder or a quoted glob pattern."
_NO_MATCH = "no file matches this pattern. Check it, and quote it for the shell."

# All files in a folder are read except these: the name of a corpus may be `news.en` as well as `news.txt`.
NO_TEXT = frozenset(
    f".{suffix}"
    for formats in (
        "7z rar tar tbz2 tgz txz zip",
        "doc docx epub odt pdf ppt pptx ps rtf xls xlsx",
        "bmp gif jpeg jpg png svg tif tiff webp avi flac mov mp3 mp4 ogg wav webm",
        "csv htm html json jsonl parquet tsv xml yaml yml",
        "arpa bin context db far fst npy npz pickle pkl rttm sqlite",
    )
    for suffix in formats.split()
)


class ExpandedFile(NamedTuple):
    """A file that a name stands for."""

    file: Path
    base: Path | None  # the named folder, or the pattern's folders without wildcards; None: the file itself was named
    folder: Path | None  # the folder that was searched; None: the file itself was named or matched


def expand(name: str) -> Iterator[ExpandedFile]:
    """Yield the files that a name stands for.

    A folder stands for all files below it, sorted by path, except hidden ones. Links to folders, which are not
    followed, are among them. A name that does not exist and contains
    `*`, `?` or `[` is a glob pattern, in which `**` matches any number of folders. Any other name stands for itself,
    whether or not such a file exists.

    Raises:
        CorpusError: an empty name, a pattern without matches, or a folder without read permission.
    """
    if not name:
        raise CorpusError(f"the name of an input is empty. {_NAME}")
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
            raise CorpusError(f"{name}: {_NO_MATCH}")
        for match in matches:
            if os.path.isdir(match):
                yield from (ExpandedFile(file, base, Path(match)) for file in _below(match))
            else:
                yield ExpandedFile(Path(match), base, None)


def _below(folder: str) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise CorpusError(f"{error.filename}: cannot read: {error.strerror}. Change its permissions, or leave it out.")

    files = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        files += [Path(parent, name) for name in linked + names if not name.startswith(".")]
    return sorted(files)


def suffix_of(name: str) -> str:
    """Return the suffix, in lower case, that determines a file's format: the one before `.gz` and the like, and before
    the page numbers in the name of a Wikimedia dump (`.xml-p1p41242.bz2`)."""
    stem, suffix = os.path.splitext(name.lower())
    if suffix in SUFFIXES:
        suffix = os.path.splitext(stem)[1]
    return _PAGES.sub("", suffix)


def is_text(name: str) -> bool:
    """Return whether the suffix of a name allows plain text, one sentence per line."""
    return suffix_of(name) not in NO_TEXT


def find_files(paths: Iterable[str | Path], taken: Callable[[str], bool] = is_text) -> list[Path]:
    """Return the files of a corpus, in the order of `paths`, each once: as `expand`, except that of the files in
    folders only those are included for whose names `taken` returns True.

    Raises:
        CorpusError: a path, pattern or folder without files, a file or folder without read permission, or a pipe.
    """
    files: dict[str, Path] = {}
    for path in map(str, paths):
        matches = [
            file for file, _, folder in expand(path) if folder is None or (taken(file.name) and not file.is_dir())
        ]
        if not matches:
            no_text = (
                "no text files in this folder. Add some, or select the text of its files with `field` or `column`."
            )
            raise CorpusError(f"{path}: {no_text if os.path.isdir(path) else _NO_MATCH}")
        for file in matches:
            if not os.path.exists(file):
                raise CorpusError(f"{file}: no such file or folder. Check the name.")
            refuse_special(file)
            if not os.access(file, os.R_OK):
                raise CorpusError(f"{file}: cannot read: permission denied. Change its permissions, or leave it out.")
            files.setdefault(os.path.realpath(file), file)
    if not files:
        raise CorpusError(f"no corpus given. {_NAME}")
    return list(files.values())


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Raise CorpusError for a pipe, device or folder: opening it may wait forever, and it can be read only once."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise CorpusError(f"{path}: not a regular file, but it is read more than once. Copy it to a regular file.")


def failure_of(path: str | os.PathLike[str], error: Exception) -> CapfstError:
    """Return the error to report for a file whose reading or recasing raised this one, of any kind."""
    if isinstance(error, CapfstError):
        return error
    if isinstance(error, MemoryError):
        return CorpusError(f"{path}: out of memory. Split very long lines, or use fewer threads (--jobs 1).")
    if isinstance(error, OSError):
        return CorpusError(f"{path}: {with_remedy(error)}")
    why = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    return CorpusError(f"{path}: cannot be read ({why}). Check the file, or report this as a bug.")


@contextmanager
def failures_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Within the block, report an exception of any kind as an error of this file."""
    try:
        yield
    except (CapfstError, MemoryError):
        raise
    except Exception as error:
        raise failure_of(path, error) from error


class Source(NamedTuple):
    """Files that may be a domain of their own, in one language."""

    files: list[Path]
    language: str | None  # None: no language was given


def sources(files: Sequence[Path], languages: Sequence[str] = ()) -> list[Source]:
    """Group the files, in order, into a few hundred sources at most: a small file shares a source with its neighbors of
    the same language. languages: one per file, or none."""
    sizes = [file.stat().st_size for file in files]
    least = max(_SMALL, sum(sizes) // 256)
    groups: list[Source] = []
    held = 0
    for file, size, language in zip_longest(files, sizes, languages):
        if not groups or held + size > least or language != groups[-1].language:
            groups.append(Source([], language))
            held = 0
        groups[-1].files.append(file)
        held += size
    return groups
