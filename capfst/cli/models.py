"""`capfst models`: the bundled models."""

from __future__ import annotations

from capfst.cli.options import command
from capfst.cli.streams import show


@command(short_help="List the bundled models.")
def models() -> None:
    """List the bundled models, which need no training. `capfst info --lm en` describes one of them.

    \b
    capfst models
    """
    from capfst.models import card, find, names

    for name in names():
        path = find(name)
        described = card(path)
        assert described
        show(f"{name:<6} {path.stat().st_size / 1e6:5.1f} MB  {described['about']}\n{'':<6} {path}")
