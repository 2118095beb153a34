"""Counting what recasing did, in kernels: tokens, changed ones, and words that the model does not know.

In: a text's words, the text, and the text recased. The words of the recased text stand where they stood, unless a
character and its other case differ in length (K, the Kelvin sign): then its tokens say where they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.batch.protocol import Recase
from capfst.batch.report import Counts
from capfst.casing.transducer import Words
from capfst.recaser import Recaser
from capfst.system.kernels import kernel
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD

_SHIFTED = -1


@kernel
def _tally(buf, starts, ends, kinds, forms, out, out_starts, out_ends):  # type: ignore[no-untyped-def]
    """(lines' ends, tokens, changed, oov); changed is _SHIFTED if the text between the words is not the same."""
    newlines = 0
    changed = 0
    oov = 0
    before, out_before = 0, 0  # the end of the word before
    for t in range(kinds.size):
        s, e, j = starts[t], ends[t], out_starts[t]
        same = s - before == j - out_before
        k = before
        while same and k < s:
            same = buf[k] == out[out_before + k - before]
            k += 1
        if not same:
            return newlines, 0, _SHIFTED, 0
        before, out_before = e, out_ends[t]
        if kinds[t] == NEWLINE:
            newlines += 1
            continue
        if forms[t] == 0 and (kinds[t] == WORD or kinds[t] == COMPOUND):
            oov += 1
        same = e - s == out_ends[t] - j
        k = s
        while same and k < e:
            same = buf[k] == out[j + k - s]
            k += 1
        changed += not same
    return newlines, kinds.size - newlines, changed, oov


def tally(buf: npt.NDArray[np.uint8], words: Words, out: npt.NDArray[np.uint8], recaser: Recaser) -> Counts:
    """Of a text and its recased form: lines, tokens, changed, oov."""
    given = (buf, words.starts, words.ends, words.token_types, words.n_forms)
    newlines, tokens, changed, oov = 0, 0, _SHIFTED, 0
    if buf.size == out.size:
        newlines, tokens, changed, oov = _tally(*given, out, words.starts, words.ends)
    if changed == _SHIFTED:
        again = recaser.transducer.words(out)
        newlines, tokens, changed, oov = _tally(*given, out, again.starts, again.ends)
    lines = newlines + (buf.size > 0 and buf[-1] != ord("\n"))
    return Counts(lines=int(lines), tokens=int(tokens), changed=int(changed), oov=int(oov))


def counting(recaser: Recaser) -> Recase:
    """`Recaser.recase_utf8` that also counts."""

    def recase(text: bytes) -> tuple[memoryview, Counts]:
        buf = np.frombuffer(text, np.uint8)
        words, recased = recaser.recase_words(buf)
        return recased, tally(buf, words, np.frombuffer(recased, np.uint8), recaser)

    return recase
