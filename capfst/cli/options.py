"""Options that several commands have, and types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capfst import models

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Bytes(click.ParamType):
    """An amount of memory, in bytes: 500M, 2G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,99}(?:\.\d+)?)([kmgt]?)b?", str(value).lower())
        if not match:
            self.fail(f"{value!r} is not an amount of memory: write 500M or 2G", param, context)
        return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


class Cutoffs(click.ParamType):
    """A count for each order of n-grams, from 1: 0,0,1."""

    name = "n,n,…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[int, ...]:
        try:
            numbers = tuple(map(int, str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers: write 0,0,1", param, context)
        if numbers[0] != 0 or list(numbers) != sorted(numbers):
            self.fail(f"{value}: the first number must be 0, and none less than the one before: 0,0,1", param, context)
        if numbers[-1] >= 1 << 63:
            self.fail(f"{value}: no n-gram is counted so often", param, context)
        return numbers


class Weights(click.ParamType):
    """A weight for each model: 0.7,0.3."""

    name = "w,w,…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[float, ...]:
        try:
            return tuple(map(float, str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers: write 0.7,0.3", param, context)


class Model(click.ParamType):
    """A model: its file, or the name of a ready model."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Path:
        return value if isinstance(value, Path) else models.find(value)


FILE, MODEL = click.Path(path_type=Path), Model()

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

lm_option = click.option(
    "--lm",
    type=MODEL,
    default=models.DEFAULT,
    show_default=True,
    envvar=models.VARIABLE,
    show_envvar=True,
    help="Model: a file, as `capfst train` writes it, or the name of a ready model.",
)
model_output_option = click.option("-o", "--output", required=True, type=FILE, help="Model file to write.")
jobs_option = click.option("--jobs", type=click.IntRange(1), help="Number of threads.  [default: one for each core]")
errors_option = click.option(
    "--errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Bytes that are not UTF-8 are an error, or are replaced by U+FFFD.",
)
align_words_option = click.option(
    "--align-words",
    is_flag=True,
    help="Alignments count the words that `capfst tokenize` gives, not what white space separates.",
)


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order of `--help`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


casing_options = together(
    click.option(
        "--start-token",
        default="and",
        show_default=True,
        help="Word that stands before each line while it is recased, so that the line's first word gets no capital for"
        " its position.",
    ),
    click.option(
        "--sentence-case",
        is_flag=True,
        help="Take each line for a sentence, or several, and capitalize their first words too.",
    ),
    click.option(
        "--no-breaks",
        "breaks",
        flag_value=False,
        default=True,
        help="Take each line for one sentence: do not look for sentences that begin behind . ? ! or … inside it.",
    ),
    click.option(
        "--oov",
        type=click.Choice(["guess", "pass"]),
        default="guess",
        show_default=True,
        help="Words that the model has never seen: guess their case from their context, or leave them in lower case.",
    ),
    click.option(
        "--restore",
        type=click.Choice(["case", "diacritics", "both"]),
        help="Use the model only if this is what it restores.  [default: whatever it does]",
    ),
    click.option(
        "--no-context",
        "context",
        flag_value=False,
        default=True,
        help="Use the n-gram model alone, without its context model.",
    ),
    click.option(
        "--language",
        help="Language of the text, such as de, if the model knows several.  [default: found sentence by sentence]",
    ),
)
"""The options of `capfst.load` that say what casing is wanted."""

runner_options = together(
    click.option(
        "--runner",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Run on this machine or on Spark.",
    ),
    click.option(
        "--master",
        help="Spark master, such as local[2] or spark://host:7077; only with --runner spark.  [default: as Spark is"
        " configured]",
    ),
)


def spark_session(runner: str, master: str | None) -> AbstractContextManager[SparkSession | None]:
    """A Spark session for one command; None if it runs on this machine."""
    if runner == "local":
        if master:
            raise click.UsageError("--master is for --runner spark.")
        return nullcontext()
    from capfst.spark.session import session

    return session(master)
