"""Runs the command of a script: where capfst raises an error, it ends with one line that tells it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from capfst.exceptions import CapfstError


def run(command: Callable[[], object]) -> None:
    try:
        command()
    except CapfstError as error:
        raise SystemExit(f"{Path(sys.argv[0]).name}: error: {error}") from None
