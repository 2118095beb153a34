"""Training: corpus → clean → tokenize → vocabulary → count → estimate → prune → compile → cap.fst.

In: files of cased text. Out: `cap.fst`, with its context model (context/), and a report on the corpus.
The same corpus and options give the same bytes, whatever the number of threads.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from capfst.context.context_model import PART, Context, context_of
from capfst.context.spellings import PART as SPELLINGS
from capfst.context.spellings import label_spellings, of_spellings
from capfst.context.train import ContextOptions, Fitted, LabelledCorpus, LocalCorpus, fit
from capfst.context.transfer import transferred
from capfst.corpus import filters as cleaning
from capfst.corpus.diagnose import beginnings, diagnose
from capfst.corpus.intern import Interner
from capfst.corpus.labels import names, relabelled
from capfst.corpus.languages import find_corpus
from capfst.corpus.vocabulary import IdStreams, build_vocabulary, restricted
from capfst.corpus.word_lists import read_word_lists
from capfst.exceptions import CapfstError
from capfst.fst.read import grammar_part
from capfst.fst.signature import Signature
from capfst.fst.symbols import check
from capfst.fst.trailer import Part
from capfst.fst.write import write_chunks
from capfst.io.blocks import Errors, Hash
from capfst.io.files import Source, sources
from capfst.io.formats import reader_of, teaches
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import OnWrapped, text_blocks
from capfst.lm.count import MAX_ORDER
from capfst.lm.estimate import EstimationOptions, acceptor, temporary_space
from capfst.system.atomic import refuse_to_replace
from capfst.system.buckets import Store
from capfst.system.budget import PROGRAM, resident
from capfst.system.parallel import map_in_pool
from capfst.system.progress import Progress
from capfst.text.language import DEFAULT, Language
from capfst.text.restoring import rules_of
from capfst.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)


@dataclass(repr=False)
class Trained:
    """What went into a model and what came out."""

    path: str
    signature: Signature
    cleaning: cleaning.Report
    sentences: int
    tokens: int  # without the sentence ends
    ngrams: tuple[int, ...]  # by order
    domains: int = 0  # that the context model tells apart; 0: there is no context model
    listed: int = 0  # surface forms that only word lists have

    def __repr__(self) -> str:
        sizes = f"{self.sentences:,} sentences, {self.tokens:,} tokens, {sum(self.ngrams):,} n-grams"
        kept = f", {self.cleaning.kept:,} of {self.cleaning.lines:,} lines kept" if self.cleaning.lines else ""
        return f"<Trained {self.path}: order {self.signature.order}, {sizes}{kept}>"

    def __str__(self) -> str:
        return self.report()

    def report(self) -> str:
        """What the corpus gave, for people."""
        lines = [str(self.cleaning)] if self.cleaning.lines else []
        lines.append(f"learned from {self.sentences:,} sentences, {self.tokens:,} tokens")
        if self.listed:
            lines.append(f"and {self.listed:,} surface forms of word lists")
        counts = ", ".join(f"{n}: {count:,}" for n, count in enumerate(self.ngrams, 1))
        lines.append(f"wrote {self.path}: n-grams by order {counts}")
        if self.domains:
            lines.append(f"with a context model for {self.domains} domain{'s'[: self.domains > 1]}")
        return "\n".join(lines)


def train(
    corpus: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    words: Sequence[str | os.PathLike[str]] | str | os.PathLike[str] = (),
    order: int = 3,
    clean: bool = True,
    skip_filters: Sequence[str] = (),
    pretokenized: bool = False,
    language: str | None = None,
    restore: str | None = None,
    grammar: str | os.PathLike[str] | None = None,
    field: str | None = None,
    column: str | None = None,
    errors: Errors = "strict",
    min_count: int = 1,
    max_words: int | None = None,
    cutoffs: Sequence[int] = (),
    max_ngrams: int | None = None,
    prune_threshold: float | None = None,
    memory: int | None = None,
    tmp: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    context: bool | ContextOptions = True,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> Trained:
    """Trains a capitalization LM of the given order (1 to 5), and a context model, on files, folders or glob patterns,
    and writes both to `output`.

    Args:
        corpus: files, folders or glob patterns of cased text, a sentence or a paragraph on each line, or of `.jsonl`,
            `.tsv`, `.csv`, `.parquet` and Wikimedia's `.xml`. `de=FILE` names the language of a file: of files in
            several languages the model learns to tell these apart (corpus/languages.py).
        output: the path of the model.
        words: word lists: files of words and names, one a line, in the case that they have inside a sentence; named as
            the corpus is, with the same languages. The model knows all of them, and learns how names of several words
            are written.
        order: the length of the longest n-grams.
        clean: leave out lines that do not look like well-cased sentences.
        skip_filters: names of filters that do not take part in that (`capfst.corpus.filters.FILTERS`).
        pretokenized: the tokens are what white space separates, taken as they are.
        language: the language whose rules of case hold (docs/languages.md), such as `tr`, or several, as `de,fr`;
            Unicode's default if None.
        restore: what the model restores: `case`, `diacritics` (of cased text) or `both`; case if None, and both with a
            grammar.
        grammar: a pynini grammar (`.far`, or a `.py` file that makes the FST `LOWERING`): what it takes away is
            restored in the place of diacritics.
        field: the field of `.jsonl` objects that is the text.
        column: the column of `.tsv`, `.csv` and `.parquet` that is the text: a name, or a number from 1.
        errors: what becomes of text that is not UTF-8: `strict` raises, `replace` puts U+FFFD.
        min_count: surface forms that are rarer, and in no word list, become `<unk>`.
        max_words: surface forms that are neither among so many of the most frequent ones nor in a word list become
            `<unk>`.
        cutoffs: leave out n-grams of order 1, 2, … that occur at most so often; the last number holds for higher
            orders.
        max_ngrams: prune to so many n-grams in all (Stolcke 1998).
        prune_threshold: prune n-grams whose loss would cost less, in nats.
        memory: bytes to stay below; what does not fit is put into temporary files.
        tmp: the folder for temporary files.
        jobs: threads; all cores if None.
        context: False for the LM alone; or how much the context model learns from, and how large it becomes.
        progress: shows how far it is, as `capfst.system.progress.progress` does.
        spark: a session whose executors, which must see the files under the same paths, read the corpus and count its
            n-grams; the model is the same.

    Raises:
        CapfstError: bad input, an unwritable output, no space, or a corpus without a single sentence.
    """
    if not 1 <= order <= MAX_ORDER:
        raise CapfstError(f"order {order} is not between 1 and {MAX_ORDER}: use --order 3")
    threads = jobs or os.cpu_count() or 1
    paths, lists = ([each] if isinstance(each, (str, os.PathLike)) else list(each) for each in (corpus, words))
    hash = hashlib.blake2b(digest_size=8)
    on = cleaning.select(skip_filters) if clean else 0
    report = cleaning.Report(on)
    options = TextOptions(field, column, errors, jobs=threads if spark is None else 1)
    files, file_languages = find_corpus([os.fspath(path) for path in paths], partial(teaches, options=options))
    if file_languages and language:
        raise CapfstError(f"the languages of the files were named already: leave out --language {language}")
    rules = rules_of(language or ",".join(file_languages), restore, grammar)
    every = sources(files, file_languages)
    language_of = np.unique([source.language or "" for source in every], return_inverse=True)[1]
    refuse_to_replace(output, *files, *lists, grammar)
    for file in files:
        reader_of(file, options)  # refuses it before others are read
    where = ", ".join(os.fspath(path) for path in paths)
    lenient = TextOptions(field, column, "replace")
    cause = diagnose(beginnings(files, lambda file, size: text_blocks([file], lenient, size)))
    if cause:
        _log.warning("warning: %s: %s", where, cause)
    list_hash = hashlib.blake2b(digest_size=8)
    listed = read_word_lists(lists, file_languages, list_hash, errors, pretokenized, rules) if lists else None
    show = progress or _silent
    store = Store(memory, tmp)
    if spark is None:
        streams = IdStreams(store)
        begins: list[int] = []
        wrapped: dict[Path, int] = {}
        with show(sum(file.stat().st_size for file in files), "reading", "B") as advance:
            blocks = _blocks(every, options, hash, advance, begins, wrapped.setdefault)
            interners = read(blocks, streams, on, pretokenized, report, threads, rules)
        digest = hash.hexdigest()
        vocabulary, labels = build_vocabulary(interners, streams, rules, listed)
        del interners
        ends = np.array([0, *streams.ends])[[*begins[1:], -1]]
        labelled: LabelledCorpus = LocalCorpus(labels, ends)
    else:
        from capfst.spark import corpus as spark_corpus  # noqa: PLC0415  (an optional part)

        distributed = spark_corpus.SparkStreams(spark, every, options, on, pretokenized, rules)
        report.add(distributed.lines)
        wrapped = distributed.wrapped
        digest = distributed.digest
        vocabulary, labels = build_vocabulary([distributed.words], distributed, rules, listed)
        del distributed
        labelled = labels
    if listed:
        digest = hashlib.blake2b((digest + list_hash.hexdigest()).encode(), digest_size=8).hexdigest()
        del listed
    if wrapped:
        _log.warning("warning: %s", _tell_wrapped(wrapped))
    sentences = int(vocabulary.counts[0])
    tokens = labels.size - sentences
    if not tokens:
        raise CapfstError(f"there is no sentence to learn from in {where}: {_why(report, cause)}")
    if advice := report.advice():
        _log.warning("warning: %s: %s", where, advice)
    n_listed = int(np.count_nonzero(vocabulary.counts[1:] == 0)) - int(vocabulary.counts[vocabulary.unknown] == 0)
    starts = check(vocabulary.symbols)
    learned: dict[str, Context] = {}
    if context:
        wanted = context if isinstance(context, ContextOptions) else ContextOptions()
        fitting = partial(
            fit,
            vocabulary.symbols,
            starts,
            vocabulary.counts,
            labelled,
            language_of,
            vocabulary.listed,
            vocabulary.unknown,
            memory,
            show,
            wanted,
        )
        fitted: Fitted | None = None
        if rules.restores_case:
            fitted = fitting()
            learned[PART] = context_of(starts, *fitted)
        if rules.restores_spelling:
            spellings = label_spellings(vocabulary.symbols, starts, vocabulary.counts)
            fitted = fitting(spellings, fitted and fitted.lexicon)
            learned[SPELLINGS] = of_spellings(context_of(starts, *fitted))
        del fitting, fitted
    del labelled
    new_labels = np.arange(len(vocabulary.symbols), dtype=np.uint32)
    is_restricted = min_count > 1 or max_words is not None
    if is_restricted:
        # The context model has learned from all words: so it can tell the case of those that the LM will not know.
        vocabulary, new_labels, old_labels = restricted(vocabulary, starts, min_count, max_words)
        if len(vocabulary.symbols) <= 2:  # nothing but <epsilon> and <unk>
            raise CapfstError(f"no word occurs {min_count} times in {where}: lower --min-count")
        first_labels = check(vocabulary.symbols)
        words_before = np.searchsorted(starts, old_labels[first_labels[:-1]], "right") - 1
        for part, model in learned.items():
            shapes = model.shapes[old_labels] if part == SPELLINGS else None
            learned[part] = transferred(model, starts[words_before], vocabulary.symbols, first_labels, shapes)
    if is_restricted or vocabulary.listed:
        more = np.concatenate([np.zeros(0, np.uint32), *map(names, vocabulary.listed)])
        labels = relabelled(labels, new_labels, more, store) if spark is None else labels.relabelled(new_labels, more)
    domains = max((model.n_domains for model in learned.values()), default=0)
    parts = grammar_part(rules)
    for part in [*learned]:
        model = learned.pop(part)
        parts[part] = model.part() if memory is None else _spooled(model.part(), store)
        del model
    n_words = len(vocabulary.symbols) - 1
    estimation = EstimationOptions(tuple(cutoffs), max_ngrams, prune_threshold, _left(memory), tmp, threads)
    _tell_space(4 * labels.size + temporary_space(n_words, labels.size, order, estimation), store.folder)
    signature = Signature(
        version=__version__,
        order=order,
        smoothing="kn",
        pruning=_pruning(estimation),
        tokenizer="none" if pretokenized else "capfst",
        lowercasing=rules.name,
        corpus=digest,
    )
    with acceptor(labels, n_words, order, estimation) as lm:
        with show(lm.arcs, "writing", "arcs") as advance:
            write_chunks(output, lm, vocabulary.symbols, signature, parts, advance)
        return Trained(os.fspath(output), signature, report, sentences, tokens, tuple(lm.ngrams), domains, n_listed)


def _spooled(part: Part, store: Store) -> Part:
    """The part with its arrays in a temporary file, mapped, so that they take no memory until they are written."""
    file, ends = store.open(), np.cumsum([0, *map(len, part.arrays.values())]).tolist()
    for array, offset in zip(part.arrays.values(), ends, strict=False):
        store.write(file, array, offset)
    whole = np.frombuffer(mmap.mmap(file.descriptor, ends[-1], access=mmap.ACCESS_READ), np.uint8)
    arrays = {name: whole[begin:end] for name, (begin, end) in zip(part.arrays, pairwise(ends), strict=True)}
    return part._replace(arrays=arrays)


def _blocks(
    every: list[Source],
    options: TextOptions,
    hash: Hash,
    advance: Callable[[int], object],
    begins: list[int],
    on_wrapped: OnWrapped,
) -> Iterator[bytes]:
    """The blocks of the sources, none of two; `begins` gets the number of each source's first one."""
    number = 0
    for source in every:
        begins.append(number)
        for block in text_blocks(source.files, options, hash=hash, progress=advance, on_wrapped=on_wrapped):
            yield block
            number += 1


