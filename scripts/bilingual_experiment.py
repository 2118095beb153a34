"""What does the source sentence tell of the case of its translation? (Wang, Knight & Marcu 2006)

    python scripts/bilingual_experiment.py [--data ../shared/data] [--quick] [--document docs/experiments.md]
    python scripts/bilingual_experiment.py --part ablation

English and French, and English and German software manuals, in both directions, as tokens, aligned by eflomal. Blocks
of successive pairs are held out. All models are trained on the other blocks:

* unigram: the most frequent form of each word;
* trigram: the best path through a trigram LM (`--no-context`);
* capfst: LM and context, which see the target alone;
* bilingual: also the source, and the alignment (`recase --source`);
* bilingual, unaligned: recased without the alignment, so that only words that are the same are aligned.

Tables: how many of the held-out words are right (the paper's precision) and F1; errors by size of the training text
(the paper's Figure 4); BLEU of a monotone phrase-based system, trained on lowercase text (phrase_based.py); and what
the case of a source word tells of the case of the words that it is aligned with. A word's tag is the paper's: IU
(initial capital), AU (all capitals), AL (all lower), MX (mixed), AN (no letter with case).

The ablation tells what each kind of features is worth: the weights are learned again without it, from 1,000 pairs of
English and French. It also prints how fast text is recased with its source.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple
from unittest.mock import patch

import click
import numpy as np
import numpy.typing as npt
from bitext import Links, Pair, align, read_bitext, spread, tokenized, turned
from document import fill
from experiments import RESAMPLES, bootstrap, data_option, overlap, quick_option, table, with_interval
from phrase_based import Decoder, PhraseTable
from sacrebleu.metrics.bleu import BLEU

import capfst
from capfst.bilingual import candidates, crf
from capfst.bilingual.classifier import learn_classifier
from capfst.bilingual.source_features import N_TEMPLATES
from capfst.casing.shapes import Shape
from capfst.evaluate.compare import CORRECT, TOKENS, compare
from capfst.evaluate.score import measures
from capfst.fst.read import CapFst
from capfst.recaser import Recaser
from capfst.text.unicode import lower
from capfst.training import bilingual as bilingual_training

LANGUAGES = ("fr", "de")
SIZES = (1_000, 5_000, 20_000)
ABLATED = 1_000
ABLATED_BITS = 21
TRANSLATED, QUICK_TRANSLATED, QUICK_PAIRS = 1500, 100, 5000
CASINGS = ("unigram", "trigram", "capfst", "bilingual")
UNALIGNED = "bilingual, unaligned"
TAGS = {Shape.CAPITALIZED: "IU", Shape.UPPER: "AU", Shape.LOWER: "AL", Shape.MIXED: "MX"}
"""AN is always right."""


class Aligned(NamedTuple):
    """Pairs (source, target), as tokens with spaces between, and their alignments."""

    pairs: list[Pair]
    links: list[Links]

    @property
    def sources(self) -> list[str]:
        return [source for source, _ in self.pairs]

    @property
    def targets(self) -> list[str]:
        return [target for _, target in self.pairs]

    def turned(self) -> Aligned:
        return Aligned(turned(self.pairs), [turned(links) for links in self.links])

    def spread(self, number: int) -> Aligned:
        """So many of them, evenly spread."""
        chosen = spread(list(zip(self.pairs, self.links, strict=True)), number)
        return Aligned([pair for pair, _ in chosen], [links for _, links in chosen])


def pairs_of(links: list[Links]) -> list[str]:
    """Alignments as text."""
    return [" ".join(f"{i}-{j}" for i, j in of_line) for of_line in links]


class Capitalizers:
    """The models of a training text, in a folder, and what they make of other text."""

    def __init__(self, training: Aligned, folder: Path, bilingual: bool = True) -> None:
        self.folder = folder
        text, source, links = self._write(training.targets, training.sources, training.links)
        self.unigram, self.trigram, self.bilingual = (folder / f"{name}.fst" for name in ("1", "3", "bilingual"))
        capfst.train(text, self.unigram, order=1, clean=False, context=False)
        capfst.train(text, self.trigram, clean=False)
        if bilingual:
            self._run("train-bilingual", "--lm", self.trigram, text, source, links, "-o", self.bilingual)

    def __call__(self, casing: str, lines: list[str], sources: list[str], links: list[Links]) -> list[str]:
        """The lowercase lines in a casing of CASINGS, or UNALIGNED: as sentences; the source tells how its translation
        begins."""
        if casing in ("bilingual", UNALIGNED):
            text, source, aligned = self._write(lines, sources, links)
            options = ("--source", source, *(() if casing == UNALIGNED else ("--align", aligned)))
            return self._run("recase", "--lm", self.bilingual, *options, text).split("\n")[:-1]
        model = self.unigram if casing == "unigram" else self.trigram
        return capfst.load(model, sentence_case=True, context=casing == "capfst")(lines)

    def _write(self, targets: list[str], sources: list[str], links: list[Links]) -> list[Path]:
        files = {"target.txt": targets, "source.txt": sources, "align.txt": pairs_of(links)}
        for name, lines in files.items():
            (self.folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        return [self.folder / name for name in files]

    def _run(self, *arguments: str | Path) -> str:
        command = [sys.executable, "-m", "capfst", *arguments, "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise click.ClickException(done.stderr.strip())
        return done.stdout


def counts(references: list[str], hypotheses: list[list[str]]) -> npt.NDArray[np.float64]:
    """float64[lines, hypotheses, counts], as `capfst score` counts."""
    return np.stack([np.concatenate([*compare(references, lines)]) for lines in hypotheses], axis=1).astype(np.float64)


def precision_rows(held_out: Aligned, recased: dict[str, list[str]], resamples: int) -> list[list[str]]:
    """Precision, its error against the trigram's, F1, and precision by tag, of each casing."""
    found = counts(held_out.targets, list(recased.values()))
    value, low, high = bootstrap(found, measures, resamples)
    errors, sums = 100 - value[:, 0], found.sum(axis=0)
    trigram = errors[list(recased).index("trigram")]
    rows = []
    for k, casing in enumerate(recased):
        precision, f1 = (with_interval(value[k, m], low[k, m], high[k, m], ".2f") for m in (0, 3))
        by_tag = (100 * sums[k, CORRECT + tag] / max(1, sums[k, TOKENS + tag]) for tag in TAGS)
        rows.append([casing, precision, f"{100 * (errors[k] / trigram - 1):+.0f} %", f1, *(f"{p:.2f}" for p in by_tag)])
    return rows


