"""Check which files, numbers and options a message names, whatever its wording."""

import re


def names(message: str, *details: str) -> bool:
    """Return whether a message contains each detail, and not only as part of a longer word or path."""
    return all(re.search(rf"(?<![\w./*-]){re.escape(detail)}(?![\w/*-])", message) for detail in details)
