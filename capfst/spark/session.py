"""Start a Spark session for one command, and find the reason in Spark's errors."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from capfst.exceptions import CapfstError, OptionError


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
