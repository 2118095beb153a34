"""Train a model: cased text → `cap.fst`, with its context model, and a report on the corpus.

`train` is the sequence of stages: collect → clean → count (words) → limit (the vocabulary) → learn context → restrict →
estimate (n-grams: count, smooth, prune) → write. The same corpus and options give the same bytes, whatever the number
of threads, and on Spark.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import Transducer
from capfst.context.adapt import transferred
from capfst.context.context_model import PART, SPELLINGS, Context, of_spellings
from capfst.context.noise import LEAST, SAMPLE, Noise, learn_noise
from capfst.context.noise import PART as NOISE
from capfst.context.sample import sample as sampled
from capfst.context.train import affordable, fit, label_spellings
from capfst.corpus import filters as cleaning
from capfst.corpus.diagnose import beginnings, diagnose
from capfst.corpus.labels import LabeledCorpus, names, relabeled
from capfst.corpus.languages import find_corpus
from capfst.corpus.read import ReadCorpus, read_corpus
from capfst.corpus.vocabulary import Restricted, Vocabulary, build_vocabulary, restricted
from capfst.corpus.word_lists import WordLists, read_word_lists
from capfst.exceptions import CorpusError, OptionError, quantity
from capfst.fst.read import CapFst, grammar_part
from capfst.fst.signature import Signature
from capfst.fst.symbols import check
from capfst.fst.trailer import Part
from capfst.fst.write import Acceptor, write_chunks
from capfst.io.files import Source, sources
from capfst.io.formats import can_train, reader_of
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import text_blocks
from capfst.lm.estimate import RESERVE, acceptor, memory_for_data, temporary_space
from capfst.options import TrainOptions, documented, merged
from capfst.punctuation.marks import PART as PUNCTUATION
from capfst.punctuation.marks import Punctuation
from capfst.system.atomic import check_output
from capfst.system.buckets import Store
from capfst.system.budget import PROGRAM, resident, return_freed_memory
from capfst.system.progress import Progress
from capfst.system.progress import progress as shown
from capfst.text.abbreviations import NEVER, listed
from capfst.text.language import Language
from capfst.text.restoring import rules_of
from capfst.training import adapt as adapting
from capfst.training.report import Trained
from capfst.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEAST_AMBIGUITY = 0.01
_NAMED = 3  # inputs in messages about the whole corpus

_log = logging.getLogger(__name__)


@documented(TrainOptions)
def train(
    corpus: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
    **options: Any,
) -> Trained:
    """Train a capitalization LM and a context model on cased text, and write both to one file.

    Args:
        corpus: files, folders or glob patterns: cased text with a sentence or a paragraph per line, `.jsonl`, `.tsv`,
            `.csv`, `.parquet` and Wikimedia's `.xml`. `de=FILE` names the language of a file; from files in several
            languages the model learns to distinguish these.
        output: the path of the model.
        progress: shows the progress of each stage, as `capfst.system.progress.progress` does.
        spark: a session whose executors read, clean and tokenize the corpus. They must see the files under the same
            paths. The model is the same.
        options: the fields of `capfst.options.TrainOptions`.

    Returns:
        The report, whose `load()` opens the model.

    Raises:
        OptionError: an option has an unsupported value, or two options exclude each other.
        CorpusError: the corpus cannot be read, or contains no sentence to learn from.
        CapfstError: the output cannot be written, or there is too little memory or disk space.
    """
    wanted = merged(TrainOptions(), options, "train")
    if wanted.base is not None and spark is not None:
        raise OptionError("`base` cannot be used on Spark. Adapt the model on one machine.")
    base = adapting.open_base(wanted)
    if base is not None:
        wanted = replace(wanted, pretokenized=base.signature.pretokenized)
    threads, store = wanted.jobs or os.cpu_count() or 1, Store(wanted.memory, wanted.tmp)
    job = Job(wanted, threads, store, progress or partial(shown, quiet=True), spark)
    inputs = collect(corpus, output, wanted, base)
    # Arguments are evaluated in order: the word lists, in which an error shows soon, are read before the corpus.
    text = count(read_lists(inputs, wanted), clean(inputs, job), inputs)
    sentences, tokens, listed = _sizes(text)
    text, left = limit(text, inputs, job.options)
    if base is not None:
        own = restrict(text, left, {}, job)
        signature, ngrams, domains, weights = adapting.adapt(output, base, text, own, inputs, job)
        sizes = sentences, tokens, ngrams, domains, listed
        return Trained(os.fspath(output), signature, text.cleaning, *sizes, (base.path, *weights))
    check_limits(text, left, inputs, job.options)
    contexts = learn_context(text, inputs, job)
    punctuation = learn_punctuation(text, inputs, job)
    all_symbols = text.vocabulary.symbols  # before `restrict`
    sample = text_of_sample(text) if PART in contexts and text.corpus.size >= LEAST else b""
    text = restrict(text, left, contexts, job)
    noise = learn_noise(sample, contexts[PART], transducer_of(text)) if sample else None
    domains = max((context.n_domains for context in contexts.values()), default=0)
    parts = pack(contexts, noise, inputs.rules, job)
    if punctuation:
        parts[PUNCTUATION] = punctuation.for_symbols(all_symbols, text.vocabulary.symbols, text.starts).part()
    lm = estimate(text, job)
    signature = write(output, lm, text, parts, inputs.rules, job)
    return Trained(os.fspath(output), signature, text.cleaning, sentences, tokens, tuple(lm.ngrams), domains, listed)


class Job(NamedTuple):
    """The options and resources that the stages share."""

    options: TrainOptions
    threads: int
    store: Store  # of temporary files
    show: Progress
    spark: SparkSession | None


class Inputs(NamedTuple):
    """The files of a corpus, and how they are read."""

    name: str  # of the corpus, in messages
    sources: list[Source]
    languages: list[str]  # of each file; none if none was named
    rules: Language
    filters: int  # as from `corpus.filters.select`; 0: no cleaning
    options: TextOptions
    cause: str  # why no good model can be learned from the text, as from `diagnose`; empty: nothing is conspicuous


class Counted(NamedTuple):
    """A corpus as labels: its vocabulary, and the counts and report of reading it."""

    vocabulary: Vocabulary
    starts: npt.NDArray[np.int32]  # the words' first labels, as from symbols.check
    corpus: LabeledCorpus
    cleaning: cleaning.Report
    digest: str
    weights: npt.NDArray[np.float64] | None = None  # [V + 1]: of the labels in pruning, if there are several languages


def collect(
    corpus: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: TrainOptions,
    base: CapFst | None = None,
) -> Inputs:
    """Find the files of the corpus, and refuse all that can be refused before they are read. base: the model that is
    adapted, whose rules apply.

    Warns if their beginnings do not look like cased text.
    """
    filters = cleaning.select(options.skip_filters) if options.clean else 0
    text = TextOptions(
        options.field, options.column, options.errors, delimiter=options.delimiter, encoding=options.encoding
    )
    paths = [corpus] if isinstance(corpus, (str, os.PathLike)) else corpus
    given = [os.fspath(path) for path in paths]
    files, languages = find_corpus(given, partial(can_train, options=text))
    if languages and options.language and base is None:
        raise OptionError(
            f"`language` is {options.language!r}, but the inputs name their languages, such as {languages[0]}."
            " Leave out `language`."
        )
    if base is not None:
        rules = adapting.rules_for(base, languages)
    else:
        rules = rules_of(options.language or ",".join(languages), options.restored, options.grammar)
    check_output(output, *files, *options.words, options.grammar, base.path if base else None)
    for file in files:
        reader_of(file, text)  # raises an error for an unsupported format
    name = ", ".join(given) if len(given) <= _NAMED else f"{given[0]} and {quantity(len(given) - 1, 'other input')}"
    lenient = replace(text, errors="replace")
    cause = diagnose(beginnings(files, lambda file, size: text_blocks([file], lenient, size)))
    if cause:
        _log.warning("%s: %s", name, cause)
    return Inputs(name, sources(files, languages), languages, rules, filters, text, cause)


def read_lists(inputs: Inputs, options: TrainOptions) -> tuple[WordLists | None, str]:
    """Read the word lists, if there are any; also return a digest of their text.

    Raises:
        CapfstError: as `read_word_lists`; a list with frequencies, for a model that is adapted.
    """
    if not options.words:
        return None, ""
    hash = hashlib.blake2b(digest_size=8)
    words = read_word_lists(options.words, inputs.languages, hash, options.errors, options.pretokenized, inputs.rules)
    if options.base is not None and any(each.occurrences is not None for each in words.streams):
        raise OptionError(
            "`words` has a list with frequencies, which only training without `base` can weigh. Leave out the numbers."
        )
    return words, hash.hexdigest()


def clean(inputs: Inputs, job: Job) -> ReadCorpus:
    """Read the corpus and keep the lines that the cleaning filters accept, as ids of words."""
    how = inputs.sources, inputs.options, inputs.filters, job.options.pretokenized, inputs.rules, job.store
    if job.spark is None:
        return read_corpus(*how, job.threads, job.show)
    from capfst.spark import corpus  # noqa: PLC0415  (an optional part)

    return corpus.read_corpus(job.spark, *how)


def count(lists: tuple[WordLists | None, str], read: ReadCorpus, inputs: Inputs) -> Counted:
    """Count the words of the corpus, with those in word lists, and turn the corpus into labels.

    Warns about wrapped files and about filters that reject most of the lines.

    Raises:
        CorpusError: no sentence is left.
    """
    words, digest = lists
    digest = hashlib.blake2b((read.digest + digest).encode(), digest_size=8).hexdigest() if words else read.digest
    return_freed_memory()  # by the threads that read
    vocabulary, corpus = build_vocabulary(read.interners, read.streams, inputs.rules, words)
    report = cleaning.Report(inputs.filters, read.verdicts)
    if read.wrapped:
        _log.warning("%s", _on_wrapped(read.wrapped))
    if corpus.size == vocabulary.counts[0]:
        raise CorpusError(f"{inputs.name}: no sentence to learn from: {_reason(report, inputs.cause)}")
    advice = report.advice()
    if advice and not inputs.cause:
        _log.warning("%s: %s", inputs.name, advice)
    return Counted(vocabulary, check(vocabulary.symbols), corpus, report, digest)


def _sizes(text: Counted) -> tuple[int, int, int]:
    """Return the numbers of sentences, of tokens, and of surface forms that occur only in word lists."""
    counts = text.vocabulary.counts
    sentences = int(counts[0])
    n_unseen = int(np.count_nonzero(counts[1:] == 0)) - int(counts[text.vocabulary.unknown] == 0)
    return sentences, text.corpus.size - sentences, n_unseen


def learn_context(text: Counted, inputs: Inputs, job: Job) -> dict[str, Context]:
    """Learn the context models of case and of spelling, whichever the model restores; by the names of their parts."""
    if not job.options.context:
        return {}
    vocabulary, starts = text.vocabulary, text.starts
    wanted = job.options.of_context
    language_of = np.unique([source.language or "" for source in inputs.sources], return_inverse=True)[1]
    fitting = partial(fit, vocabulary, starts, text.corpus, language_of, job.options.memory, job.show, wanted)
    learned: dict[str, Context] = {}
    lexicon = None
    if inputs.rules.restores_case:
        lexicon, learned[PART] = fitting()
    if inputs.rules.restores_spelling:
        spellings = label_spellings(vocabulary.symbols, starts, vocabulary.counts)
        learned[SPELLINGS] = of_spellings(fitting(spellings, lexicon)[1])
    return learned


def learn_punctuation(text: Counted, inputs: Inputs, job: Job) -> Punctuation | None:
    """Learn where marks are, if the model is to restore them.

    Raises:
        CorpusError: the corpus is too small, or its sentences have no marks.
    """
    if not job.options.restores_marks:
        return None
    from capfst.punctuation.train import MOST_LABELS, RUN, learn_marks  # noqa: PLC0415  (few models learn it)

    symbols, sample = text.vocabulary.symbols, sampled(*text.corpus, MOST_LABELS, RUN)
    known = listed(inputs.rules.names, inputs.rules.lowering)
    abbreviations = {word.encode() for word, kind in known.items() if kind == NEVER}
    try:
        return learn_marks(sample, symbols, text.starts, abbreviations, job.threads, job.show)
    except CorpusError as error:
        raise CorpusError(f"{inputs.name}: {error}") from None


def limit(text: Counted, inputs: Inputs, options: TrainOptions) -> tuple[Counted, Restricted]:
    """Return the text with the weights of its labels in pruning; and its vocabulary without rare words, if that is
    wanted, and without words that only lists with frequencies have.

    Raises:
        OptionError: no word is left.
    """
    vocabulary, frequency = text.vocabulary, None
    if len(set(inputs.languages)) > 1 and (options.max_words is not None or options.max_ngrams is not None):
        frequency = _frequency(text, inputs)
    every = np.arange(len(vocabulary.symbols))
    left = Restricted(vocabulary, every.astype(np.uint32), every)
    if options.min_count > 1 or options.max_words is not None or vocabulary.frequencies:
        left = restricted(vocabulary, text.starts, options.min_count, options.max_words, frequency)
        if len(left.vocabulary.symbols) <= 2:  # only <epsilon> and <unk>
            raise OptionError(
                f"`min_count` is {options.min_count}, but no word in {inputs.name} is so frequent. Lower it."
            )
    weights = None if frequency is None else (frequency / np.maximum(1, vocabulary.counts))[left.old_labels]
    return text._replace(weights=weights), left


def check_limits(text: Counted, left: Restricted, inputs: Inputs, options: TrainOptions) -> None:
    """Raise the OptionError that a later stage would raise, as far as it can be foreseen."""
    if options.context:
        n_languages = max(1, len(set(inputs.languages)))
        affordable(text.vocabulary, text.starts, n_languages, options.memory, options.of_context)
    memory_for_data(_for_estimation(options), len(left.vocabulary.symbols) - 1, text.corpus.size)


def restrict(text: Counted, left: Restricted, contexts: dict[str, Context], job: Job) -> Counted:
    """Limit the text to a vocabulary, as from `limit`, and add the names in word lists to the sentences.

    `contexts` are changed to match. They were learned from all words, so they know the case of words that the LM lacks.
    """
    vocabulary, new_labels, old_labels = left
    starts, corpus = text.starts, text.corpus
    if vocabulary is not text.vocabulary:
        first_labels = check(vocabulary.symbols)
        words_before = np.searchsorted(starts, old_labels[first_labels[:-1]], "right") - 1
        for part, context in contexts.items():
            shapes = context.shapes[old_labels] if part == SPELLINGS else None
            contexts[part] = transferred(context, starts[words_before], vocabulary.symbols, first_labels, shapes)
        starts = first_labels
    if vocabulary is not text.vocabulary or vocabulary.listed:
        more = np.concatenate([np.zeros(0, np.uint32), *map(names, vocabulary.listed)])
        corpus = corpus._replace(labels=relabeled(corpus.labels, new_labels, more, job.store))
    return text._replace(vocabulary=vocabulary, starts=starts, corpus=corpus)


def _frequency(text: Counted, inputs: Inputs) -> npt.NDArray[np.float64]:
    """Return the number of occurrences of each label in the language where it is largest relative to the square root of
    the text in that language. So a language with little text keeps more of its words than by their number alone."""
    counts = {language: np.zeros(len(text.vocabulary.counts)) for language in inputs.languages}
    for source, labels in zip(inputs.sources, sampled(*text.corpus, text.corpus.size), strict=True):
        counts[source.language or ""] += np.bincount(labels, minlength=len(text.vocabulary.counts))
    return np.max([of_language / max(1, of_language.sum()) ** 0.5 for of_language in counts.values()], axis=0)


def text_of_sample(text: Counted) -> bytes:
    """Return sentences of the corpus, a line each, with spaces between the words."""
    used, labels = np.unique(np.concatenate(sampled(*text.corpus, SAMPLE)), return_inverse=True)
    words = [text.vocabulary.symbols.utf8(label) + b" " if label else b"\n" for label in used.tolist()]
    return b"".join([words[label] for label in labels.tolist()])


def transducer_of(text: Counted) -> Transducer:
    """Return S ∘ T for text that is already tokenized."""
    return Transducer(text.vocabulary.symbols, text.starts, True)


def pack(contexts: dict[str, Context], noise: Noise | None, rules: Language, job: Job) -> dict[str, Part]:
    """Make the parts of the file that follow the LM, and empty `contexts`; with a memory limit, in temporary files."""
    parts = grammar_part(rules)
    if noise is not None:
        parts[NOISE] = noise.part()
    for name in [*contexts]:
        part = contexts.pop(name).part()
        parts[name] = part if job.options.memory is None else _spooled(part, job.store)
    return parts


def _spooled(part: Part, store: Store) -> Part:
    """Return the part with its arrays mapped from a temporary file, so that they take no memory until written."""
    file, ends = store.open(), np.cumsum([0, *map(len, part.arrays.values())]).tolist()
    for array, offset in zip(part.arrays.values(), ends, strict=False):
        store.write(file, array, offset)
    whole = np.frombuffer(mmap.mmap(file.fileno(), ends[-1], access=mmap.ACCESS_READ), np.uint8)
    arrays = {name: whole[begin:end] for name, (begin, end) in zip(part.arrays, pairwise(ends), strict=True)}
    return part._replace(arrays=arrays)


def estimate(text: Counted, job: Job) -> Acceptor:
    """Count the n-grams, estimate their probabilities and prune them."""
    options, n_words, size = job.options, len(text.vocabulary.symbols) - 1, text.corpus.size
    return_freed_memory()
    options = _for_estimation(options)
    space = 4 * size + temporary_space(n_words, size, options)
    free = shutil.disk_usage(job.store.folder).free
    if space > free:
        _log.warning(
            "%s: temporary files may take %.1f GB, but %.1f GB are free. Choose another folder with `tmp`, or raise"
            " `memory`.",
            job.store.folder, space / 1e9, free / 1e9,
        )  # fmt: skip
    ambiguity = _ambiguity(text) if options.prune_threshold is None else None  # the threshold is in nats
    return acceptor(text.corpus.labels, n_words, options, ambiguity)


def _for_estimation(options: TrainOptions) -> TrainOptions:
    """Return the options with the memory that is left, without the reserve."""
    if options.memory is None:
        return options
    return replace(options, memory=options.memory - options.memory // RESERVE - max(0, resident() - PROGRAM))


def _ambiguity(text: Counted) -> npt.NDArray[np.float32]:
    """Return float32[V + 1]: how ambiguous the case of each surface form's word is: the share of its occurrences in
    other forms than the most frequent one, from _LEAST_AMBIGUITY on. If there are several languages, words of those
    with little text count more."""
    counts, first = text.vocabulary.counts[1:], text.starts[:-1] - 1
    of_word = 1 - (np.maximum.reduceat(counts, first) + 0.5) / (np.add.reduceat(counts, first) + 1)
    ambiguity = np.append(0, np.repeat(of_word, np.diff(text.starts)) + _LEAST_AMBIGUITY)
    return (ambiguity if text.weights is None else ambiguity * text.weights).astype(np.float32)


def write(
    output: str | os.PathLike[str], lm: Acceptor, text: Counted, parts: dict[str, Part], rules: Language, job: Job
) -> Signature:
    """Write the model, and return its signature."""
    signature = Signature(
        version=__version__,
        order=job.options.order,
        smoothing="kn",
        pruning=_pruning(job.options),
        tokenizer="none" if job.options.pretokenized else "capfst",
        lowercasing=rules.name,
        corpus=text.digest,
    )
    with job.show(lm.arcs, "writing", "arcs") as advance:
        write_chunks(output, lm, text.vocabulary.symbols, signature, parts, advance)
    return signature


def _pruning(options: TrainOptions) -> str:
    parts = []
    if any(options.cutoffs):
        parts.append("cutoff-" + ".".join(map(str, options.cutoffs)))
    if options.max_ngrams is not None:
        parts.append(f"entropy-{options.max_ngrams}")
    if options.prune_threshold is not None:
        parts.append(f"entropy-{options.prune_threshold:g}")
    return "+".join(parts) or "none"


def _on_wrapped(widths: dict[Path, int]) -> str:
    """Return a message on files whose lines are wrapped at these widths."""
    file, width = next(iter(widths.items()))
    more = f" and {quantity(len(widths) - 1, 'other file')}" if len(widths) > 1 else ""
    wrapped = f"{file}{more}: lines are wrapped{', in the first' if more else ''} at about {width} characters"
    return f"{wrapped}, so the lines of each paragraph were joined"


def _reason(report: cleaning.Report, cause: str) -> str:
    reasons = ", ".join(f"{name} {count:,}" for name, count in report.rejected().items() if count)
    if not reasons:
        return "it contains no words. Use another file."
    remedy = f"; {cause}" if cause else ". Disable filters with `skip_filters`, or all with `clean=False`."
    return f"all lines were rejected (by filter: {reasons}){remedy}"
