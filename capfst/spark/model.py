"""A Recaser on its way to the executors: in place, from a shared file system, or sent by Spark, once to each executor.

Each Python worker of an executor maps the files, so that all of them share their memory.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capfst.context.model import path_of
from capfst.recaser import Recaser, reopen

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Sent:
    """A Recaser on its way to the executors."""

    path: str
    identity: str
    options: tuple[tuple[str, Any], ...]
    name: str | None  # of the file that Spark has sent; None: `path` is to be used in place

    def recaser(self) -> Recaser:
        """The Recaser, which a worker process opens once."""
        from pyspark import SparkFiles  # noqa: PLC0415  (an optional part, as everywhere here)

        return reopen(SparkFiles.get(self.name) if self.name else self.path, self.identity, self.options)


def send(session: SparkSession, recaser: Recaser, *, ship: bool | None = None) -> Sent:
    """Makes a Recaser known to the executors of a session. ship: as in `recase`."""
    path, identity, settings = recaser.__reduce__()[1]
    if ship is None:
        ship = not str(session.sparkContext.master).startswith("local")
    name = None
    if ship:
        name = f"capfst-{identity}.fst"
        _ship(session.sparkContext, Path(path), name)
        if recaser.context is not None:
            _ship(session.sparkContext, path_of(path), path_of(name).name)
    return Sent(path, identity, settings, name)


def _ship(context: SparkContext, path: Path, name: str) -> None:
    """Has Spark send a file, once, to each executor that gets a task, where it has this name."""
    if not any(file.endswith(f"/{name}") for file in context.listFiles):
        # Spark tells files apart by their names alone, so that each model needs one of its own.
        folder = tempfile.mkdtemp(prefix="capfst-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        link = Path(folder, name)
        link.symlink_to(path)
        context.addFile(link.as_uri())  # not its path, of which Spark would follow the link to another name
