"""Clitics in capitals: YOU'RE and WON'T are two words each for the LM, but one for their writer.

In: the words of a text; then the forms on the best path. Out: the same forms, but such a clitic agrees with its word:
*you're* or *YOU'RE*, not *you'RE*; *WON'T*, not *WOn't*. Only *'S* and Turkish suffixes become small after any word
(*CEO's*, *NATO'nun*). So the capitals of *IT'S* do not show whether it is an acronym: of an ordinary word, they are no
evidence.
"""

from __future__ import annotations

import numpy as np

from capfst.casing.shapes import AS_FORM, Shape, shape_of
from capfst.casing.types import LabelPath, Words
from capfst.kernels import kernel
from capfst.kernels.types import I64Array, U8Array, U32Array, i64, u8
from capfst.text.sentences import is_apostrophe
from capfst.text.strings import Strings
from capfst.text.tokenizer import WORD, clitic_end
from capfst.text.unicode import INFO, apostrophe, decode

_SMALL_N, _SMALL_S = ord("n"), ord("s")


@kernel
def _find(buf: U8Array, words: Words, info: U8Array, found: I64Array) -> i64:
    n = 0
    for i in range(words.starts.size - 1):
        start, end = words.starts[i + 1], words.ends[i + 1]
        if start != words.ends[i]:
            continue
        code, after = decode(buf, start, end)
        if code | 32 == _SMALL_N and after < end:
            code = decode(buf, after, end)[0]
        if is_apostrophe(code) and words.token_types[i + 1] == WORD:
            shape = shape_of(buf, start, end, info)
            found[n] = i
            n += shape != Shape.LOWER and shape != Shape.CASELESS
    return n


def emphatic(buf: U8Array, words: Words) -> I64Array:
    """Return the words with a clitic that has capitals, which is the next word."""
    found = np.empty(len(words.starts), np.int64)
    return found[: _find(buf, words, INFO, found)].copy()


@kernel
def _agree(
    buf: U8Array, words: Words, emphatic: I64Array, forms: Strings, info: U8Array, labels: U32Array, shapes: U8Array
) -> None:
    for i in emphatic:
        clitic, form, shape = i + 1, labels[i], i64(shapes[i])
        if shape == AS_FORM or form != words.first_labels[i]:
            shape = shape_of(forms.data, forms.offsets[form], forms.offsets[form + 1], info)
        start, end = words.starts[clitic], words.ends[clitic]
        letters = start + 1 if apostrophe(buf, start, end) == 0 else start  # n't
        letters += apostrophe(buf, letters, end)
        is_suffix = buf[letters] | 32 == _SMALL_S or clitic_end(buf, letters, end, info) != end
        is_upper = shape == Shape.UPPER and not is_suffix
        labels[clitic] = words.first_labels[clitic]
        shapes[clitic] = u8(Shape.UPPER.value) if is_upper else u8(Shape.LOWER.value)


def agreeing(
    buf: U8Array, words: Words, emphatic: I64Array, forms: Strings, path: LabelPath, shapes: U8Array
) -> tuple[LabelPath, U8Array]:
    """Return a path and shapes (as in CasingCosts) with which clitics agree with their words. forms: by label."""
    if not emphatic.size:
        return path, shapes
    labels, shapes = path.labels.copy(), shapes.copy()
    _agree(buf, words, emphatic, forms, INFO, labels, shapes)
    return path._replace(labels=labels), shapes
