"""Names → files, and where their outputs go: to the same tree as the inputs', below one folder.

A file in a named folder keeps its path below that folder; a match of a pattern keeps its path below the pattern's
folders without wildcards; a file that is named itself keeps its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from capfst.batch.manifest import NAME
from capfst.exceptions import CapfstError
from capfst.io.files import expand
from capfst.io.formats import takes


class PlannedFile(NamedTuple):
    input: Path
    output: Path


class Plan(NamedTuple):
    files: list[PlannedFile]
    left_out: list[str]  # files in the folders that are no text by their names


def plan(names: Iterable[str | Path], out: Path, model: Path) -> Plan:
    """The files that `names` (files, folders, glob patterns) stand for, each once, with their outputs below `out`.

    A folder stands for all files below it, sorted, without the hidden ones and those whose name says that they are no
    text. A named file that is not there is listed: it fails when its turn comes.

    Raises:
        CapfstError: nothing to do, two files for one output, or an output that is outside of `out`, an input, the model
            or the manifest.
    """
    items: dict[Path, Path] = {}
    left_out: list[str] = []
    for name in map(str, names):
        for file, base, folder in expand(name):
            if folder is not None:
                _refuse_inside(folder, out)
            if base is not None and not takes(file.name):
                left_out.append(str(file))
                continue
            below = Path(file.name) if base is None else file.relative_to(base)
            if ".." in below.parts:
                raise CapfstError(f"{name}: `..` behind a wildcard may lead out of {out}: name {file} without it")
            output = out / below
            other = items.setdefault(output, file)
            if os.path.realpath(other) != os.path.realpath(file):
                raise CapfstError(
                    f"{other} and {file} would both become {output}: name the folder that holds both, or do one at a"
                    " time into different folders"
                )
    if not items:
        raise CapfstError("there is no text in what was named: name files, folders or quoted glob patterns")
    _refuse_overwriting(items, out, os.path.realpath(model))
    _refuse_outside(items, out)
    return Plan([PlannedFile(file, output) for output, file in items.items()], left_out)


def _refuse_inside(folder: Path, out: Path) -> None:
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(folder)):
        raise CapfstError(f"the output folder {out} is inside the input folder {folder}: choose one outside of it")


def _refuse_outside(items: dict[Path, Path], out: Path) -> None:
    """Links in the output folder may lead elsewhere."""
    inside = os.path.realpath(out)
    for output in items:
        if not Path(real := os.path.realpath(output)).is_relative_to(inside):
            raise CapfstError(f"the output {output} would be {real}, outside of {out}: remove the link")


def _refuse_overwriting(items: dict[Path, Path], out: Path, lm: str) -> None:
    sources = {os.path.realpath(file): file for file in items.values()}
    for output, file in items.items():
        real = os.path.realpath(output)
        if output == out / NAME:
            raise CapfstError(f"{file} has the name of the manifest in {out}: give it another one")
        if real == lm or real in sources:
            what = "the model" if real == lm else f"the input {sources[real]}"
            raise CapfstError(f"the output {output} would overwrite {what}: choose another output folder")
        above = next((parent for parent in output.parents if parent in items), None)
        if above is not None:
            raise CapfstError(f"{items[above]} would become {above}, a folder of {file}'s output: do one at a time")
