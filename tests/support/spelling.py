"""Write a word in a shape with the kernel."""

import numpy as np

from capfst.casing.names import spelling_of
from capfst.casing.shapes import spell
from capfst.text.language import DEFAULT, Language
from capfst.text.unicode import GROWTH


def spelled(word: str, in_shape: int, language: Language = DEFAULT) -> str:
    """Return the spelling by the kernel; check that it does not write outside of its buffers."""
    data = word.encode()
    longest = len(data) * 3 // 2 if language is DEFAULT else GROWTH * len(data)
    out = np.full(2 + longest + 2, 7, np.uint8)
    out[2 : 2 + len(data)] = list(data)
    scratch = np.full(len(data) + (1 + GROWTH) * longest + 1, 7, np.uint8)
    end = spell(out, 2, 2 + len(data), in_shape, scratch, spelling_of(language))
    assert (out[:2] == 7).all()
    assert (out[max(end, 2 + len(data)) :] == 7).all()
    assert scratch[-1] == 7
    return out[2:end].tobytes().decode()
