"""A Spark session for one command, and what its errors say."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from capfst.errors import CapfstError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
