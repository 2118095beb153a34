"""Commands that measure: score, errors, perplexity."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from capfst.cli.options import FILE, MODEL, errors_option, lm_option
from capfst.cli.streams import read_text, show


@click.command()
@click.argument("reference", type=FILE)
@click.argument("hypotheses", nargs=-1, required=True, type=FILE)
@click.option("--lm", type=MODEL, help="Also score words in and out of the vocabulary of this model.")
@click.option("--skip-first", is_flag=True, help="Leave out each line's first word, whose capital may be positional.")
@click.option("--align", is_flag=True, help="Align words, which may differ (recognition, translation); print WER, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def score(
    reference: Path, hypotheses: tuple[Path, ...], lm: Path | None, skip_first: bool, align: bool, as_json: bool
) -> None:
    """Scores recased text against its reference.

    Prints accuracy, precision, recall, F1 and capitalization error rate of HYPOTHESES; if they are several, also the
    significance of their differences from the first.

    \b
    capfst score cased.txt recased.txt
    capfst score --align transcripts.txt recognized.txt
    """
    from capfst.evaluate.bootstrap import compare_hypotheses
    from capfst.evaluate.score import score_files
    from capfst.recaser import load

    knows = load(lm).knows if lm else None
    if len(hypotheses) == 1:
        result = score_files(reference, hypotheses[0], skip_first, knows, align)
        show(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.table())
    else:
        comparison = compare_hypotheses(reference, hypotheses, skip_first, knows, align)
        show(json.dumps(comparison.to_dict(), ensure_ascii=False) if as_json else comparison.table())


@click.command()
@click.argument("reference", type=FILE)
@click.argument("hypothesis", type=FILE)
@click.option(
    "--lm", type=MODEL, help="Model by which to tell kinds of words: out of its vocabulary, unseen casing, ambiguous, …"
)
@click.option("--html", type=FILE, help="HTML file to write, beside what is printed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--top", type=click.IntRange(0), default=30, show_default=True, help="Number of most frequent wrong words to list."
)
def errors(reference: Path, hypothesis: Path, lm: Path | None, html: Path | None, as_json: bool, top: int) -> None:
    """Analyses what recased text gets wrong.

    Compares HYPOTHESIS with REFERENCE: errors by shape and by kind of word, and the most frequent wrong words with
    examples of their contexts.

    \b
    capfst errors cased.txt recased.txt --lm cap.fst --html errors.html
    """
    from capfst.evaluate.error_analysis import analyse_files
    from capfst.evaluate.error_page import page
    from capfst.recaser import load
    from capfst.system.atomic import refuse_to_replace, replacing

    if html:
        refuse_to_replace(html, reference, hypothesis, lm)
    analysis = analyse_files(reference, hypothesis, load(lm) if lm else None)
    if html:
        with replacing(html) as file:
            file.write(page(analysis, top, (str(reference), str(hypothesis))).encode("utf-8", "replace"))
    show(json.dumps(analysis.to_dict(top), ensure_ascii=False) if as_json else analysis.text(top))


@click.command()
@click.argument("files", nargs=-1, type=FILE)
@lm_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@errors_option
def perplexity(files: tuple[Path, ...], lm: Path, as_json: bool, errors: str) -> None:
    """Prints the perplexity of cased text under a model.

    With and without OOV words, as KenLM's `query` has it. The text is that of FILES, or of stdin.

    \b
    capfst perplexity --lm cap.fst held-out.txt
    """
    from capfst.evaluate.perplexity import perplexity as measure
    from capfst.io.blocks import ended
    from capfst.recaser import load

    recaser = load(lm)
    model = recaser.model
    labels = (recaser.pipeline.loaded.labels(ended(block)) for block in read_text(files, errors))
    result = measure(model.states, model.arcs, model.start, labels, recaser.pipeline.loaded.lm.unknown)
    if as_json:
        numbers = {name: None if math.isnan(value) else value for name, value in result._asdict().items()}
        show(json.dumps(numbers))
    else:
        show(f"Perplexity including OOVs:\t{result.including_oov:.6f}")
        show(f"Perplexity excluding OOVs:\t{result.excluding_oov:.6f}")
        show(f"OOVs:\t{result.oov}\nTokens:\t{result.tokens}")


COMMANDS = score, errors, perplexity
