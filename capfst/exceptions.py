"""Errors that users can act on: the problem, its place, and a remedy, in one line.

A message is `FILE, line N: problem: detail. Remedy.`, as far as it has these parts. It begins in lower case or with
a name; remedies are sentences. Options are arguments in backticks, such as `order` or `errors='replace'`, which the
command line turns into flags (`options.with_flags`); other commands and code in backticks stay as they are.
"""

import errno
import re


def one_line(text: str) -> str:
    """Return the text with control characters, which file names may contain, as escapes."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda found: ascii(found[0])[1:-1], text)


_LONGEST, _REMEDY = 1000, 300  # characters of a message, and of its end


def shortened(message: str) -> str:
    """Return a message without the middle of a long text that it quotes: its place and its remedy stay."""
    is_long = len(message) > _LONGEST
    return f"{message[: _LONGEST - _REMEDY]} … {message[-_REMEDY:]}" if is_long else message


def quantity(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 line`, `2,000 lines`. plural: if it is not the noun and an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def with_remedy(error: OSError) -> str:
    """Return why a file cannot be used, and what to do."""
    is_limit = error.errno in (errno.EMFILE, errno.ENFILE)
    remedy = "Use fewer --jobs, or raise the limit (`ulimit -n`)" if is_limit else "Check the path and its permissions"
    return f"{error.strerror or error}. {remedy}."


class CapfstError(Exception):
    """An error in the user's input or environment. The command line prints it as one line and exits with status 1."""

    __module__ = "capfst"  # where users import it from, and what a traceback shows

    def __str__(self) -> str:
        return shortened(one_line(super().__str__()))


def missing_extra(problem: str, extra: str, then: str = "") -> CapfstError:
    """Return the error for optional packages that are not installed: those of an extra of pyproject.toml.

    pip adds an extra to the installed capfst, also if that came from a checkout or a wheel, and not from an index.
    """
    return CapfstError(f"{problem}. Run `pip install 'capfst[{extra}]'`{then}.")


class ModelError(CapfstError):
    """A model that is missing, damaged, or lacks what the call needs."""

    __module__ = "capfst"


class CorpusError(CapfstError):
    """Text, a corpus or another input file that cannot be used."""

    __module__ = "capfst"


class OptionError(CapfstError, ValueError):
    """An option whose value is unsupported, or options that exclude each other."""

    __module__ = "capfst"
