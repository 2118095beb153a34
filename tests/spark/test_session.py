"""Reasons are found in the text of Spark's errors. These tests do not start Spark."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from capfst.exceptions import CapfstError
from capfst.io.arrow import NotUtf8Error
from capfst.spark.session import reason


@pytest.mark.parametrize("kind", [CapfstError, NotUtf8Error])
def test_the_reason_of_a_task_that_has_failed(kind: type[CapfstError]) -> None:
    raised = f"{kind.__module__}.{kind.__qualname__}: the model m.fst is not there: make one"
    text = f"An exception was thrown from the Python worker.\nTraceback:\n  File x\n{raised}\n\n\tat org.apache.spark"
    assert reason(Exception(text)) == "the model m.fst is not there: make one"
    assert reason(Exception("\nJava says this\nand more")) == "Java says this"