def errors_by_size(training: Aligned, held_out: Aligned, sizes: Sequence[int]) -> dict[int, list[float]]:
    """The percentage of wrong words of each casing, by the number of pairs in the training text."""
    found = {}
    lines = list(map(lower, held_out.targets))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            capitalizers = Capitalizers(training.spread(size), Path(folder))
            recased = [capitalizers(casing, lines, held_out.sources, held_out.links) for casing in CASINGS]
        found[size] = (100 - measures(counts(held_out.targets, recased).sum(axis=0))[:, 0]).tolist()
    return found


def translated(training: Aligned, sources: list[str], folder: Path) -> tuple[list[str], list[Links]]:
    """Lowercase translations of the sources by a phrase-based system of the training text, and their alignments."""

    def words(line: str) -> tuple[str, ...]:
        return tuple(lower(line).split())

    pairs = [(words(source), words(target)) for source, target in training.pairs]
    sentences = list(map(words, sources))
    text, model = folder / "lowercase.txt", folder / "lowercase.fst"
    text.write_text("\n".join(map(lower, training.targets)) + "\n", "utf-8")
    logging.getLogger("capfst").setLevel(logging.ERROR)  # which warns of text without capitals
    capfst.train(text, model, clean=False, pretokenized=True, context=False)
    decoder = Decoder(PhraseTable(pairs, training.links, sentences), CapFst.open(model))
    found = list(map(decoder.translate, sentences))
    return [" ".join(target) for target, _ in found], [links for _, links in found]


class Bleu:
    """BLEU of tokens, cased and case-insensitive."""

    def __init__(self, resamples: int) -> None:
        self.resamples = resamples
        self.cased = BLEU(tokenize="none", force=True)
        self.caseless = BLEU(tokenize="none", force=True, lowercase=True)

    def row(self, references: list[str], lowered: list[str], recased: dict[str, list[str]]) -> list[str]:
        """Of the lowercase lines, of each casing, and of the perfect one; how far capfst and bilingual go from the
        trigram to that; what bilingual's way lacks for the place of words (moved_first_words)."""
        cased = [lowered, *recased.values()]
        scores = [self.cased.corpus_score(lines, [references], n_bootstrap=self.resamples) for lines in cased]
        scores.append(self.caseless.corpus_score(lowered, [references], n_bootstrap=self.resamples))
        trigram, perfect = scores[2].score, scores[-1].score
        ways = (100 * (score.score - trigram) / (perfect - trigram) for score in scores[3:-1])
        return [*(f"{score.score:.1f} ± {score._ci:.1f}" for score in scores), *(f"{way:.0f} %" for way in ways),
                f"{moved_first_words(references, recased['bilingual']):.0f} %"]  # fmt: skip


