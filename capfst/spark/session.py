"""Start a Spark session for one command, find the reason in Spark's errors, and send a Recaser to the executors.

Executors open the model on a shared file system, or Spark sends it to each once. Each Python worker of an executor maps
the file, so all workers of a machine share the memory.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkFiles
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from capfst.casing.user_words import loaded_entries
from capfst.exceptions import CapfstError, OptionError
from capfst.recaser import Recaser, reopen


@contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """Open a Spark session. master: `local[2]`, `spark://host:7077`, …; None: Spark's configured master.

    Raises:
        CapfstError: Spark does not start, or fails while the session is used.
        OptionError: the master is not of a kind that Spark knows.
    """
    if master and not re.match(r"local|yarn$|spark://|k8s://", master):
        raise OptionError(f"`master` is {master!r}. Use local[2], spark://host:7077, yarn or k8s://https://host:443.")
    # Spark's default is the first python3 on the PATH, which may lack capfst.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs every call
    builder = SparkSession.builder.appName("capfst").config("spark.ui.showConsoleProgress", "false")
    # From Python 3.11 on, workers do not import modules from the folder in which they are started.
    builder = builder.config("spark.executorEnv.PYTHONSAFEPATH", "1")
    try:
        spark = (builder.master(master) if master else builder).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise CapfstError(
            f"Spark does not start: {reason(error).rstrip('.')}. Install Java 17, and check `master`."
        ) from error
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    except (PySparkException, Py4JError) as error:
        raise CapfstError(reason(error)) from error
    finally:
        spark.stop()


def reason(error: Exception) -> str:
    """Return the message of the CapfstError that a task raised, or else the first line of Spark's own message."""
    text = str(error.java_exception.getMessage()) if hasattr(error, "java_exception") else str(error)
    ours = re.findall(r"^capfst[\w.]*\.\w*Error: (.*)", text, re.MULTILINE)
    return ours[-1] if ours else next((line for line in text.splitlines() if line.strip()), type(error).__name__)


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
        context = session.sparkContext
        if not any(file.endswith(f"/{name}") for file in context.listFiles):
            # Spark distinguishes files only by name, so each model needs its own.
            folder = tempfile.mkdtemp(prefix="capfst-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            link = Path(folder, name)
            link.symlink_to(path)
            context.addFile(link.as_uri())  # not a path: Spark would resolve the link, and use the name of its target
    return Sent(path, identity, settings, name)
