"""Measure a recognizer's language model that is trained on recased text.

    \b
    python scripts/experiments/recognizer_lm.py DATA WORK

Follows Beaufays & Strope (2013): a capitalization LM, trained on cased text of other domains (mismatched), recases the
in-domain text, of which only the lowercase is known, and a recognizer's LM is trained on the result. It is compared
with LMs of the same text in lower case and in true case. The last tenth of each in-domain file is held out. The files
are in the folder DATA; models and results (`results.md`, `results.txt`) are written to the folder WORK.

Measured on the held-out text, with line ends counted as words, and unknown words as <unk>:

\b
* words: perplexity of the lowercase words. A cased LM assigns a word
  sequence the sum of the probabilities of its casings (a forward pass),
  so this measure compares all LMs.
* true case: perplexity of the cased text; only for cased LMs.
* recased: perplexity of the held-out text as recased by the mismatched LM.
* unknown words: percentage of words of which the LM has no surface form;
  unknown forms: percentage of those whose true form the LM lacks.
* accuracy, F1, CER: of the held-out text, lowercased and recased by this
  LM, with each line as a sentence.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from helpers.corpora import heads, quick_option
from helpers.markdown import table

import capfst
from capfst.cli.exit_status import exit_status
from capfst.evaluate.perplexity import perplexity
from capfst.evaluate.score import aligned, score, show
from capfst.fst.write import ArcArray, StateArray
from capfst.io.blocks import read_blocks
from capfst.kernels import allocating
from capfst.kernels.types import BoolArray, U32Array, f64, i64
from capfst.lm.query import step
from capfst.text.tokenizer import NEWLINE
from capfst.text.unicode import lower_bytes

IN_DOMAIN = ("taskmaster_dialogs.txt.zst", "earnings_calls.txt.zst")
MISMATCHED = ("speech_press_conferences.txt.zst", "state_union.txt.zst", "usgov_web.txt.zst", "masc.txt.zst")
QUICK = 1_000
"""Number of lines taken from each file with --quick."""
HEAD = (
    "LM trained on",
    "n-grams",
    "perplexity: words",
    "true case",
    "recased",
    "% unknown words",
    "% unknown forms",
    "accuracy",
    "F1",
    "CER",
)


@allocating
def forward(
    states: StateArray, arcs: ArcArray, start: i64, first: U32Array, forms: U32Array, ends: BoolArray, unknown: i64
) -> f64:
    """Return −ln P of the words of sentences, summed over all casings (the forward algorithm).

    first, forms: [T], the label of each word's first surface form, and the number of its forms; a word without forms
    has the label `unknown`. ends: bool[T], whether it is the end of a sentence.
    """
    total = 0.0
    reached, costs = np.array([start], np.int64), np.zeros(1)  # states, and −ln P of all paths to each state
    for t in range(len(first)):
        label, number = (unknown, 1) if forms[t] == 0 else (np.int64(first[t]), np.int64(forms[t]))
        if ends[t]:
            label, number = np.int64(0), np.int64(1)
        after, sums = np.empty(len(reached) * number, np.int64), np.empty(len(reached) * number)
        n = 0
        for k in range(len(reached)):
            for form in range(label, label + number):
                cost, state = step(states, arcs, reached[k], form)
                cost += costs[k]
                if cost == np.inf:
                    continue
                slot = 0
                while slot < n and after[slot] != state:
                    slot += 1
                if slot == n:
                    after[n], sums[n] = state, cost
                    n += 1
                else:
                    less, more = min(cost, sums[slot]), max(cost, sums[slot])
                    sums[slot] = less - np.log1p(np.exp(less - more))
        if ends[t]:
            total += sums[0] if n else np.inf
            reached, costs = np.array([start], np.int64), np.zeros(1)
        else:
            reached, costs = after[:n], sums[:n]
    return total


def words_perplexity(recaser: capfst.Recaser, text: bytes) -> tuple[float, float]:
    """Return the perplexity of the words of lines, summed over casings, and the percentage of words without a form."""
    loaded = recaser.pipeline.loaded
    words = loaded.transducer.words(np.frombuffer(text, np.uint8))
    model, ends = recaser.model, words.token_types == NEWLINE
    cost = forward(model.states, model.arcs, model.start, words.first_labels, words.n_forms, ends, loaded.lm.unknown)
    return float(np.exp(cost / len(ends))), _percent(words.n_forms[~ends] == 0)


def text_perplexity(recaser: capfst.Recaser, text: bytes) -> tuple[float, float]:
    """Return the perplexity of cased lines, and the percentage of words that are <unk>."""
    loaded = recaser.pipeline.loaded
    labels, model, unknown = loaded.labels(text), recaser.model, loaded.lm.unknown
    measured = perplexity(model.states, model.arcs, model.start, [labels], unknown)
    return measured.including_oov, _percent(labels[labels > 0] == unknown)


def _percent(flags: npt.NDArray[np.bool_]) -> float:
    return float(100 * flags.mean())


def split(files: list[Path]) -> tuple[bytes, bytes]:
    """Return the in-domain text to train on, and the held-out text."""
    training, held_out = b"", b""
    for file in files:
        lines = b"".join(read_blocks([file])).splitlines(keepends=True)
        tenth = max(1, len(lines) // 10)
        training += b"".join(lines[:-tenth])
        held_out += b"".join(lines[-tenth:])
    return training, held_out


def row(name: str, model: Path, ngrams: int, held_out: bytes, recased: bytes, cased: bool) -> tuple[str, ...]:
    recaser = capfst.load(model, sentence_case=True, input_case="ignore")
    lowered = lower_bytes(held_out)
    words, unknown_words = words_perplexity(recaser, lowered)
    texts = [text_perplexity(recaser, text) for text in (held_out, recased)] if cased else [(None, None)] * 2
    recased_lines = bytes(recaser.pipeline.recase_utf8(lowered)).splitlines()
    scores = score(references=held_out.splitlines(), hypotheses=recased_lines)
    perplexities = (show(value, ".1f") for value in (words, texts[0][0], texts[1][0]))
    rates = map(show, (unknown_words, texts[0][1], scores.accuracy, scores.f1, scores.capitalization_error_rate))
    return name, f"{ngrams:,}", *perplexities, *rates


def run(
    in_domain: list[Path], mismatched: list[Path], work: Path, order: int, max_ngrams: int | None
) -> list[tuple[str, ...]]:
    """Train and measure all LMs; return the rows of the table."""
    truth, held_out = split(in_domain)
    model = work / "mismatched.fst"
    trained = capfst.train(mismatched, model, order=order, max_ngrams=max_ngrams, context=False)
    capitalizer = capfst.load(model, sentence_case=True, input_case="ignore")
    recased = bytes(capitalizer.pipeline.recase_utf8(lower_bytes(held_out)))
    rows = [row("mismatched text", model, sum(trained.ngrams), held_out, recased, True)]
    texts = {
        "lowercase": lower_bytes(truth),
        "recased": bytes(capitalizer.pipeline.recase_utf8(lower_bytes(truth))),
        "true case": truth,
    }
    for name, text in texts.items():
        (work / f"{name}.txt").write_bytes(text)
        model = work / f"{name}.fst"
        # A recognizer's LM is trained on every line, even if the line does not look like a well-cased sentence.
        trained = capfst.train(work / f"{name}.txt", model, order=order, clean=False, context=False)
        cased = name != "lowercase"
        rows.append(row(f"in-domain, {name}", model, sum(trained.ngrams), held_out, recased, cased))
    return rows


@click.command(help=__doc__)
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("work", type=click.Path(path_type=Path))
@click.option(
    "--in-domain", multiple=True, default=IN_DOMAIN, show_default=True, help="File of in-domain text (repeatable)."
)
@click.option(
    "--mismatched", multiple=True, default=MISMATCHED, show_default=True, help="File of mismatched text (repeatable)."
)
@click.option("--order", default=3, show_default=True, help="Length of the longest n-grams of all LMs.")
@click.option("--max-ngrams", type=int, help="Prune the mismatched LM to this many n-grams.  [default: do not prune]")
@quick_option
def main(
    data: Path, work: Path, in_domain: list[str], mismatched: list[str], order: int, max_ngrams: int | None, quick: bool
) -> None:
    work.mkdir(parents=True, exist_ok=True)
    files, others = ([data / name for name in names] for names in (in_domain, mismatched))
    if quick:
        files, others = heads(files, QUICK, work), heads(others, QUICK, work)
    rows = run(files, others, work, order, max_ngrams)
    printed = aligned([HEAD, *rows])
    (work / "results.md").write_text(f"{table(HEAD, rows)}\n", "utf-8")
    (work / "results.txt").write_text(f"{printed}\n", "utf-8")
    print(printed)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
