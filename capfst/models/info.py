"""Describe a model: `capfst info`.

In: a model. Out: a dictionary for JSON, and the same as text.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from capfst import models
from capfst.bilingual.evidence import PART as BILINGUAL
from capfst.bilingual.evidence import Evidence
from capfst.context.context_model import PART as CONTEXT
from capfst.context.context_model import SPELLINGS, Context
from capfst.context.noise import PART as NOISE
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
        "context": _described(model, CONTEXT, Context.of, _domains),
        "spellings": _described(model, SPELLINGS, lambda model: Context.of(model, SPELLINGS), _domains),
        "bilingual": _described(model, BILINGUAL, Evidence.of, lambda part: {"pairs": part.pairs}),
        "noise": NOISE in model.parts,
        "punctuation": _described(model, PUNCTUATION, Punctuation.of, lambda part: {"words": len(part.labels)}),
        "adapted": model.parts[ADAPTED].settings if ADAPTED in model.parts else None,
        "most_ambiguous": [
            {"word": model.symbols.lowercase(labels[0]).decode(), "forms": [model.symbols[label] for label in labels]}
            for labels in ranges
        ],
        "card": models.card(model.path),
    }


def _described(
    model: CapFst, part: str, read: Callable[[CapFst], Any], size: Callable[[Any], dict[str, int]]
) -> dict[str, Any] | None:
    """Describe a part of the model: its size and bytes, or the error if it cannot be used; None if there is none."""
    if part not in model.parts:
        return None
    try:
        return size(read(model)) | {"bytes": sum(map(len, model.parts[part].arrays.values()))}
    except CapfstError as error:
        return {"error": str(error)}


def _domains(context: Context) -> dict[str, int]:
    return {"domains": context.n_domains}


def render(description: dict[str, Any]) -> str:
    ngrams, parts = description["ngrams"], []
    for key, name, content in (
        ("context", "context model", "domains: {0}"),
        ("spellings", "spelling model", "domains: {0}"),
        ("noise", "input case", "is evidence"),
        ("punctuation", "punctuation", "knows {1}"),
        ("bilingual", "translations", "learned from {2}"),
    ):
        part = description[key]
        if part is True:
            parts.append((name, content))
        elif part and "error" in part:
            parts.append((name, f"cannot be used: {part['error']}"))
        elif part:
            size = next(iter(part.values()))
            sizes = size, quantity(size, "word"), quantity(size, "pair of lines", "pairs of lines")
            parts.append((name, f"{quantity(part['bytes'], 'byte')}, {content.format(*sizes)}"))
        elif key == "context":
            parts.append((name, "none, so only the LM decides"))
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
        *parts,
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
    read = {
        source["file"]: source["words"] * source.get("repeat", 1)
        for source in card["sources"]
        if "case" in source["use"]
    }
    total = sum(read.values())

    def share(source: dict[str, Any]) -> str:
        shares = [f"{100 * read[source['file']] / total:.1f} % of the words"] if "case" in source["use"] else []
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
