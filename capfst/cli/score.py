"""`capfst score`: accuracy of recased text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from capfst.cli.options import FILE, MODEL, command, json_option, option
from capfst.cli.streams import show
from capfst.models import Named


@command(short_help="Score recased text against its reference.")
@click.argument("reference", type=FILE)
@click.argument("hypotheses", nargs=-1, required=True, type=FILE)
@option("--lm", type=MODEL, help="Also score words inside and outside the vocabulary of this model.")
@option("--skip-first", is_flag=True, help="Leave out the first word of each line: its capital may be positional.")
@option("--align", is_flag=True, help="Align words, which may differ (recognition, translation), and print WER.")
@json_option
def score(
    reference: Path, hypotheses: tuple[Path, ...], lm: Named | None, skip_first: bool, align: bool, as_json: bool
) -> None:
    """Score recased text against its reference.

    Prints accuracy, precision, recall, F1 and capitalization error rate of HYPOTHESES. With several hypotheses, also
    the significance of each difference from the first.

    \b
    capfst score cased.txt recased.txt
    capfst score --align transcripts.txt recognized.txt
    """
    from capfst.evaluate.bootstrap import compare_hypotheses
    from capfst.evaluate.score import score_files
    from capfst.recaser import load

    options: dict[str, Any] = {
        "skip_first": skip_first,
        "in_vocabulary": load(lm).knows if lm else None,
        "align": align,
    }
    if len(hypotheses) == 1:
        result = score_files(references=reference, hypotheses=hypotheses[0], **options)
        show(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.table())
    else:
        comparison = compare_hypotheses(references=reference, hypotheses=hypotheses, **options)
        show(json.dumps(comparison.to_dict(), ensure_ascii=False) if as_json else comparison.table())
