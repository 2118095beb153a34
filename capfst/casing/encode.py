"""Convert cased text to the words of the LM, which `tokenize` prints and `perplexity` measures.

In: buffers of text and their words. Out: the label of each word as it is cased, `<unk>` for words that the model lacks,
0 for line ends; or the words as text.
"""

from __future__ import annotations

import numpy as np

from capfst.casing.shapes import Shape, shape_of
from capfst.casing.types import Words
from capfst.casing.written import form_of
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, kernel
from capfst.kernels.types import F64Array, I64Array, U8Array, U32Array, i64
from capfst.text.strings import Strings
from capfst.text.tokenizer import COMPOUND, NEWLINE, canonical


@kernel
def _label(buf: U8Array, words: Words, forms: Strings, unknown: i64, labels: U32Array) -> None:
    """Fill in the label of each word as it is cased. unknown: the label of `<unk>`."""
    for i in range(words.starts.size):
        labels[i] = 0 if words.token_types[i] == NEWLINE else unknown
        if words.n_forms[i] != 0:
            is_word = words.token_types[i] <= COMPOUND
            form = form_of(buf, words.starts[i], words.ends[i], words, i, forms) if is_word else 0
            if form >= 0:
                labels[i] = words.first_labels[i] + form


def labels(buf: U8Array, words: Words, symbols: Symbols, unknown: int) -> U32Array:
    """Return the labels of the words as they are cased: `unknown` for words that the vocabulary lacks, 0 for line
    ends."""
    labels = np.empty(len(words.token_types), np.uint32)
    _label(buf, words, symbols.strings, unknown, labels)
    return labels


@kernel
def lower_first(
    buf: U8Array, words: Words, unknown: i64, small: I64Array, costs: F64Array, info: U8Array, labels: U32Array
) -> None:
    """Replace, in place, the label of each capitalized first word of a line by that of its lowercase form, if the form
    has none or costs more. small: of each word, by its first label, the lowercase form, or 0. costs: by label."""
    for i in range(labels.size):
        if words.n_forms[i] == 0 or not (i == 0 or words.token_types[i - 1] == NEWLINE):
            continue
        label, lower = i64(labels[i]), small[words.first_labels[i]]
        is_better = lower > 0 and (label == unknown or costs[lower] < costs[label])
        if is_better and shape_of(buf, words.starts[i], words.ends[i], info) == Shape.CAPITALIZED:
            labels[i] = lower


@kernel
def _join(buf: U8Array, words: Words, pretokenized: bool, out: U8Array) -> i64:
    """Write the words to `out`. Return the size of the text."""
    size = 0
    begins = True
    for i in range(words.starts.size):
        start, end = words.starts[i], words.ends[i]
        if words.token_types[i] == NEWLINE:
            out[size] = 10
            size += 1
            begins = True
            continue
        if not begins:
            out[size] = 32
            size += 1
        begins = False
        if pretokenized:
            copy_bytes(buf, start, end - start, out, size)
            size += end - start
        else:
            size += canonical(buf, start, end, words.token_types[i], out[size:])
    return size


def spaced(buf: U8Array, words: Words, pretokenized: bool) -> memoryview:
    """Return the words as the LM has them, in their own case, separated by spaces; lines stay lines."""
    out = np.empty(2 * buf.size + 6 * len(words.token_types) + 8, np.uint8)
    return out[: _join(buf, words, pretokenized, out)].data
