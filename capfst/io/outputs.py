"""The output folder of a run: which file each input becomes, and the folder's lock.

`plan` maps files, folders and glob patterns to outputs in the same tree below one folder: a file in a named folder
keeps its path below that folder; a match of a pattern keeps its path below the pattern's folders without wildcards; a
file that is named itself keeps its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.io.files import expand
from capfst.io.formats import can_recase
from capfst.io.protocol import TextOptions
from capfst.system.atomic import lock, open_folder

MANIFEST = ".capfst-batch.jsonl"
"""Name of the manifest (batch/manifest.py) in an output folder, which no output may have."""


_ANY = TextOptions()


class PlannedFile(NamedTuple):
    input: Path
    output: Path


class Plan(NamedTuple):
    files: list[PlannedFile]
    left_out: list[str]  # in the folders: links to folders, and files that are not text, by their names or contents


def plan(names: Iterable[str | Path], out: Path, model: str | os.PathLike[str], options: TextOptions = _ANY) -> Plan:
    """Return the files that `names` (files, folders, glob patterns) stand for, each once, with their outputs in `out`.

    A folder stands for all files below it, sorted, except hidden ones, those that are not text by their names or
    contents (`can_recase`), and those in folders that are links. A missing file that is named itself is listed: it
    fails when it is read.

    Raises:
        OptionError: there is nothing to recase, two files have the same output, or an output is outside of `out`, an
            input, the model or the manifest.
    """
    items: dict[Path, Path] = {}
    left_out: list[str] = []
    for name in map(str, names):
        for file, base, folder in expand(name):
            if folder is not None and Path(os.path.realpath(out)).is_relative_to(os.path.realpath(folder)):
                raise OptionError(
                    f"{out}: the output folder is inside the input folder ({folder}). Choose another output folder."
                )
            is_link = folder is not None and file.is_dir()
            if is_link or (base is not None and not can_recase(file, options, is_matched=folder is None)):
                left_out.append(str(file))
                continue
            below = Path(file.name) if base is None else file.relative_to(base)
            if ".." in below.parts:
                raise OptionError(f"{name}: '..' after a wildcard can lead out of {out}. Name {file} without it.")
            output = out / below
            other = items.setdefault(output, file)
            if os.path.realpath(other) != os.path.realpath(file):
                raise OptionError(
                    f"{file}: would become {output}, as would {other}. Name the folder that contains both, or recase"
                    " them into different folders."
                )
    if not items:
        raise CorpusError("no text files in the inputs. Name files, folders or quoted glob patterns.")
    _refuse_others(items, out, os.path.realpath(model))
    return Plan([PlannedFile(file, output) for output, file in items.items()], left_out)


def _refuse_others(items: dict[Path, Path], out: Path, lm: str) -> None:
    """Refuse outputs that would replace another file, or that links in the output folder lead out of it."""
    inside = os.path.realpath(out)
    taken = {os.path.realpath(file): f"the input {file}" for file in items.values()}
    taken |= {lm: "the model", os.path.realpath(out / MANIFEST): "the manifest"}
    for output, file in items.items():
        real = os.path.realpath(output)
        if output == out / MANIFEST:
            raise OptionError(f"{file}: has the name of the manifest in {out}. Rename the file.")
        if real in taken:
            raise OptionError(f"{output}: the output would overwrite {taken[real]}. Choose another output folder.")
        taken[real] = f"that of {file}"
        above = next((parent for parent in output.parents if parent in items), None)
        if above is not None:
            raise OptionError(
                f"{items[above]}: would become {above}, a folder of the output {output}. Recase one of them at a time."
            )
        if not Path(real).is_relative_to(inside):
            raise OptionError(f"{output}: the output would be written to {real}, outside of {out}. Remove the link.")


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, as far as they are missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CapfstError(f"{folder}: cannot create the folder: {error.strerror}. Choose another folder.") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder, if its file system has locks."""
    descriptor = open_folder(folder)
    try:
        with suppress(OSError):
            if not lock(descriptor):
                raise CapfstError(f"{folder}: another `capfst batch` is writing here. Wait for it, or stop it.")
        yield
    finally:
        os.close(descriptor)
