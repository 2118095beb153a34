"""Spark: DataFrames, batches and training corpora, by the same code and to the same bytes as on one machine."""

from capfst.spark.dataframe import recase

__all__ = ["recase"]
