"""Recasing on Spark: a column of a DataFrame, by the same code and model as on one machine.

In: a DataFrame, the name of a column of text, a model. Out: a DataFrame of the same schema, whose rows are recased when
Spark evaluates it. Rows go through Python in Arrow's layout. Executors need capfst of the same version; `model.py` says
how they get the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from capfst.exceptions import CapfstError
from capfst.io.arrow import recase_array
from capfst.recaser import load
from capfst.spark.shipping import Sent, send


def recase(
    df: DataFrame, column: str, lm: str | os.PathLike[str], *, ship: bool | None = None, **options: Any
) -> DataFrame:
    """The DataFrame with the strings of `column` in their best casing; nulls, other columns and the schema stay.

    Args:
        df: the rows to recase, when Spark wants them.
        column: the name of a column of strings.
        lm: the model's path.
        ship: whether Spark sends the model to the executors; False if they see `lm` under the same path, as on a shared
            file system. By default it is sent unless Spark runs on this machine alone.
        options: those of `capfst.load`.

    Raises:
        CapfstError: no such column of strings, or a model or options that cannot be used.
    """
    types = {field.name: field.dataType.typeName() for field in df.schema.fields}
    if types.get(column) != "string":
        problem = f"is of type {types[column]}" if column in types else f"is not among {', '.join(types)}"
        raise CapfstError(f"column {column!r} {problem}: name a column of strings")
    sent = send(df.sparkSession, load(lm, **options), ship=ship)
    return df.mapInArrow(partial(_recase_batches, sent, column), df.schema)


def _recase_batches(sent: Sent, column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    recaser = sent.recaser()
    for batch in batches:
        number = batch.schema.get_field_index(column)
        columns = [
            recase_array(recaser.pipeline.recase_utf8, array) if k == number else array
            for k, array in enumerate(batch.columns)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)
