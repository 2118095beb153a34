"""Text as what recasing may change and what it must not."""

import numpy as np

from capfst.casing.transducer import Transducer
from capfst.text.tokenizer import COMPOUND, WORD


def parts(text: str, transducer: Transducer) -> tuple[list[str], list[str]]:
    """The words of a text, which may change, and what stands between them, which passes untouched: blanks, tags, marks
    and protected tokens."""
    data = text.encode()
    words, between, end = [], [], 0
    for s, e, kind in zip(*transducer.words(np.frombuffer(data, np.uint8))[:3], strict=True):
        if kind in (WORD, COMPOUND):
            words.append(data[s:e].decode())
            between.append(data[end:s].decode())
            end = e
    return words, [*between, data[end:].decode()]