def moved_first_words(references: list[str], lines: list[str]) -> float:
    """Of the words that are those of the reference but for case, the percentage that is the first word in only one of
    both lines: so that their case may well be right."""
    moved = wrong = 0
    for pair in zip(references, lines, strict=True):
        reference, words = map(str.split, pair)
        same = SequenceMatcher(None, list(map(lower, reference)), list(map(lower, words)), autojunk=False)
        for a, b, size in same.get_matching_blocks():
            for i, j in zip(range(a, a + size), range(b, b + size), strict=True):
                if reference[i] != words[j]:
                    wrong += 1
                    moved += (i == 0) != (j == 0)
    return 100 * moved / max(1, wrong)


def tag(word: str) -> str:
    """IU, AU, AL, MX or AN."""
    cased = [letter.isupper() for letter in word if letter.lower() != letter.upper()]
    if not any(cased):
        return "AL" if cased else "AN"
    if cased[0] and sum(cased) == 1:
        return "IU"
    return "AU" if all(cased) else "MX"


def told_by_source(held_out: Aligned, recased: list[str]) -> list[str]:
    """What the tags of source words tell of those of the target words that they are linked to, in percent.

    Target words of the source's tag; with an initial capital, of those linked to one in lower case; in lower case, of
    those linked to one with an initial capital; linked to none. The share of the recased text's wrong words that are
    linked to one in lower case.
    """
    tags: Counter[tuple[str, str]] = Counter()
    words = unlinked = wrong = from_lower = 0
    for (source, target), links, line in zip(held_out.pairs, held_out.links, recased, strict=True):
        source_tags, references = list(map(tag, source.split())), target.split()
        linked: dict[int, str] = {j: source_tags[i] for i, j in reversed(links)}
        for j, (reference, word) in enumerate(zip(references, line.split(), strict=True)):
            if tag(reference) != "AN":
                words += 1
                unlinked += j not in linked
                wrong += reference != word
                from_lower += reference != word and linked.get(j) == "AL"
                tags[linked.get(j, ""), tag(reference)] += 1

    def share(part: int, whole: int) -> str:
        return f"{100 * part / max(1, whole):.1f}"

    same = sum(number for (given, reference), number in tags.items() if given == reference)
    of = {given: sum(number for (tag, _), number in tags.items() if tag == given) for given in ("AL", "IU")}
    return [
        share(same, words - unlinked), share(tags["AL", "IU"], of["AL"]), share(tags["IU", "AL"], of["IU"]),
        share(unlinked, words), share(from_lower, wrong),
    ]  # fmt: skip


def draw(path: Path, found: dict[str, dict[int, list[float]]]) -> None:
    """Errors by size of the training text, a panel for each translation."""
    from matplotlib import pyplot  # noqa: PLC0415

    figure, panels = pyplot.subplots(1, len(found), figsize=(3 * len(found), 3), sharey=True, squeeze=False)
    for panel, (name, errors) in zip(panels[0], found.items(), strict=True):
        for k, casing in enumerate(CASINGS):
            panel.plot(list(errors), [of_size[k] for of_size in errors.values()], "o-", markersize=3, label=casing)
        panel.set(xscale="log", xlabel="pairs", title=name, ylim=(0, None))
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("wrong words, %")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(path)


