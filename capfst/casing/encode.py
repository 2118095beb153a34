"""Cased text → the LM's own words: what `tokenize` prints and `perplexity` measures.

In: buffers of text. Out: each word as its label, `<unk>` for what the model does not know, a 0 after each line; or as
text.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import Words
from capfst.fst.symbols import Symbols
from capfst.system.kernels import allocating
from capfst.text.tokenizer import NEWLINE, canonical


@allocating
def _exact(buf, plain, starts, ends, kinds, first, forms, data, offsets, unknown, labels):  # type: ignore[no-untyped-def]
    word = np.empty(max(8, (ends - starts).max() if ends.size else 0), np.uint8)
    for i in range(starts.size):
        labels[i] = 0 if kinds[i] == NEWLINE else unknown
        if forms[i] == 0:
            continue
        if plain:
            size = ends[i] - starts[i]
            word[:size] = buf[starts[i] : ends[i]]
        else:
            size = canonical(buf, starts[i], ends[i], kinds[i], word)
        for label in range(first[i], first[i] + forms[i]):
            start = offsets[label]
            if offsets[label + 1] - start == size:
                same = True
                for k in range(size):
                    if data[start + k] != word[k]:
                        same = False
                        break
                if same:
                    labels[i] = label
                    break


def labels(
    buf: npt.NDArray[np.uint8], words: Words, symbols: Symbols, unknown: int, pretokenized: bool
) -> npt.NDArray[np.uint32]:
    """The labels of the words as they are cased; `unknown` for what the vocabulary lacks, 0 for line ends."""
    found = np.empty(len(words.token_types), np.uint32)
    _exact(buf, pretokenized, *words, symbols.data, symbols.offsets, unknown, found)
    return found


@allocating
def _join(buf, plain, starts, ends, kinds, out):  # type: ignore[no-untyped-def]
    j = 0
    begins = True
    for i in range(starts.size):
        if kinds[i] == NEWLINE:
            out[j] = 10
            j += 1
            begins = True
            continue
        if not begins:
            out[j] = 32
            j += 1
        begins = False
        if plain:
            size = ends[i] - starts[i]
            out[j : j + size] = buf[starts[i] : ends[i]]
            j += size
        else:
            j += canonical(buf, starts[i], ends[i], kinds[i], out[j:])
    return j


def spaced(buf: npt.NDArray[np.uint8], words: Words, pretokenized: bool) -> memoryview:
    """The words as the LM knows them, case and all, a space between two; a line stays a line."""
    out = np.empty(2 * buf.size + 6 * len(words.token_types) + 8, np.uint8)
    return out[: _join(buf, pretokenized, *words[:3], out)].data
