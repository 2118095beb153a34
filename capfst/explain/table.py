"""An explanation as a table of text."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import category

from capfst.exceptions import quantity
from capfst.explain.explanation import ExplainedForm, ExplainedWord, Explanation, Parts, Reason

_CLOSE = 10.0  # other casings that cost at most so much more are shown
_MOST_FORMS, _MOST_REASONS = 4, 4
_LEAST_REASON = 0.5

_HEADINGS = {"lm": "LM", "input": "input case", "words": "word list"}


def heading(part: str) -> str:
    """Return the heading of a part."""
    return _HEADINGS.get(part, part)


def shown_forms(word: ExplainedWord) -> tuple[ExplainedForm, ...]:
    """Return the casings of a word that are worth showing; none if its casing was never in doubt."""
    forms = [form for form in word.forms if form.margin <= _CLOSE][:_MOST_FORMS]
    if len(forms) < 2 and word.forms[0].text != word.given:
        forms = list(word.forms[:2])
    return tuple(forms) if len(forms) > 1 else ()


def strongest(reasons: tuple[Reason, ...]) -> list[Reason]:
    """Return the reasons worth showing."""
    return [reason for reason in reasons[:_MOST_REASONS] if abs(reason.cost) >= _LEAST_REASON]


def used_parts(explanation: Explanation) -> list[str]:
    """Return the parts that any casing shown has."""
    shown = [casing.parts for casing in explanation.casings]
    shown += [form.differences for word in explanation.words for form in shown_forms(word)]
    return [part for part in explanation.casings[0].parts if any(abs(parts[part]) >= 0.005 for parts in shown)]


def sum_of(parts: Parts) -> str:
    """Return the parts as a sum: LM 43.01 + context 3.00."""
    shown = (f"{heading(part)} {cost:.2f}" for part, cost in parts.items() if abs(cost) >= 0.005)
    return " + ".join(shown)


def notes(explanation: Explanation) -> list[str]:
    """Return what recasing writes, if that is not the best casing."""
    return [] if explanation.recased == explanation.text else [f"recasing writes: {explanation.recased}"]


def printable(text: str) -> str:
    """Return a text in which U+FFFD replaces what could not be shown, or would change a terminal: control characters,
    invisible ones, and lone surrogates."""
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else "\ufffd" for c in text)


def table(explanation: Explanation) -> str:
    """Return a table of the casings that competed: how much more the line costs in each, by part; the n-gram that the
    LM reads it by; and for the next best casing the strongest reasons of the context model."""
    parts = used_parts(explanation)
    rows = [["word", "casing", "costs more", *(heading(part) for part in parts), "n-gram"]]
    lines = [explanation.text, *notes(explanation)]
    lines += [f"-ln P {casing.cost:.2f} = {sum_of(casing.parts)}" for casing in explanation.casings[:1]]
    lines += [f"{casing.cost:.2f}  {casing.text}" for casing in explanation.casings[1:]]
    after: dict[int, str] = {}  # lines after rows
    n_certain = 0
    for word in explanation.words:
        forms = shown_forms(word)
        n_certain += not forms
        for k, form in enumerate(forms):
            costs = [form.margin, *(form.differences[part] for part in parts)]
            numbers = [f"{cost:+.2f}" if k else "" for cost in costs]
            rows.append([word.given if k == 0 else "", form.text, *numbers, str(form.ngram)])
            if reasons := strongest(form.reasons) if k == 1 else []:
                after[len(rows) - 1] = "context: " + ", ".join(f"{each.text} {each.cost:+.1f}" for each in reasons)
    if len(rows) > 1:
        lines += ["", *_aligned(rows, after)]
    if n_certain:
        lines += ["", f"{quantity(n_certain, 'token')} without a casing that costs up to {_CLOSE:.0f} more."]
    return printable("\n".join(lines))


def _aligned(rows: list[list[str]], after: dict[int, str]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if k in (0, 1, len(row) - 1) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
        if number in after:
            yield " " * (widths[0] + 4) + after[number]
