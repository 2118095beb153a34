"""Split text into the words, which recasing can change, and protected text."""

import re

import numpy as np

from capfst.casing.transducer import Transducer
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.text.unicode import CLASS, INFO, IS_CASED, IS_UPPER, LETTER, is_alphanumeric


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


DOTTED = re.compile("İ|[iI]\u0307")


def with_dots(form: str, token: str) -> str:
    """Return a form of a token with İ where the token has it and the form has its lowercase."""
    written = iter(DOTTED.findall(token))
    return DOTTED.sub(lambda found: "İ" if next(written) == "İ" and found[0] == "i\u0307" else found[0], form)


def is_camel_case(word: str) -> bool:
    """Return whether an unknown word keeps its case."""
    flags = [flags for c in word if (flags := int(INFO[ord(c)])) & CLASS == LETTER and c != "ß"]
    kinds = "".join("U" if f & IS_UPPER else "l" if f & IS_CASED else "." for f in flags)
    if not all(is_alphanumeric(int(INFO[ord(c)]) & CLASS) for c in word):
        return False
    kinds = kinds.replace(".", "")
    return "U" in kinds[1:] and "l" in kinds and not re.fullmatch("lU{4,}", kinds)
