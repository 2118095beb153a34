"""Train a small model with a context model of two domains: Python's help, and the same in ROT13."""

import codecs
from pathlib import Path
from pydoc_data.topics import topics

import pytest

import capfst
from capfst.io import files as io_files

_LINES = [line.strip() for text in topics.values() for line in text.split("\n") if line.strip()]
LINES = _LINES[:2500]
OTHERS = [codecs.encode(line, "rot13") for line in LINES[:1500]]
UNHEARD = _LINES[-400:]
"""Lines of which hardly any is in the model's corpus."""


def train(path: Path) -> Path:
    """Train the model at this path. Each file is a source of its own, although it is small."""
    files = [path.with_name(name) for name in ("help.txt", "rot13.txt")]
    for file, lines in zip(files, (LINES, OTHERS), strict=True):
        file.write_text("\n".join(lines), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io_files, "_SMALL", 1)
        capfst.train(files, path, clean=False)
    return path
