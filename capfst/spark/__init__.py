"""Spark: DataFrames, batches and training corpora, by the same code and to the same bytes as on one machine.

Importing this package needs pyspark; nothing else in capfst imports it before Spark is asked for.
"""

from capfst.exceptions import CapfstError

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise CapfstError("Spark is not installed: pip install 'capfst[spark]'") from error

from capfst.spark.dataframe import recase

__all__ = ["recase"]
