"""Command-line options: those of capfst/options.py as click options, those that several commands share, and types.

`options_of(RecaseOptions)` makes an option of each field, under the heading of its group in `--help`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import Field, fields
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from capfst import models
from capfst import options as op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def size(value: str) -> int:
    """Read an amount of memory, in bytes: 500M, 2G."""
    match = re.fullmatch(r"(\d{1,99}(?:\.\d+)?) ?(?:([kmgt])i?)?b?", value.lower())
    if not match:
        raise click.BadParameter(f"{value!r} is not an amount of memory. Use a number such as 500M or 2G.")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


def weights(value: str) -> tuple[float, ...]:
    """Read a weight for each model: 0.7,0.3."""
    try:
        return tuple(map(float, value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers. Use numbers such as 0.7,0.3.") from None


def cutoffs(value: str) -> tuple[int, ...]:
    """Read a count for each order of n-grams, from 1: 0,0,1."""
    try:
        numbers = tuple(map(int, value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers. Use numbers such as 0,0,1.") from None
    if numbers[0] != 0 or list(numbers) != sorted(numbers):
        raise click.BadParameter(f"{value} is not in ascending order from 0. Use numbers such as 0,0,1.")
    if numbers[-1] >= 1 << 63:
        raise click.BadParameter(f"{value} is too large. Use numbers less than 2^63.")
    return numbers


class File(click.Path):
    """The path of a file."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if not value:  # which would be the current folder
            self.fail("the name is empty. Name a file.", param, context)
        return super().convert(value, param, context)


class Model(File):
    """A model: its file, the name of a bundled model, or a language that one knows."""

    def __init__(self) -> None:
        super().__init__(readable=False)
        self.name = "model"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        return models.named(super().convert(value, param, context))


FILE, MODEL = File(path_type=Path), Model()
CORPUS = click.Path(readable=False)  # or a folder or a pattern, and its language

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
OTHER = "Other"


class Option(click.Option):
    """An option with the heading under which `--help` lists it, and the options that exclude it.

    Args:
        call: the one of `CALLS` that it makes, or its own name.
        excludes: calls and options with which it cannot be used.
        limited: the values for which this holds, if not for all but the default.
        requires: the option without which it cannot be used.
    """

    def __init__(
        self, *args: Any, group: str = "Options", call: str = "", excludes: tuple[str, ...] = (),
        limited: tuple[str, ...] = (), requires: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **kwargs)
        self.show_default = kwargs.get("default") is not None and not isinstance(kwargs["default"], bool)
        self.group, self.excludes, self.limited, self.requires = group, excludes, limited, requires
        self.calls, self.flag = {self.name, call}, [*self.opts, *self.secondary_opts][-1]

    def shown(self, context: click.Context) -> str:
        """Return it as it was given, with its value if that matters."""
        return f"{self.flag} {context.params[self.name or '']}" if self.limited else self.flag

    def is_given(self, context: click.Context) -> bool:
        """Return whether the command line has it, with a value for which its limits hold."""
        value = context.params[self.name or ""]
        if self.limited:
            return value in self.limited
        return value not in (None, ()) and value != self.get_default(context)