def ablation(training: Aligned, held_out: Aligned, resamples: int) -> list[list[str]]:
    """What is left out, wrong words in percent, and how many more or less these are than with all features."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capitalizers = Capitalizers(training, folder, bilingual=False)
        texts = list(map(lower, held_out.targets)), held_out.sources, pairs_of(held_out.links)
        recased, left_outs = [], ("nothing", *TEMPLATES, *FIXED)
        for left_out in left_outs:
            with (
                patch.object(
                    bilingual_training, "learn_classifier", partial(classifier_without, TEMPLATES.get(left_out, ()))
                ),
                patch.object(crf, "fit", partial(fit_with, crf.fit, FIXED.get(left_out, {}))),
                patch.object(bilingual_training, "_stand_in", partial(stand_in, bilingual_training._stand_in, folder)),
            ):
                bilingual_training.train_bilingual(
                    folder / "target.txt", folder / "source.txt", folder / "align.txt", capitalizers.bilingual,
                    lm=capitalizers.trigram,
                )  # fmt: skip
            recaser = capfst.load(capitalizers.bilingual)
            recased.append(recaser.recase_aligned(*texts))
    begin = process_time()
    recaser.recase_aligned(*texts)
    words = sum(len(line.split()) for line in texts[0])
    click.echo(f"recased with its source: {words / (process_time() - begin):,.0f} words a second of one core")
    values, low, high = bootstrap(counts(held_out.targets, recased), wrong_and_more, resamples)
    return [
        [name, f"{values[0, k]:.2f}", f"{values[1, k]:+.0f} % ({low[1, k]:+.0f} to {high[1, k]:+.0f})"]
        for k, name in enumerate(left_outs)
    ]


def classifier_without(
    left_out: Iterable[int], of_words: npt.NDArray[np.uint32], shapes: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int8]:
    """The classifier, learned without some of the templates, in so many rows that few are shared."""
    templates = [number for number in range(N_TEMPLATES) if number not in left_out]
    return learn_classifier(np.ascontiguousarray(of_words[:, templates]), shapes, bits=ABLATED_BITS)


def fit_with(
    fit: Callable[..., npt.NDArray[np.float64]], fixed: dict[int, float], problem: crf.Problem,
    lines: npt.NDArray[np.int64], sigma: float, start: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:  # fmt: skip
    """The weights, some of which are fixed."""
    places, unpatched = list(fixed), crf.negative_log_likelihood
    mean = crf.prior_mean()
    mean[places] = list(fixed.values())
    start = start.copy()
    start[places] = mean[places]

    def with_fixed(
        problem: crf.Problem, lines: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        value, gradient = unpatched(problem, lines, weights)
        gradient[places] = 0
        return value, gradient

    with (
        patch.object(crf, "negative_log_likelihood", with_fixed),
        patch.object(crf, "prior_mean", lambda: mean),
    ):
        return fit(problem, lines, sigma, start)


def stand_in(
    make: Callable[..., Recaser], kept: Path, corpus: bilingual_training._Corpus, fold: int, _: Path
) -> Recaser:
    """The stand-in for the model in a fold, made once."""
    folder = kept / f"fold {fold}"
    if not folder.exists():
        folder.mkdir()
        return make(corpus, fold, folder)
    return capfst.load(folder / "stand-in.fst")


def wrong_and_more(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """float64[2, texts]: wrong words in percent, and how many more or less they are than in the first text."""
    wrong = 100 - measures(sums)[..., 0]
    return np.stack([wrong, 100 * (wrong / wrong[0] - 1)])


TEMPLATES = {
    "the word and its source word": range(1, 6),
    "the words around": range(6, 14),
    "the capitals around": range(14, 17),
    "headings and ends": range(17, N_TEMPLATES),
}
"""What the ablation leaves out of the classifier."""
FIXED = {
    "the whole classifier": dict.fromkeys(range(candidates.CLASSIFIER, candidates.LINKED), 0.0),
    "the source word itself": {candidates.EXACT: 0.0, candidates.COPY: 30.0},
    "context": dict.fromkeys(range(candidates.CONTEXT, candidates.CLASSIFIER), 0.0),
    "LM": {candidates.LM: crf.LEAST_LM_WEIGHT},
}
"""What it leaves out else: weights that are fixed."""


class Results(NamedTuple):
    """The rows of a translation's tables, without its name."""

    precision: list[list[str]]
    bleu: list[str]
    source: list[str]
    errors: dict[int, list[float]]


