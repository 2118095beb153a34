"""Adapt a model to a corpus, which may be small: `train` with the option `base`.

In: the base, a model; the corpus as labels. Out: a model with the words of both. Its LM is the linear interpolation of
the base's LM and the corpus's, with the weights under which held-out sentences of the corpus are most likely. Its
context model is the base's, brought up to date (context/adapt.py).
"""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from capfst import models
from capfst.context.adapt import adapted, labels_of
from capfst.context.context_model import PART, Context
from capfst.context.sample import sample
from capfst.context.train import Sample
from capfst.exceptions import OptionError
from capfst.fst.read import CapFst, grammar_part
from capfst.fst.signature import Signature
from capfst.fst.symbols import Symbols, check
from capfst.fst.trailer import Part
from capfst.fst.write import write_chunks
from capfst.lm.acceptor import compile_levels, lay_out
from capfst.lm.arpa_read import Arpa
from capfst.lm.estimate import estimate
from capfst.lm.mix import mix, tune
from capfst.lm.query import LanguageModel, token_costs
from capfst.models.convert import as_arpa, contexts_for, independent_parts
from capfst.models.info import ADAPTED
from capfst.options import TrainOptions
from capfst.punctuation.marks import Punctuation
from capfst.text.language import Language
from capfst.text.restoring import rules_of
from capfst.version import __version__

if TYPE_CHECKING:
    from capfst.training.stages import Counted, Inputs, Job

_log = logging.getLogger(__name__)

HELD_OUT = 10
"""One in this many sentences is held out to find the weights of the LMs; then the LM is estimated from all."""
LEAST_WEIGHT = 0.01
"""Of either LM, so that no word gets the probability 0."""


def open_base(options: TrainOptions) -> CapFst | None:
    """Open the model that `base` names, if any.

    Raises:
        ModelError: it cannot be used.
        OptionError: other options do not match it.
    """
    if options.base is None:
        return None
    base = models.open(options.base)
    if options.pretokenized and not base.signature.pretokenized:
        raise OptionError(
            f"`pretokenized` does not match `base`: {base.path} was trained on text that capfst tokenizes. Leave out"
            " `pretokenized`."
        )
    if options.restores_marks:
        Punctuation.of(base)
    if (options.language, options.restore, options.grammar) != (None, None, None):
        name = rules_of(options.language, options.restored, options.grammar).name
        if name != base.signature.lowercasing:
            raise OptionError(
                f"`language`, `restore` and `grammar` do not match `base`: they make {name!r}, but {base.path} is"
                f" {base.signature.lowercasing!r}. Leave them out."
            )
    return base


def rules_for(base: CapFst, languages: list[str]) -> Language:
    """Return the rules of the base, for a corpus of files in these languages; none if none was named.

    Raises:
        OptionError: the base requires other languages.
    """
    own, context = base.symbols.language.names, Context.of(base)
    if context is not None and context.n_languages:
        wrong = sorted(set(languages) - set(own))
        if not languages or wrong:
            found = f"it does not know {', '.join(wrong)}" if wrong else f"the corpus has none, as in {own[0]}=FILE"
            raise OptionError(f"`base` is {base.path}, a model of the languages {', '.join(own)}: {found}. Name these.")
    elif languages:
        raise OptionError(
            f"`base` is {base.path}, which does not distinguish languages, but the inputs name some, such as"
            f" {languages[0]}. Leave out the languages."
        )
    return base.symbols.language


def adapt(
    output: str | os.PathLike[str], base: CapFst, text: Counted, restricted: Counted, inputs: Inputs, job: Job
) -> tuple[Signature, tuple[int, ...], int, tuple[float, float]]:
    """Write the base adapted to the corpus; return the signature, the n-grams by order, the domains, and the weights of
    the base's LM and of the corpus's.

    text: the corpus with all its words. restricted: the corpus with the words that the LM keeps, and the names in word
    lists.
    """
    symbols, labels = restricted.vocabulary.symbols, np.array(restricted.corpus.labels)
    weights = _weights(base, text, restricted, job.options)
    levels = estimate(labels, len(symbols) - 1, job.options)
    mixed = mix([as_arpa(base), Arpa(list(symbols)[1:], levels)], weights, inputs.rules.lowering)
    union = Symbols.from_words(mixed.words, inputs.rules)
    starts = check(union)
    contexts = _contexts(base, union, starts, text, inputs, job)
    described = Part({"base": str(base.signature), "weights": list(weights)}, {})
    parts = grammar_part(inputs.rules) | {name: context.part() for name, context in contexts.items()}
    parts |= independent_parts(base, union, starts) | {ADAPTED: described}
    signature = replace(
        base.signature,
        version=__version__,
        order=len(mixed.levels),
        smoothing="adapted",
        corpus=f"{base.signature.corpus}+{text.digest}",
    )
    write_chunks(output, lay_out(mixed.levels), union, signature, parts)
    domains = max((context.n_domains for context in contexts.values()), default=0)
    return signature, tuple(map(len, mixed.levels)), domains, weights


