"""`capfst info`: a description of a model."""

from __future__ import annotations

import json

from capfst.cli.options import command, json_option, lm_option
from capfst.cli.streams import show
from capfst.models import Named


@command(short_help="Describe a model.")
@lm_option
@json_option
def info(lm: Named, as_json: bool) -> None:
    """Describe a model.

    Prints its signature, sizes, n-grams by order, and most ambiguous words; for a bundled model also its model card:
    the texts it was trained on, its scores and its limits.

    \b
    capfst info --lm cap.fst
    """
    from capfst import models
    from capfst.models.info import describe, render

    description = describe(models.open(lm))
    show(json.dumps(description, ensure_ascii=False) if as_json else render(description))
