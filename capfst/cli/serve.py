"""`capfst serve`: a service that recases text over HTTP."""

import gc
from typing import Any

import click

from capfst import models
from capfst.cli import options as cli
from capfst.cli.streams import note
from capfst.exceptions import missing_extra
from capfst.options import ServeOptions
from capfst.system.budget import keep_freed_memory


class _NamedModel(cli.Model):
    """A model and its name in requests: NAME=PATH, or the name of a bundled model or language."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        name, separator, path = value.rpartition("=")
        if name and separator:
            return name, super().convert(path, param, context)
        return _named(super().convert(value, param, context))


def _named(lm: models.Named) -> tuple[str, models.Named]:
    return lm.language or lm.path.stem, lm


@cli.command(short_help="Recase text over HTTP, and show a page to try it.")
@cli.option(
    "--lm",
    "lms",
    type=_NamedModel(),
    metavar="[NAME=]MODEL",
    multiple=True,
    help="Model, with its name in requests: a file written by `capfst train`, the name of a bundled model, or a"
    " language of one, such as fr (repeatable). Requests that name none use the first.  [default: en, or the model that"
    " CAPFST_LM names]",
)
@cli.options_of(ServeOptions)
@cli.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def serve(lms: tuple[tuple[str, models.Named], ...], quiet: bool, **options: Any) -> None:
    """Recase text over HTTP until Ctrl-C. The address has a page to try it, and /docs describes the requests.

    \b
    capfst serve
    capfst serve --lm en --lm news=news.fst --port 8080
    curl -H 'content-type: application/json' -d '{"text": "new york"}' localhost:8000/recase
    """
    limits = ServeOptions(**options)
    lms = lms or (_named(models.named()),)
    names = [name for name, _ in lms]
    if len(set(names)) < len(names):
        raise click.UsageError(f"--lm has the same name twice: {', '.join(names)}. Use NAME=PATH.")
    try:
        from capfst.serve.server import serve as run
    except ModuleNotFoundError as error:
        raise missing_extra("capfst serve needs more packages", "serve") from error
    from capfst.recaser import load

    recasers = {name: load(path) for name, path in lms}
    keep_freed_memory()
    gc.freeze()  # models stay
    run(recasers, limits, lambda address: note(f"serving {', '.join(names)} on {address}", quiet))
