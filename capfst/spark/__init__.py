"""Spark: recase DataFrames and batches, and read training corpora; the results are the same bytes as on one machine.

`dataframe` recases a column, `batch` files, and `corpus` reads a corpus to train on. `session` starts Spark for a
command, and sends models to the executors. Importing this package needs pyspark; the rest of capfst imports
it only when Spark is used.
"""

from capfst.exceptions import missing_extra

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise missing_extra("Spark is not installed", "spark") from error

from capfst.spark.dataframe import recase

__all__ = ["recase"]