class Command(click.Command):
    """A command whose help lists its options by group, in the order in which the groups appear; it refuses options
    that exclude each other."""

    def invoke(self, ctx: click.Context) -> Any:
        given = _given(ctx)
        for option in given:
            for other in given:
                if option is not other and other.calls.intersection(option.excludes):
                    ctx.fail(f"{option.shown(ctx)} cannot be used with {other.flag}.")
            for needed in self.params:
                if isinstance(needed, Option) and option.requires in needed.calls and needed not in given:
                    ctx.fail(f"{option.flag} requires {needed.flag} {' or '.join(needed.limited)}".rstrip() + ".")
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                groups.setdefault(getattr(parameter, "group", OTHER), []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


def _given(context: click.Context) -> list[Option]:
    return [each for each in context.command.params if isinstance(each, Option) and each.is_given(context)]


def refuse_excluded(call: str, advice: str = "") -> None:
    """Raise a usage error if an option is given that cannot be used with this one of `CALLS`."""
    context = click.get_current_context()
    for option in _given(context):
        if call in option.excludes:
            context.fail(f"{option.shown(context)} cannot be used with {op.CALLS[call]}{advice}.")


command: Callable[..., Callable[[Callable[..., None]], click.Command]] = partial(click.command, cls=Command)
option: Callable[..., Decorator] = partial(click.option, cls=Option)
lm_option = option(
    "--lm",
    type=MODEL,
    default=models.DEFAULT,
    envvar=models.VARIABLE,
    show_envvar=True,
    help="Model: a file written by `capfst train`, the name of a bundled model, or a language of one, such as fr.",
)
output_option = option(
    "-o",
    "--output",
    type=FILE,
    help="File to write instead of stdout; compressed if it ends in .gz, .zst, .bz2 or .xz.",
)
model_output_option = option("-o", "--output", required=True, type=FILE, help="Model file to write.")
json_option = option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def together(*options: Decorator) -> Decorator:
    """Combine options into one decorator, in the order of `--help`."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def options_of(
    kind: type[op.RecaseOptions | op.TrainOptions | op.ServeOptions], *names: str, calls: tuple[str, ...] = ()
) -> Decorator:
    """Make a click option of each field; of those of these names only, if any; without those that one of these `CALLS`
    always refuses."""

    def is_refused(rules: Mapping[str, Any]) -> bool:
        return not rules["limited"] and any(call in rules["not_for"] for call in calls)

    chosen = (each for each in fields(kind) if not names or each.name in names)
    return together(*(_click_option(each, kind.GROUP) for each in chosen if not is_refused(each.metadata)))


def _click_option(field: Field[Any], group: str) -> Decorator:
    rules, default = field.metadata, field.default
    settings: dict[str, Any] = {name: rules[name] for name in ("help", "limited", "requires")}
    settings["group"] = rules["group"] or group
    settings["excludes"] = rules["not_for"] + rules["idle_with"]
    flag = op.flag_of(field)
    if rules["kind"] == "pair":
        flag, settings["default"] = f"{flag.replace('--no-', '--')}/{flag}", default
    elif isinstance(default, bool):
        settings |= {"flag_value": False, "default": True} if default else {"is_flag": True}
    elif rules["choices"]:
        settings |= {"type": click.Choice(rules["choices"]), "default": default}
    elif rules["kind"] in ("files", "names"):
        settings |= {"multiple": True, "metavar": rules["kind"][:-1].upper(), "type": _TYPES.get(rules["kind"])}
    elif rules["kind"] == "size" and isinstance(default, int):
        settings |= {"type": size, "default": f"{default >> 20}M"}
    else:
        number = click.FloatRange if "float" in str(field.type) else click.IntRange
        ranged = rules["least"] is not None
        settings["type"] = number(rules["least"], rules["most"]) if ranged else _TYPES.get(rules["kind"])
        settings["metavar"] = "N,N,…" if rules["kind"] == "cutoffs" else None
        if default == ():  # which click would try to convert
            settings["callback"] = lambda context, parameter, value: value or ()
        else:
            settings["default"] = default
    return option(flag, field.name, **settings)


_TYPES = {"size": size, "cutoffs": cutoffs, "file": FILE, "files": FILE, "model": MODEL}

jobs_option = options_of(op.TrainOptions, "jobs")
errors_option = options_of(op.TrainOptions, "errors")
encoding_option = options_of(op.TrainOptions, "encoding")
texts_options = options_of(op.TrainOptions, "field", "column", "delimiter", "encoding", "errors")
LATTICE = "lattice"
"""The format of word lattices and confusion networks, of which only the best path is recased."""


def formats_option(formats: tuple[str, ...], more: str = "") -> Decorator:
    """Make the option --format."""
    return option(
        "--format",
        type=click.Choice(formats),
        help="Format of subtitles, a transcript or the like, or the recognizer that wrote the JSON. transcript: JSON"
        f" with the same words in all fields that --field names. json: JSON with independent texts.{more} text: plain"
        " text, whatever it looks like.  [default: by the suffix and the content]",
        group=op.TEXT,
    )


format_option = formats_option(op.FORMATS)
field_option = options_of(op.TrainOptions, "field")
runner_options = together(
    option(
        "--runner",
        type=click.Choice(["local", "spark"]),
        default="local",
        help="Run on this machine or on Spark.",
        group=op.RUNNING,
        limited=("spark",),
    ),
    option(
        "--master",
        help="Spark master, such as local[2] or spark://host:7077; only with --runner spark.  [default: Spark's"
        " configuration]",
        group=op.RUNNING,
        requires="runner",
    ),
)


def translation_options(source: str, align: str, suffix: str = "", **settings: Any) -> Decorator:
    """Make the options --source and --align, given what they hold. suffix: of their flags."""
    settings["group"] = op.TRANSLATIONS
    needs = "Requires a model that `capfst train-bilingual` wrote."
    pairs = "0-0 1-2 …, source index first. Without it, only words that are the same in both texts are aligned."
    return together(
        option(f"--source{suffix}", "source", help=f"{source}. {needs}", **settings),
        option(f"--align{suffix}", "align", help=f"{align}: {pairs}", requires="source", **settings),
    )


def spark_session(runner: str, master: str | None) -> AbstractContextManager[SparkSession | None]:
    """Open a Spark session for one command; None for the local runner."""
    if runner == "local":
        return nullcontext()
    from capfst.spark.session import session

    return session(master)
