"""`capfst score`, `errors` and `perplexity`: how good recased text, or a model, is."""

import json
from pathlib import Path
from typing import Any

import click

from capfst.cli import options as cli
from capfst.cli.streams import read_text, show
from capfst.models import Named


@cli.command(short_help="Score recased text against its reference.")
@click.argument("reference", type=cli.FILE)
@click.argument("hypotheses", nargs=-1, required=True, type=cli.FILE)
@cli.option("--lm", type=cli.MODEL, help="Also score words inside and outside the vocabulary of this model.")
@cli.option("--skip-first", is_flag=True, help="Leave out the first word of each line: its capital may be positional.")
@cli.option("--align", is_flag=True, help="Align words, which may differ (recognition, translation), and print WER.")
@cli.json_option
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
    from capfst.evaluate.bootstrap import Comparison, compare_hypotheses
    from capfst.evaluate.score import Scores, score_files
    from capfst.recaser import load

    known = load(lm).knows if lm else None
    options: dict[str, Any] = {"skip_first": skip_first, "in_vocabulary": known, "align": align}
    result: Scores | Comparison
    if len(hypotheses) == 1:
        result = score_files(references=reference, hypotheses=hypotheses[0], **options)
    else:
        result = compare_hypotheses(references=reference, hypotheses=hypotheses, **options)
    show(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.table())


@cli.command(short_help="Analyze the errors of recased text.")
@click.argument("reference", type=cli.FILE)
@click.argument("hypothesis", type=cli.FILE)
@cli.option("--lm", type=cli.MODEL, help="Model that determines kinds of words: OOV, unseen casing, ambiguous, ….")
@cli.option("--html", type=cli.FILE, help="Also write the report as an HTML file.")
@cli.json_option
@cli.option("--top", type=click.IntRange(0), default=30, help="Number of frequent wrong words to list.")
def errors(reference: Path, hypothesis: Path, lm: Named | None, html: Path | None, as_json: bool, top: int) -> None:
    """Analyze the errors of recased text.

    Compares HYPOTHESIS with REFERENCE: errors by shape and by kind of word, and the most frequent wrong words with
    examples in context.

    \b
    capfst errors cased.txt recased.txt --lm cap.fst --html errors.html
    """
    from capfst.evaluate.error_analysis import analyze_files
    from capfst.recaser import load
    from capfst.system.atomic import check_output, writing

    if html:
        check_output(html, reference, hypothesis, lm, streams=True)
    analysis = analyze_files(references=reference, hypotheses=hypothesis, recaser=load(lm) if lm else None)
    if html:
        with writing(html) as file:
            file.write(analysis.html((str(reference), str(hypothesis)), top).encode("utf-8", "replace"))
    show(json.dumps(analysis.to_dict(top), ensure_ascii=False) if as_json else analysis.text(top))


@cli.command(short_help="Print the perplexity of cased text.")
@click.argument("files", nargs=-1, type=cli.FILE)
@cli.lm_option
@cli.json_option
@cli.errors_option
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
