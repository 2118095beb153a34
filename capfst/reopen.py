"""A Recaser in other processes: it travels as the path of its model, which each process maps for itself.

In: a path, what the model there was, and options. Out: the same Recaser again, one for each process, so that a task
costs no loading; all processes of a machine share the mapping.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from capfst.errors import CapfstError
from capfst.fst_read import CapFst

if TYPE_CHECKING:
    from capfst.context.model import Context
    from capfst.recase import Recaser

_SAMPLE = 4096  # arcs at either end


def identity(model: CapFst, context: Context | None) -> str:
    """Tells models, with what is used of them, apart that were at the same path at different times."""
    text = f"{model.signature} {model.bytes} {model.ngrams} {context and context.checksum}"
    digest = hashlib.blake2b(text.encode(), digest_size=8)
    digest.update(model.arcs[:_SAMPLE].tobytes() + model.arcs[-_SAMPLE:].tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def reopen(path: str, expected: str, options: tuple[tuple[str, Any], ...]) -> Recaser:
    """The Recaser with these options of the model at `path`. CapfstError if it is not the one expected."""
    from capfst.recase import Recaser  # noqa: PLC0415  (which imports this module)

    recaser = Recaser(CapFst.open(path), **dict(options))
    if identity(recaser.model, recaser.context) != expected:
        raise CapfstError(f"the model {path} is not the one that the work began with: start again, or put it back")
    return recaser
