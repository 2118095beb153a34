"""Count what recasing did: tokens, changed tokens, and out-of-vocabulary words.

In: a text, its words, and the recased text. Out: `RecaseCounts`. The words have the same offsets in the recased text,
unless a character and its other case differ in length (K, the Kelvin sign); then the recased text is also tokenized.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from capfst.casing.types import Words
from capfst.context.channel import Style
from capfst.io.alignments import Block
from capfst.io.protocol import Recase, RecaseCounts
from capfst.pipeline import is_blank
from capfst.recaser import Recaser
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD

_STYLES = 64  # texts whose style is kept


def tally(buf: npt.NDArray[np.uint8], words: Words, out: npt.NDArray[np.uint8], recaser: Recaser) -> RecaseCounts:
    """Count tokens, changed tokens and OOV words of a text and its recased form."""
    types = words.token_types
    oov = int(np.count_nonzero((words.n_forms == 0) & ((types == WORD) | (types == COMPOUND))))
    changed = _changed(buf, words, out) if buf.size == out.size else None
    if changed is None:
        recased = recaser.pipeline.tokens(out)
        changed = sum(
            buf[start:end].tobytes() != out[out_start:out_end].tobytes()
            for start, end, out_start, out_end in zip(
                words.starts.tolist(), words.ends.tolist(), recased.starts.tolist(), recased.ends.tolist(), strict=False
            )
        )
    return RecaseCounts(tokens=int(np.count_nonzero(types != NEWLINE)), changed=changed, oov=oov)


def _changed(buf: npt.NDArray[np.uint8], words: Words, out: npt.NDArray[np.uint8]) -> int | None:
    """Return the number of words that differ in a text of the same size; None if they have other offsets there, so that
    the texts between them differ."""
    bytes_changed = np.flatnonzero(buf != out)
    of_word = np.searchsorted(words.starts, bytes_changed, "right") - 1
    if bytes_changed.size and (of_word[0] < 0 or (bytes_changed >= words.ends[of_word]).any()):
        return None
    return int(np.count_nonzero(np.diff(of_word, prepend=-1)))


def counting(recaser: Recaser) -> Recase:
    """Return a function that recases whole lines, with or without their source, and counts tokens and changes."""
    style_after = lru_cache(_STYLES)(recaser.pipeline.style_after)

    def recase(
        text: bytes, source: bytes | None = None, align: bytes | None = None, /, head: bytes | None = None
    ) -> tuple[memoryview, RecaseCounts]:
        counts = RecaseCounts(lines=text.count(b"\n") + (bool(text) and not text.endswith(b"\n")))
        if source is not None:
            whole = np.frombuffer(text, np.uint8)
            words, recased = recaser.pipeline.recase(whole, Block(text, source, align))
            return recased, counts + tally(whole, words, np.frombuffer(recased, np.uint8), recaser)
        output = bytearray()
        style = style_after(head) if head else None if head is None else Style()
        unwrapped = recaser.pipeline.unwrapped(text)
        for buf, of_piece, found in recaser.pipeline.prepared(unwrapped, style):
            if is_blank(buf):
                output += buf.tobytes()
                continue
            words, recased = recaser.pipeline.recase(buf, style=of_piece)
            if found:
                recased = found.text.data
                counts += RecaseCounts.of_repair(found.stretches)
            counts += tally(buf, words, np.frombuffer(recased, np.uint8), recaser)
            output += recased
        return recaser.pipeline.rewrapped(unwrapped, memoryview(output)), counts

    return recase
