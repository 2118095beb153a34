"""`capfst export`: a model as an ARPA file."""

from __future__ import annotations

from pathlib import Path

from capfst.cli.options import FILE, command, lm_option, option
from capfst.models import Named


@command(short_help="Write a model as ARPA.")
@lm_option
@option("-o", "--output", required=True, type=FILE, help="ARPA file to write; compressed if it ends in .gz, .zst, ….")
def export(lm: Named, output: Path) -> None:
    """Write a model as ARPA, for other LM toolkits.

    \b
    capfst export --lm cap.fst -o model.arpa
    """
    from capfst.models.convert import export_arpa

    export_arpa(lm, output)
