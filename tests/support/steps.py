"""Count what Python does: work on whole arrays takes the same number of calls for any number of rows."""

import sys
from collections.abc import Callable


def n_calls(function: Callable[[], object]) -> int:
    """Return the number of calls of functions, also of C's, while a function runs."""
    n = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal n
        n += event.endswith("call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return n
