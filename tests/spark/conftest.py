"""One Spark session with two threads for all tests of Spark, which run in one process."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import java
from support.spark import CORPUS, PROSE, SETTINGS

import capfst

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the environment variables that give Spark a Java and the settings."""
    settings = " ".join(f"--conf '{key}={value}'" for key, value in SETTINGS.items())
    tests = str(Path(__file__).parent.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{settings} pyspark-shell")
        patch.setenv("PYTHONPATH", tests, prepend=os.pathsep)  # for support.spark_daemon
        for name, value in java.environment(tmp_path_factory.mktemp("java") / "java").items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(environment: None) -> "Iterator[SparkSession]":
    from capfst.spark.session import session  # noqa: PLC0415

    with session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of all kinds, which tests read in several parts."""
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "a.txt").write_bytes(b"\xef\xbb\xbf" + CORPUS.encode() * 3)
    (corpus / "b.txt").write_text(CORPUS[:-1], "utf-8")
    (corpus / "c.txt.gz").write_bytes(gzip.compress(CORPUS[60:].encode()))
    (corpus / "d.txt").write_text("all of this is rejected\n")
    return corpus


@pytest.fixture(scope="session")
def prose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prose") / "prose.txt"
    path.write_text(PROSE, "utf-8")
    return path


@pytest.fixture(scope="session")
def model(corpus: Path, prose: Path) -> Path:
    """Return a model with enough words for its context model to matter."""
    path = prose.with_name("cap.fst")
    capfst.train([corpus, prose], path)
    return path
