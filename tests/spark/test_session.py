"""Test that the reason is extracted from the text of a Spark error. These tests do not start Spark."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.spark.session import reason, session


@pytest.mark.parametrize("kind", [CapfstError, CorpusError])
def test_the_reason_of_a_failed_task_is_the_message_of_its_error(kind: type[CapfstError]) -> None:
    raised = f"{kind.__module__}.{kind.__qualname__}: there is no model m.fst. Make one."
    text = f"An exception was thrown from the Python worker.\nTraceback:\n  File x\n{raised}\n\n\tat org.apache.spark"
    assert reason(Exception(text)) == "there is no model m.fst. Make one."
    assert reason(Exception("\njava.lang.Error: first line\nsecond line")) == "java.lang.Error: first line"


@pytest.mark.parametrize("master", ["nosuch", "http://host", "yarns"])
def test_a_master_that_spark_does_not_know_is_refused_before_java_starts(master: str) -> None:
    with pytest.raises(OptionError, match=f"`master` is '{master}'"), session(master):
        pass
