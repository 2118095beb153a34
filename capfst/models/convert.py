"""Convert cap.fst ↔ ARPA, FSTs that OpenFst wrote → cap.fst, and mix several models into one.

In: a file in one format, or models. Out: a file in the other format, or one model, written completely or not at all.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst import models as bundled
from capfst.bilingual.evidence import PART as BILINGUAL
from capfst.casing import encode
from capfst.casing.shapes import N_SHAPES, Shape
from capfst.casing.transducer import Transducer
from capfst.context.adapt import Counts, added, counts_of, labels_of, transferred, with_counts
from capfst.context.context_model import PART, SPELLINGS, Context, of_spellings
from capfst.context.lexicon import label_shapes
from capfst.context.noise import PART as NOISE
from capfst.corpus.diagnose import diagnose
from capfst.exceptions import CorpusError, ModelError, OptionError
from capfst.fst.read import CapFst, grammar_part, is_fst
from capfst.fst.signature import Signature
from capfst.fst.symbols import EPSILON, UNKNOWN, Symbols, check
from capfst.fst.trailer import Part
from capfst.fst.write import write_chunks, write_fst
from capfst.io.files import refuse_special
from capfst.lm.acceptor import compile_levels, decompile, lay_out
from capfst.lm.arpa_read import Arpa, read_arpa
from capfst.lm.arpa_write import write_arpa
from capfst.lm.mix import mix, tune
from capfst.lm.query import token_costs
from capfst.punctuation.marks import PART as PUNCTUATION
from capfst.punctuation.marks import Punctuation
from capfst.system.atomic import check_output
from capfst.text.restoring import rules_of
from capfst.text.unicode import lower_bytes
from capfst.version import __version__


def import_model(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    pretokenized: bool = False,
    language: str | None = None,
    restore: str | None = None,
    grammar: str | os.PathLike[str] | None = None,
) -> str:
    """Convert an ARPA file (plain or compressed) whose words are surface forms, or a model that OpenFst wrote in
    another layout, to a model without a context model. Return why its words cannot be surface forms, as `diagnose`.

    pretokenized: the text of the ARPA file was split at white space, not by capfst's tokenizer: ARPA does not record
    that. language, restore, grammar: as for `train`. An FST records all of these.

    Raises:
        ModelError: the file is not a valid ARPA model, and the line is named; or the FST is no model, damaged, or can
            be used as it is.
        OptionError: an option with an FST.
        CorpusError: a pipe, which can be read only once.
    """
    refuse_special(source)
    if is_fst(source):
        recorded = {"pretokenized": pretokenized, "language": language, "restore": restore, "grammar": grammar}
        if given := [name for name, value in recorded.items() if value]:
            raise OptionError(f"{source}: the FST records `{given[0]}`. Leave it out.")
        check_output(output, source)
        model = CapFst(source, is_mappable=False)
        parts = grammar_part(model.symbols.language)
        write_fst(output, model.states, model.arcs, model.symbols, model.start, model.signature, parts)
        return ""
    check_output(output, source, grammar)
    rules = rules_of(language, restore, grammar)
    words, levels = read_arpa(source, rules.lowering)
    states, arcs, start = compile_levels(levels)
    signature = Signature(
        version=__version__,
        order=len(levels),
        smoothing="arpa",
        pruning="unknown",
        tokenizer="none" if pretokenized else "capfst",
        lowercasing=rules.name,
        corpus=hashlib.blake2b(arcs.data, digest_size=8).hexdigest(),
    )
    write_fst(output, states, arcs, Symbols.from_words(words, rules), start, signature, grammar_part(rules))
    return diagnose(words) if rules.restored == "case" else ""


def export_arpa(lm: str | os.PathLike[str], arpa: str | os.PathLike[str]) -> None:
    """Write a model as ARPA (log10 probabilities and backoff weights), compressed by its extension (.gz, .zst, …)."""
    check_output(arpa, lm, streams=True)
    model = bundled.open(lm)
    write_arpa(arpa, model.states, model.arcs, model.start, model.symbols)


class Mixed(NamedTuple):
    weights: list[float]  # one per model
    context: str | None  # path of the model that the context model is from


def mix_models(
    lms: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    weights: Sequence[float] | None = None,
    tune_on: Iterable[bytes] = (),
    context: bool = True,
) -> Mixed:
    """Write the linear interpolation of models as one backoff model.

    weights: one per model, with the sum 1; if None, those under which the text `tune_on` (blocks of whole lines of
    cased UTF-8) is most likely, found by EM (Dempster et al. 1977). context: False for the LM alone; otherwise the new
    model gets the context model and the bilingual part of the model with the largest weight (the first of several), and
    the context model the evidence of the other models on the shapes of words.

    Raises:
        ModelError: the models differ in tokenizer or language, or one cannot be used.
        CorpusError: there is no text to tune the weights on.
        OptionError: the weights are not as required.
    """
    models = [bundled.open(lm) for lm in lms]
    for name, differ, same in (
        ("tokenizer", "have different tokenizers", "tokenizer"),
        ("lowercasing", "are for different languages", "`language`, `restore` and `grammar`"),
    ):
        values = sorted({getattr(model.signature, name) for model in models})
        if len(values) > 1:
            found = ", ".join(values)
            raise ModelError(f"the models {differ} ({found}). Only models with the same {same} can be mixed.")
    language = models[0].symbols.language
    if weights is None:
        weights = tune(_token_costs(models, tune_on)).tolist()
    mixed = mix([as_arpa(model) for model in models], weights, language.lowering)
    pairs = list(zip(models, weights, strict=True))
    described = " ".join(f"{weight:.6g}*{model.signature.corpus}" for model, weight in pairs).encode()
    signature = replace(
        models[0].signature,
        version=__version__,
        order=len(mixed.levels),
        smoothing="mixed",
        pruning="+".join(sorted({model.signature.pruning for model in models})),
        corpus=hashlib.blake2b(described, digest_size=8).hexdigest(),
    )
    symbols = Symbols.from_words(mixed.words, language)
    heaviest = models[int(np.argmax(weights))]
    starts = check(symbols)
    contexts = contexts_for(heaviest, symbols, starts) if context else {}
    if PART in contexts:
        others = [model for model, weight in pairs if model is not heaviest and weight > 0]
        more = [_counts(model, symbols, starts) for model in others]
        if more:
            contexts[PART] = with_counts(contexts[PART], symbols, starts, reduce(added, more))
    parts = grammar_part(language) | {name: learned.part() for name, learned in contexts.items()}
    if context:
        parts |= independent_parts(heaviest, symbols, starts)
    write_chunks(output, lay_out(mixed.levels), symbols, signature, parts)
    return Mixed(list(weights), heaviest.path if contexts else None)


def contexts_for(model: CapFst, symbols: Symbols, starts: npt.NDArray[np.int32]) -> dict[str, Context]:
    """Return the context models of a model for a mixture with these symbols, whose words' first labels are `starts`, by
    the names of their parts."""
    contexts: dict[str, Context] = {}
    old = _first_labels(model, symbols, starts)
    if learned := Context.of(model):
        contexts[PART] = transferred(learned, old, symbols, starts)
    if spellings := Context.of(model, SPELLINGS):
        ranks = spellings.shapes[labels_of(model.symbols, symbols)]
        contexts[SPELLINGS] = of_spellings(transferred(spellings, old, symbols, starts, ranks))
    return contexts


def independent_parts(model: CapFst, symbols: Symbols, starts: npt.NDArray[np.int32]) -> dict[str, Part]:
    """Return the parts of a model that do not depend on its LM, for a model with these symbols, whose words' first
    labels are `starts`."""
    parts = {name: model.parts[name] for name in (BILINGUAL, NOISE) if name in model.parts}
    if PUNCTUATION in model.parts:
        marks = Punctuation.of(model).for_symbols(model.symbols, symbols, starts)
        parts[PUNCTUATION] = marks.part()
    return parts


def _first_labels(model: CapFst, symbols: Symbols, starts: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the first label in a model of each word of these symbols; 0 if it lacks the word."""
    return model.symbols.first_labels_of(symbols.words(starts), model.starts)


