"""Split text into the words, which recasing can change, and protected text."""

import numpy as np

from capfst.casing.transducer import Transducer
from capfst.text.tokenizer import COMPOUND, WORD


def parts(text: str, transducer: Transducer) -> tuple[list[str], list[str]]:
    """Return the words of a text, which can change, and the text between them, which passes unchanged: blanks, tags,
    marks and protected tokens."""
    data = text.encode()
    words, between, end = [], [], 0
    for s, e, kind in zip(*transducer.words(np.frombuffer(data, np.uint8))[:3], strict=True):
        if kind in (WORD, COMPOUND):
            words.append(data[s:e].decode())
            between.append(data[end:s].decode())
            end = e
    return words, [*between, data[end:].decode()]
