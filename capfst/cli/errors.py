"""`capfst errors`: the wrong words of recased text, by kind."""

from __future__ import annotations

import json
from pathlib import Path

import click

from capfst.cli.options import FILE, MODEL, command, json_option, option
from capfst.cli.streams import show
from capfst.models import Named


@command(short_help="Analyze the errors of recased text.")
@click.argument("reference", type=FILE)
@click.argument("hypothesis", type=FILE)
@option("--lm", type=MODEL, help="Model that determines kinds of words: OOV, unseen casing, ambiguous, ….")
@option("--html", type=FILE, help="Also write the report as an HTML file.")
@json_option
@option("--top", type=click.IntRange(0), default=30, show_default=True, help="Number of frequent wrong words to list.")
def errors(reference: Path, hypothesis: Path, lm: Named | None, html: Path | None, as_json: bool, top: int) -> None:
    """Analyze the errors of recased text.

    Compares HYPOTHESIS with REFERENCE: errors by shape and by kind of word, and the most frequent wrong words with
    examples in context.

    \b
    capfst errors cased.txt recased.txt --lm cap.fst --html errors.html
    """
    from capfst.evaluate.error_analysis import analyze_files
    from capfst.evaluate.error_page import page
    from capfst.recaser import load
    from capfst.system.atomic import check_output, writing

    if html:
        check_output(html, reference, hypothesis, lm, streams=True)
    analysis = analyze_files(references=reference, hypotheses=hypothesis, recaser=load(lm) if lm else None)
    if html:
        with writing(html) as file:
            file.write(page(analysis, top, (str(reference), str(hypothesis))).encode("utf-8", "replace"))
    show(json.dumps(analysis.to_dict(top), ensure_ascii=False) if as_json else analysis.text(top))