def _tell_wrapped(widths: dict[Path, int]) -> str:
    """What was done about files whose text is wrapped at these widths."""
    file, width = next(iter(widths.items()))
    if len(widths) == 1:
        return f"{file}: its lines are wrapped at about {width} characters: the lines of each paragraph were joined"
    return (
        f"the lines of {len(widths):,} files are wrapped, those of {file} at about {width} characters: the lines of"
        " each paragraph were joined"
    )


def _left(memory: int | None) -> int | None:
    """What the estimation may take, given what all may; a sixteenth is a reserve for what the allocator holds back."""
    return None if memory is None else memory - memory // 16 - max(0, resident() - PROGRAM)


def _tell_space(size: int, folder: str) -> None:
    free = shutil.disk_usage(folder).free
    _log.info("temporary files in %s: at most %.1f GB, %.1f GB are free", folder, size / 1e9, free / 1e9)
    if size > free:
        _log.warning("the disk may be too small: choose another folder (--tmp) or give more --memory")


@contextmanager
def _silent(total: int, description: str, unit: str) -> Iterator[Callable[[int], object]]:
    yield lambda more: None


def _pruning(options: EstimationOptions) -> str:
    parts = []
    if any(options.cutoffs):
        parts.append("cutoff-" + ".".join(map(str, options.cutoffs)))
    if options.max_ngrams is not None:
        parts.append(f"entropy-{options.max_ngrams}")
    if options.threshold is not None:
        parts.append(f"entropy-{options.threshold:g}")
    return "+".join(parts) or "none"


