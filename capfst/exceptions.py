"""The one exception that users see: what went wrong, where, and what to do about it."""

import re


def one_line(text: str) -> str:
    """The text with its control characters, which names of files may have, as escapes."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda found: ascii(found[0])[1:-1], text)


class CapfstError(Exception):
    """An error in the user's input or environment. The command line prints it as one line and exits with status 1."""

    __module__ = "capfst"  # where users find it, and what a traceback shows

    def __str__(self) -> str:
        return one_line(super().__str__())
