"""Make a Recaser available to executors: they open its file on a shared file system, or Spark sends it to each once.

Each Python worker of an executor maps the file, so all workers of a machine share the memory.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession

from capfst.casing.user_words import loaded_entries
from capfst.recaser import Recaser, reopen


@dataclass(frozen=True)
class Sent:
    """The data that an executor needs to open a Recaser."""

    path: str
    identity: str  # from `recaser.identity`: the file must be the one that the driver opened
    options: tuple[tuple[str, Any], ...]
    name: str | None  # of the file that Spark sends; None: the file is opened at `path`

    def recaser(self) -> Recaser:
        """Open the Recaser; a worker process does so only once."""
        return reopen(SparkFiles.get(self.name) if self.name else self.path, self.identity, self.options)


def send(session: SparkSession, recaser: Recaser, *, ship: bool | None = None) -> Sent:
    """Make a Recaser available to the executors of a session. ship: as in `recase`."""
    path, identity, settings = recaser.__reduce__()[1]
    if ship is None:
        ship = not str(session.sparkContext.master).startswith("local")
    name = None
    if ship:
        name = f"capfst-{identity}.fst"
        settings = tuple((key, loaded_entries(value) if key == "words" else value) for key, value in settings)
        _ship(session.sparkContext, Path(path), name)
    return Sent(path, identity, settings, name)


def _ship(context: SparkContext, path: Path, name: str) -> None:
    """Make Spark send a file, under this name, once to each executor that gets a task."""
    if not any(file.endswith(f"/{name}") for file in context.listFiles):
        # Spark distinguishes files only by name, so each model needs its own.
        folder = tempfile.mkdtemp(prefix="capfst-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        link = Path(folder, name)
        link.symlink_to(path)
        context.addFile(link.as_uri())  # not a path: Spark would resolve the link, and use the name of its target