def _why(report: cleaning.Report, cause: str) -> str:
    rejected = report.as_dict()["rejected"]
    assert isinstance(rejected, dict)
    reasons = ", ".join(f"{name} {count:,}" for name, count in rejected.items() if count)
    if not reasons:
        return "it has no words; name another file"
    return f"all lines were left out (by filter: {reasons}); {cause or 'use --no-clean, or --skip-filter NAME'}"


def read(
    blocks: Iterable[bytes],
    streams: IdStreams,
    on: int,
    pretokenized: bool,
    report: cleaning.Report,
    threads: int,
    language: Language = DEFAULT,
) -> list[Interner]:
    """Blocks of lines → streams of ids of the lines that the filters `on` keep, and the interners that made them."""
    interners = [Interner(language) for _ in range(threads)]
    idle = list(range(threads))

    def ids(block: bytes) -> tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        kept, counts = cleaning.clean(block, on) if on else (block, report.counts[:0])
        number = idle.pop()
        try:
            return number, interners[number].block(kept, pretokenized), counts
        finally:
            idle.append(number)

    with ThreadPoolExecutor(threads) as pool:
        for number, stream, counts in map_in_pool(ids, blocks, pool, 2 * threads):
            streams.append(number, stream)
            report.counts[: counts.size] += counts
    return interners
