"""Records whose text is a translation: its source and their alignment are other fields or columns of the record.

In: the options, and the texts of a record. Out: where the other texts are; and whether they fit together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from capfst.exceptions import CapfstError
from capfst.io.alignments import parse
from capfst.io.protocol import BatchOptions, TextOptions

Others = tuple[bytes, ...]
"""The source of a text, and perhaps the alignment, as UTF-8; empty if the text is no translation."""


def other_options(options: TextOptions) -> Iterator[TextOptions]:
    """For each of the other texts of a record, the options with which it is the text."""
    if isinstance(options, BatchOptions):
        for name in (options.source, options.align):
            if name is not None:
                yield only(options, name)


def document_options(options: TextOptions) -> TextOptions | None:
    """The options with which what tells documents apart is the text; None if no field or column does."""
    return only(options, options.document) if isinstance(options, BatchOptions) and options.document else None


def only(options: BatchOptions, name: str) -> BatchOptions:
    """The options with which this field or column is the text, and nothing belongs to it."""
    return replace(options, field=name, column=name, source=None, align=None, document=None)


def settings(options: TextOptions) -> dict[str, str]:
    """What of the options an output depends on."""
    named = {name: getattr(options, name, None) for name in ("source", "align", "document")}
    return {key: name for key, name in named.items() if name is not None}


def misfit(text: str, others: Sequence[str]) -> str | None:
    """Why the other texts do not belong to a text; None if they do."""
    lines = [other.split("\n") for other in (text, *others)]
    for name, other in zip(("source", "alignment"), lines[1:], strict=False):
        if len(other) != len(lines[0]):
            return f"its {name} has {len(other)} lines, and its text {len(lines[0])}"
    if len(lines) < 3:
        return None
    try:
        pairs = parse("\n".join(lines[2]).encode("utf-8", "surrogatepass"), len(lines[0]), "its alignment")
    except CapfstError as error:
        return str(error)
    sizes = np.array([[len(line.split()) for line in text] for text in (lines[1], lines[0])])
    line_of = np.repeat(np.arange(len(lines[0])), np.diff(pairs.offsets))
    beyond = (pairs.source >= sizes[0][line_of]) | (pairs.target >= sizes[1][line_of])
    if not beyond.any():
        return None
    pair = int(beyond.argmax())
    n_source, n_target = sizes[:, line_of[pair]].tolist()
    return (
        f"there is no pair {pairs.source[pair]}-{pairs.target[pair]}: source and text have {n_source} and {n_target}"
        " words"
    )


def joined(others: Iterable[Others]) -> list[bytes]:
    """The other texts of several records, each kind as one text with a line end behind each record's."""
    return [b"".join(text + b"\n" for text in texts) for texts in zip(*others, strict=True)]
