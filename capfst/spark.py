"""Recasing on Spark: a column of a DataFrame, by the same code and model as on one machine.

In: a DataFrame, the name of a column of text, a model. Out: a DataFrame of the same schema; the work is done when Spark
wants its rows. Rows go through Python in Arrow's layout. Executors need capfst of the same version; the model and its
context model are read in place if they see their path, else Spark sends them to each of them once. Each Python worker
of an executor maps the files, so that all of them share their memory.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capfst.context.model import path_of
from capfst.errors import CapfstError
from capfst.reopen import reopen

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from capfst.recase import Recaser


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


def recase(
    df: DataFrame, column: str, lm: str | os.PathLike[str], *, ship: bool | None = None, **options: Any
) -> DataFrame:
    """The DataFrame with the strings of `column` in their best casing; nulls, other columns and the schema stay.

    lm: the model's path. options: as those of `capfst.load`. ship: whether Spark sends the model to the executors;
    False if they see `lm` under the same path, as on a shared file system. By default it is sent unless Spark runs
    on this machine alone.

    Raises:
        CapfstError: no such column of strings, or a model or options that cannot be used.
    """
    from capfst.recase import load  # noqa: PLC0415

    types = {field.name: field.dataType.typeName() for field in df.schema.fields}
    if types.get(column) != "string":
        found = f"is of type {types[column]}" if column in types else f"is not among {', '.join(types)}"
        raise CapfstError(f"column {column!r} {found}: name a column of strings")
    sent = send(df.sparkSession, load(lm, **options), ship=ship)
    return df.mapInArrow(partial(_recase_batches, sent, column), df.schema)


def _recase_batches(sent: Sent, column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa  # noqa: PLC0415

    from capfst.arrow import recase_array  # noqa: PLC0415

    recaser = sent.recaser()
    for batch in batches:
        number = batch.schema.get_field_index(column)
        columns = [
            recase_array(recaser.recase_utf8, array) if k == number else array for k, array in enumerate(batch.columns)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


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


@contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """A Spark session for one command. master: `local[2]`, `spark://host:7077`, …; None: as Spark is configured.

    What fails in Spark becomes a CapfstError.
    """
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError as error:
        raise CapfstError("Spark is not installed: pip install 'capfst[spark]'") from error
    from py4j.protocol import Py4JError  # noqa: PLC0415

    # Spark's default is the first python3 on the PATH, which may not be the one that has capfst.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # which tells of every call
    builder = SparkSession.builder.appName("capfst").config("spark.ui.showConsoleProgress", "false")
    try:
        spark = (builder.master(master) if master else builder).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise CapfstError(f"Spark does not start: {reason(error)}: it needs Java 17 and a --master") from error
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    except (PySparkException, Py4JError) as error:
        raise CapfstError(reason(error)) from error
    finally:
        spark.stop()


def reason(error: Exception) -> str:
    """What a task of ours said, else what Spark says."""
    text = str(error.java_exception.getMessage()) if hasattr(error, "java_exception") else str(error)
    ours = re.findall(r"^capfst\.errors\.CapfstError: (.*)", text, re.MULTILINE)
    return ours[-1] if ours else next((line for line in text.splitlines() if line.strip()), type(error).__name__)
