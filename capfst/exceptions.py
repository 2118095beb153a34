"""The one exception that users see: what went wrong, where, and what to do about it."""


class CapfstError(Exception):
    """An error in the user's input or environment. The command line prints it as one line and exits with status 1."""

    __module__ = "capfst"  # where users find it, and what a traceback shows
