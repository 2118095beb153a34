"""Describe a model: `capfst info`.

In: a model. Out: a dictionary for JSON, and the same as text.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from capfst import models
from capfst.bilingual.evidence import PART as BILINGUAL
from capfst.bilingual.evidence import Evidence
from capfst.context.context_model import PART as CONTEXT
from capfst.context.context_model import Context
from capfst.context.noise import PART as NOISE
from capfst.context.spellings import PART as SPELLINGS
from capfst.exceptions import CapfstError, quantity
from capfst.fst.read import CapFst
from capfst.punctuation.marks import PART as PUNCTUATION
from capfst.punctuation.marks import Punctuation

ADAPTED = "adapted"
"""Name of the part of an adapted model that describes the adaptation (training/adapt.py)."""

_LISTED = 10  # ambiguous words
_FORMS = 8  # of each ambiguous word, in the text


def describe(model: CapFst) -> dict[str, Any]:
    """Return signature, sizes, n-grams per order, the context model, the bilingual part, the words with the most
    surface forms (most frequent form first), and the model card of a bundled model."""
    count = sum(model.ngrams)
    sizes = np.diff(model.starts)
    ambiguous = np.argsort(-sizes, kind="stable")[:_LISTED]
    ranges = [range(model.starts[word], model.starts[word + 1]) for word in ambiguous if sizes[word] > 1]
    return {
        "path": model.path,
        "signature": str(model.signature),
        "settings": asdict(model.signature),
        "order": model.order,
        "ngrams": list(model.ngrams),
        "states": len(model.states),
        "arcs": len(model.arcs),
        "surface_forms": len(model.symbols) - 1,
        "words": len(sizes),
        "ambiguous_words": int((sizes > 1).sum()),
        "bytes": model.bytes,
        "bytes_per_ngram": model.bytes / count,
        "context": _context(model, CONTEXT),
        "spellings": _context(model, SPELLINGS),
        "bilingual": _bilingual(model),
        "noise": NOISE in model.parts,
        "punctuation": _punctuation(model),
        "adapted": model.parts[ADAPTED].settings if ADAPTED in model.parts else None,
        "most_ambiguous": [
            {"word": model.symbols.lowercase(labels[0]).decode(), "forms": [model.symbols[label] for label in labels]}
            for labels in ranges
        ],
        "card": models.card(model.path),
    }


def _context(model: CapFst, name: str) -> dict[str, Any] | None:
    """Describe a context model of the model: its number of domains and bytes, or the error if it cannot be used."""
    try:
        context = Context.of(model, name)
    except CapfstError as error:
        return {"error": str(error)}
    if context is None:
        return None
    return {"domains": context.n_domains, "bytes": sum(map(len, model.parts[name].arrays.values()))}


def _describe_context(context: dict[str, Any] | None) -> str:
    if context is None:
        return "none, so only the LM decides"
    if "error" in context:
        return f"cannot be used: {context['error']}"
    return f"{quantity(context['bytes'], 'byte')}, domains: {context['domains']}"


def _bilingual(model: CapFst) -> dict[str, Any] | None:
    """Describe the bilingual part of the model: the number of line pairs that it was learned from and its bytes, or the
    error if it cannot be used."""
    try:
        bilingual = Evidence.of(model)
    except CapfstError as error:
        return {"error": str(error)}
    if bilingual is None:
        return None
    return {"pairs": bilingual.pairs, "bytes": sum(map(len, model.parts[BILINGUAL].arrays.values()))}


def _punctuation(model: CapFst) -> dict[str, Any] | None:
    """Describe the punctuation of the model: the number of words that it knows and its bytes, or the error if it cannot
    be used."""
    if PUNCTUATION not in model.parts:
        return None
    try:
        words = len(Punctuation.of(model).labels)
    except CapfstError as error:
        return {"error": str(error)}
    return {"words": words, "bytes": sum(map(len, model.parts[PUNCTUATION].arrays.values()))}


def _describe_punctuation(punctuation: dict[str, Any]) -> str:
    if "error" in punctuation:
        return f"cannot be used: {punctuation['error']}"
    return f"{quantity(punctuation['bytes'], 'byte')}, knows {quantity(punctuation['words'], 'word')}"


def render(description: dict[str, Any]) -> str:
    """Format the description as lines of text."""
    ngrams, spellings = description["ngrams"], description["spellings"]
    bilingual = description["bilingual"]
    from_translations = []
    if bilingual is not None and "error" in bilingual:
        from_translations = [("translations", f"cannot be used: {bilingual['error']}")]
    elif bilingual is not None:
        pairs = quantity(bilingual["pairs"], "pair of lines", "pairs of lines")
        learned = f"{quantity(bilingual['bytes'], 'byte')}, learned from {pairs}"
        from_translations = [("translations", learned)]
    rows = [
        ("model", description["path"]),
        ("signature", description["signature"]),
        *((f"{n}-grams", f"{count:,}") for n, count in enumerate(ngrams, 1)),
        ("all n-grams", f"{sum(ngrams):,}"),
        ("states", f"{description['states']:,}"),
        ("arcs", f"{description['arcs']:,}"),
        ("surface forms", f"{description['surface_forms']:,}"),
        ("lowercase words", f"{description['words']:,} ({description['ambiguous_words']:,} with several forms)"),
        ("bytes", f"{description['bytes']:,} ({description['bytes_per_ngram']:.1f} per n-gram)"),
        ("context model", _describe_context(description["context"])),
        *([("spelling model", _describe_context(spellings))] if spellings else []),
        *([("input case", "is evidence")] if description["noise"] else []),
        *([("punctuation", _describe_punctuation(marks))] if (marks := description["punctuation"]) else []),
        *from_translations,
        *([("adapted from", description["adapted"]["base"])] if description["adapted"] else []),
    ]
    lines = [f"{name:<16} {value}" for name, value in rows]
    if description["most_ambiguous"]:
        lines.append("most ambiguous:")
    for entry in description["most_ambiguous"]:
        forms = entry["forms"]
        more = f" … ({len(forms)})" if len(forms) > _FORMS else ""
        lines.append(f"  {entry['word']}: {' '.join(forms[:_FORMS])}{more}")
    if description["card"]:
        lines += _render_card(description["card"])
    return "\n".join(lines)


def _render_card(card: dict[str, Any]) -> list[str]:
    lists = dict.fromkeys(f"{each['origin']} ({each['license']})" for each in card["lists"])
    total = sum(source["words"] for source in card["sources"] if "case" in source["use"])

    def share(source: dict[str, Any]) -> str:
        shares = [f"{100 * source['words'] / total:.1f} % of the words"] if "case" in source["use"] else []
        return ", ".join([*shares, *["punctuation"] * ("marks" in source["use"])])

    return [
        card["about"],
        "trained on:",
        *(
            f"  {source['file']}: {source['origin']} ({source['license']}; {share(source)})"
            for source in card["sources"]
        ),
        *(f"  {text['kind']}: written from {', '.join(text['from'])}" for text in card["written"]),
        *(f"  lists: {origin}" for origin in lists),
        "scores (with --sentence-case):",
        *(
            f"  {row['text']}: accuracy {row['accuracy']:.2f}, F1 {row['f1']:.2f}, CER {row['cer']:.2f}"
            for row in card["figures"]
        ),
        "limits:",
        *(f"  {limit}" for limit in card["limits"]),
    ]