def _weights(base: CapFst, text: Counted, restricted: Counted, options: TrainOptions) -> tuple[float, float]:
    """Return the weights of the base's LM and of the corpus's, under which held-out sentences are most likely if the
    corpus's LM is estimated from the others."""
    symbols, labels = restricted.vocabulary.symbols, np.array(restricted.corpus.labels)
    sentences = np.cumsum(labels == 0) - (labels == 0)
    is_held_out = sentences % HELD_OUT == HELD_OUT - 1
    if not is_held_out.any():
        return 0.5, 0.5
    held_out, rest = labels[is_held_out], labels[~is_held_out]
    seen = np.bincount(rest, minlength=len(symbols)) > 0
    seen[restricted.vocabulary.unknown] = False
    own = compile_levels(estimate(rest, len(symbols) - 1, options))
    own_costs = token_costs(*own, held_out)
    own_costs[~seen[held_out]] = np.inf
    unknown = LanguageModel(base).unknown
    in_base = labels_of(base.symbols, symbols)[labels]
    in_base[: text.corpus.size] = labels_of(base.symbols, text.vocabulary.symbols)[text.corpus.labels]  # of all words
    in_base = in_base[is_held_out].astype(np.uint32)
    in_base[(in_base == 0) & (held_out > 0)] = unknown
    costs = token_costs(base.states, base.arcs, base.start, in_base)
    costs[in_base == unknown] = np.inf
    weight = float(np.clip(tune(np.stack([costs, own_costs]))[0], LEAST_WEIGHT, 1 - LEAST_WEIGHT))
    return weight, 1 - weight


def _contexts(
    base: CapFst, symbols: Symbols, starts: npt.NDArray[np.int32], text: Counted, inputs: Inputs, job: Job
) -> dict[str, Context]:
    """Return the context models of the base, for these symbols, that of case adapted to the text."""
    if not job.options.context:
        return {}
    contexts = contexts_for(base, symbols, starts)
    if PART in contexts:
        labels = labels_of(symbols, text.vocabulary.symbols)
        labels[1:][labels[1:] == 0] = labels[text.vocabulary.unknown]  # words that the LM does not keep
        languages = base.symbols.language.names if contexts[PART].n_languages else []
        learned = _sample(languages, labels.astype(np.uint32), text, inputs, job.options.of_context.max_labels)
        contexts[PART] = adapted(contexts[PART], symbols, starts, text.corpus, labels, learned, job.show)
    elif not contexts:
        _log.warning("%s has no context model, so the adapted model has none either.", base.path)
    return contexts


def _sample(languages: list[str], to: npt.NDArray[np.uint32], text: Counted, inputs: Inputs, most: int) -> Sample:
    """Return what the context model learns from, as labels of the adapted model.

    languages: of the base, as it numbers them; none if it has only one. to: these labels, by label of the corpus.
    """
    numbers = {language: number for number, language in enumerate(languages)}
    of_sources = np.array([numbers.get(source.language or "", 0) for source in inputs.sources], np.int64)
    word_lists = text.vocabulary.listed
    if languages:
        by_language = dict(zip(sorted(set(inputs.languages)), word_lists, strict=False))
        word_lists = [by_language.get(language, np.zeros(0, np.uint32)) for language in languages]
    sources = [to[labels] for labels in sample(*text.corpus, most)]
    return Sample.of(sources, of_sources, [to[entries] for entries in word_lists], int(to[text.vocabulary.unknown]))
