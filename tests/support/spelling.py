"""A word in a shape, as the kernel writes it."""

import numpy as np

from capfst.casing.names import SPELLING
from capfst.casing.shapes import spell


def spelled(word: str, in_shape: int) -> str:
    """The kernel's spelling, which must not leave its place."""
    data = word.encode()
    out = np.full(2 + len(data) * 3 // 2 + 2, 7, np.uint8)
    out[2 : 2 + len(data)] = list(data)
    room = np.full(len(data) + len(data) * 3 // 2 + 1, 7, np.uint8)
    end = spell(out, 2, 2 + len(data), in_shape, room, SPELLING)
    assert (out[:2] == 7).all()
    assert (out[max(end, 2 + len(data)) :] == 7).all()
    assert room[-1] == 7
    return out[2:end].tobytes().decode()
