"""`capfst perplexity`: cased text under a model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from capfst.cli.options import FILE, command, errors_option, json_option, lm_option
from capfst.cli.streams import read_text, show
from capfst.models import Named


@command(short_help="Print the perplexity of cased text.")
@click.argument("files", nargs=-1, type=FILE)
@lm_option
@json_option
@errors_option
def perplexity(files: tuple[Path, ...], lm: Named, as_json: bool, errors: str) -> None:
    """Print the perplexity of cased text under a model, with and without OOV words, as KenLM's `query` does.

    The text is that of FILES, or of stdin.

    \b
    capfst perplexity --lm cap.fst held-out.txt
    """
    from capfst.evaluate.perplexity import perplexity as measure
    from capfst.io.blocks import ended
    from capfst.recaser import load

    loaded = load(lm).pipeline.loaded
    model = loaded.model
    labels = (loaded.labels(ended(block), as_learned=True) for block in read_text(files, errors))
    result = measure(model.states, model.arcs, model.start, labels, loaded.lm.unknown)
    if as_json:
        show(json.dumps(result._asdict()))
    else:
        show(f"Perplexity including OOVs:\t{result.including_oov:.6f}")
        show(f"Perplexity excluding OOVs:\t{result.excluding_oov:.6f}")
        show(f"OOVs:\t{result.oov}\nTokens:\t{result.tokens}")