def experiment(training: Aligned, held_out: Aligned, sizes: Sequence[int], number: int, bleu: Bleu) -> Results:
    """number: how many sentences are translated."""
    some, lines = held_out.spread(number), list(map(lower, held_out.targets))
    with tempfile.TemporaryDirectory() as folder:
        capitalizers = Capitalizers(training, Path(folder))
        recased = {
            casing: capitalizers(casing, lines, held_out.sources, held_out.links) for casing in (*CASINGS, UNALIGNED)
        }
        output, links = translated(training, some.sources, Path(folder))
        cased = {casing: capitalizers(casing, output, some.sources, links) for casing in CASINGS}
    errors = errors_by_size(training, held_out, [size for size in sizes if size < len(training.pairs)])
    whole = measures(counts(held_out.targets, [recased[casing] for casing in CASINGS]).sum(axis=0))
    errors[len(training.pairs)] = (100 - whole[:, 0]).tolist()
    return Results(
        precision_rows(held_out, recased, bleu.resamples),
        bleu.row(some.targets, output, cased),
        told_by_source(held_out, recased["bilingual"]),
        errors,
    )


def tables(results: dict[str, Results]) -> dict[str, str]:
    """The tables, by their names in the document."""
    precision = [[name, *row] for name, of_name in results.items() for row in of_name.precision]
    by_size = [
        [name, f"{size:,}", *(f"{error:.2f}" for error in errors)]
        for name, of_name in results.items()
        for size, errors in of_name.errors.items()
    ]
    return {
        "precision": table(("translation", "casing", "precision", "errors", "F1", *TAGS.values()), precision, texts=2),
        "size": table(("translation", "pairs", *CASINGS), by_size),
        "bleu": table(
            ("translation", "none", *CASINGS, "perfect", "capfst's way", "bilingual's way", "moved"),
            [[name, *of_name.bleu] for name, of_name in results.items()],
        ),
        "source": table(
            ("translation", "same tag", "IU, from AL", "AL, from IU", "unlinked", "errors from AL"),
            [[name, *of_name.source] for name, of_name in results.items()],
        ),
    }


@click.command(help=__doc__)
@data_option
@quick_option
@click.option("--part", type=click.Choice(["tables", "ablation"]), default="tables", show_default=True)
@click.option("--document", type=click.Path(exists=True, path_type=Path), help="Put the tables there.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the errors by size of the training text.")
def main(data: Path, quick: bool, part: str, document: Path | None, plot: Path | None) -> None:
    languages, sizes, limit, number, resamples = (
        (LANGUAGES[:1], SIZES[:1], QUICK_PAIRS, QUICK_TRANSLATED, 100)
        if quick
        else (LANGUAGES, SIZES, None, TRANSLATED, RESAMPLES)
    )
    if part == "ablation":
        languages = LANGUAGES[:1]
    bleu, results = Bleu(resamples), {}
    without: list[list[str]] = []
    for language in languages:
        bitext = read_bitext(data, language, limit)
        pairs = [(tokenized(english), tokenized(other)) for english, other in (*bitext.training, *bitext.held_out)]
        links, n = align(pairs), len(bitext.training)
        click.echo(
            f"en, {language}: {n:,} pairs to train on, {len(pairs) - n:,} held out, {bitext.left_out:,} left out"
        )
        training, held_out = Aligned(pairs[:n], links[:n]), Aligned(pairs[n:], links[n:])
        for name, known, new in (
            (f"en → {language}", training, held_out),
            (f"{language} → en", training.turned(), held_out.turned()),
        ):
            if part == "ablation":
                without += [[name, *row] for row in ablation(known.spread(ABLATED), new, resamples)]
                continue
            click.echo(f"{name}: the training text has of the held-out text {overlap(new.targets, known.targets)}")
            results[name] = experiment(known, new, sizes, number, bleu)
            *_, errors = results[name].errors.values()
            click.echo(
                f"{name}: wrong words, %: {', '.join(f'{c} {e:.2f}' for c, e in zip(CASINGS, errors, strict=True))}"
            )
            if document:  # each time, so that nothing is lost
                for table_name, printed in tables(results).items():
                    fill(document, f"bilingual-{table_name}", printed)
    if part == "ablation":
        worth = table(("translation", "without", "wrong words, %", "more"), without, texts=2)
        click.echo(f"\n{worth}")
        if document:
            fill(document, "bilingual-ablation", worth)
        return
    for printed in tables(results).values():
        click.echo(f"\n{printed}")
    click.echo(f"\n{bleu.cased.get_signature()}; perfect: {bleu.caseless.get_signature()}")
    if plot:
        draw(plot, {name: of_name.errors for name, of_name in results.items()})


if __name__ == "__main__":
    main()
