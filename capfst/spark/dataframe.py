"""Recase a column of a DataFrame on Spark, by the same code and model as on one machine.

Input: a DataFrame, the name of a text column, and a model. Output: a DataFrame of the same schema, whose rows are
recased when Spark evaluates it. Executors need the same version of capfst; `session.py` sends them the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from capfst.exceptions import CorpusError
from capfst.recaser import Recaser, load
from capfst.spark.session import Sent, send


def recase(
    df: DataFrame, column: str, lm: str | os.PathLike[str], *, ship: bool | None = None, **options: Any
) -> DataFrame:
    """Return the DataFrame with the strings of `column` recased; nulls, other columns and the schema do not change.

    Args:
        df: the rows to recase.
        column: the name of a string column.
        lm: the path of the model.
        ship: True: Spark sends the model to the executors. False: they read it under the same path, as on a shared file
            system. Default: True unless Spark runs only on this machine.
        options: those of `capfst.load`.

    Raises:
        CorpusError: there is no string column of this name.
        ModelError: the model cannot be used.
        OptionError: an option has an unsupported value.
    """
    types = {field.name: field.dataType.typeName() for field in df.schema.fields}
    if types.get(column) != "string":
        problem = f"is of type {types[column]}" if column in types else f"is not among {', '.join(types)}"
        raise CorpusError(f"column {column!r} {problem}. Name a string column.")
    sent = send(df.sparkSession, load(lm, **options), ship=ship)
    return df.mapInArrow(partial(_recase_batches, sent, column), df.schema)


def _recase_batches(sent: Sent, column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    recaser = sent.recaser()
    for batch in batches:
        number = batch.schema.get_field_index(column)
        columns = [_recased(recaser, array) if k == number else array for k, array in enumerate(batch.columns)]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _recased(recaser: Recaser, rows: pa.Array) -> pa.Array:
    try:
        texts = {"": rows.to_pylist()}
    except UnicodeDecodeError as error:
        raise CorpusError(f"a column of text is not UTF-8 ({error}). Convert the text before recasing it.") from error
    return pa.array(recaser.batch("")(texts)[""], rows.type)
