"""Count what recasing did, in kernels: tokens, changed tokens, and out-of-vocabulary words.

In: a text, its words, and the recased text. Out: `RecaseCounts`. The words have the same offsets in the recased text,
unless a character and its other case differ in length (K, the Kelvin sign); then the recased text is also tokenized.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from capfst.casing.types import Words
from capfst.context.channel import Style
from capfst.io.alignments import Block
from capfst.io.protocol import Recase, RecaseCounts
from capfst.kernels import kernel
from capfst.kernels.types import I64Array, U8Array, U32Array, i64
from capfst.pipeline import is_blank
from capfst.recaser import Recaser
from capfst.repair import Repaired
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD

_SHIFTED = -1
_STYLES = 64  # texts whose style is kept


@kernel
def _tally(
    buf: U8Array,
    starts: I64Array,
    ends: I64Array,
    token_types: U8Array,
    n_forms: U32Array,
    out: U8Array,
    out_starts: I64Array,
    out_ends: I64Array,
) -> tuple[i64, i64, i64, i64]:
    """Count newlines, tokens, changed tokens and OOV words.

    Changed is _SHIFTED if the texts between the words differ, because the words of `out` do not have the offsets
    `out_starts`.

    buf, out: uint8[·], the text and the recased text. starts, ends, token_types, n_forms (numbers of surface forms):
    [T], of the words of `buf`. out_starts, out_ends: [T], of the same words in `out`.
    """
    newlines = 0
    changed = 0
    oov = 0
    last_end, out_last_end = 0, 0  # of the previous word
    for t in range(token_types.size):
        s, e, j = starts[t], ends[t], out_starts[t]
        same = s - last_end == j - out_last_end
        k = last_end
        while same and k < s:
            same = buf[k] == out[out_last_end + k - last_end]
            k += 1
        if not same:
            return newlines, 0, _SHIFTED, 0
        last_end, out_last_end = e, out_ends[t]
        if token_types[t] == NEWLINE:
            newlines += 1
            continue
        if n_forms[t] == 0 and (token_types[t] == WORD or token_types[t] == COMPOUND):
            oov += 1
        same = e - s == out_ends[t] - j
        k = s
        while same and k < e:
            same = buf[k] == out[j + k - s]
            k += 1
        changed += not same
    return newlines, token_types.size - newlines, changed, oov


def tally(buf: npt.NDArray[np.uint8], words: Words, out: npt.NDArray[np.uint8], recaser: Recaser) -> RecaseCounts:
    """Count line ends, tokens, changed tokens and OOV words of a text and its recased form."""
    original = (buf, words.starts, words.ends, words.token_types, words.n_forms)
    newlines, tokens, changed, oov = 0, 0, _SHIFTED, 0
    if buf.size == out.size:
        newlines, tokens, changed, oov = _tally(*original, out, words.starts, words.ends)
    if changed == _SHIFTED:
        recased_words = recaser.pipeline.tokens(out)
        newlines, tokens, changed, oov = _tally(*original, out, recased_words.starts, recased_words.ends)
    return RecaseCounts(lines=int(newlines), tokens=int(tokens), changed=int(changed), oov=int(oov))


def counting(recaser: Recaser) -> Recase:
    """Return a function that recases whole lines, with or without their source, and counts tokens and changes."""
    style_after = lru_cache(_STYLES)(recaser.pipeline.style_after)

    def pieces(
        text: bytes, style: Style | None
    ) -> Iterator[tuple[npt.NDArray[np.uint8], Style | None, Repaired | None]]:
        if recaser.options.repair:
            yield from ((found.given, None, found) for found in recaser.pipeline.repaired_pieces(text))
        else:
            yield from ((*piece, None) for piece in recaser.pipeline.punctuated_pieces(text, style))

    def recase(
        text: bytes, source: bytes | None = None, align: bytes | None = None, /, head: bytes | None = None
    ) -> tuple[memoryview, RecaseCounts]:
        counts = RecaseCounts(lines=bool(text) and not text.endswith(b"\n"))
        if source is not None:
            words, recased = recaser.pipeline.recase_block(Block(text, source, align))
            whole = np.frombuffer(text, np.uint8)
            return recased, counts + tally(whole, words, np.frombuffer(recased, np.uint8), recaser)
        output = bytearray()
        style = style_after(head) if head else None if head is None else Style()
        for buf, of_piece, found in pieces(text, style):
            if is_blank(buf):
                counts += RecaseCounts(lines=int(np.count_nonzero(buf == ord("\n"))))
                output += buf.tobytes()
                continue
            words, recased = recaser.pipeline.recase(buf, style=of_piece)
            if found:
                recased = found.text.data
                counts += RecaseCounts.of_repair(found.stretches)
            counts += tally(buf, words, np.frombuffer(recased, np.uint8), recaser)
            output += recased
        written = recaser.pipeline.rewrapped(text, memoryview(output))
        if recaser.options.wrapped:  # the line ends inside paragraphs were not lines
            counts += RecaseCounts(lines=text.count(b"\n") + (not text.endswith(b"\n")) * bool(text) - counts.lines)
        return written, counts

    return recase