def _counts(model: CapFst, symbols: Symbols, starts: npt.NDArray[np.int32]) -> Counts:
    """Return the counts of a model's words in its context model; one of each word if it has none, in the most frequent
    form."""
    old = _first_labels(model, symbols, starts)
    if context := Context.of(model):
        return counts_of(context, old)
    form_shapes = label_shapes(model.symbols, model.starts)[old]
    seen = (old > 0) & (form_shapes != Shape.CASELESS)
    shapes = np.zeros((len(old), N_SHAPES), np.int64)
    shapes[np.flatnonzero(seen), form_shapes[seen]] = 1
    return Counts(shapes, seen.astype(np.float64), np.zeros((0, *shapes.shape), np.int32))


def as_arpa(model: CapFst) -> Arpa:
    return Arpa(list(model.symbols)[1:], decompile(model.states, model.arcs))


def _token_costs(models: Sequence[CapFst], text: Iterable[bytes]) -> npt.NDArray[np.float64]:
    """Return float64[models, tokens]: −ln P of the text's tokens under each model, +inf for its OOV words.

    Words outside the union of the vocabularies are the token `<unk>`.
    """
    vocabularies = [{word: label for label, word in enumerate(model.symbols)} for model in models]
    language = models[0].symbols.language
    words = set().union(*vocabularies) - {EPSILON}
    union = sorted(words, key=lambda word: (lower_bytes(word.encode(), language.lowering), word))
    symbols = Symbols.from_words(union, language)
    pretokenized = models[0].signature.pretokenized
    transducer = Transducer(symbols, check(symbols), pretokenized)
    own = [np.array([0, *(known.get(word, known[UNKNOWN]) for word in union)], np.uint32) for known in vocabularies]
    parts = []
    for block in text:
        buf = np.frombuffer(block, np.uint8)
        common = encode.labels(buf, transducer.words(buf), symbols, union.index(UNKNOWN) + 1)
        common = common[(common > 0) | (np.append(0, common[:-1]) > 0)]  # training ignores blank lines, too
        rows = []
        for model, labels, known in zip(models, own, vocabularies, strict=True):
            row = token_costs(model.states, model.arcs, model.start, labels[common])
            row[labels[common] == known[UNKNOWN]] = np.inf
            rows.append(row)
        parts.append(np.stack(rows))
    if not any(part.size for part in parts):
        raise CorpusError("the text of `tune_on` has no words. Use text with some, or `weights`.")
    return np.concatenate(parts, axis=1)
