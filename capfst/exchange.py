"""cap.fst ↔ ARPA: models of other LM tools, and for them.

In: a file of one kind. Out: a file of the other, written whole or not at all. An ARPA file says nothing about its
words; they are taken to be what capfst's tokenizer gives, or, `pretokenized`, what white space separates.
"""

import hashlib
import os

from capfst import __version__
from capfst.arpa import read_arpa
from capfst.arpa_write import write_arpa
from capfst.compile import compile_levels
from capfst.fst import write_fst
from capfst.fst_read import CapFst
from capfst.signature import Signature
from capfst.symbols import Symbols


def import_arpa(arpa: str | os.PathLike[str], output: str | os.PathLike[str], *, pretokenized: bool = False) -> None:
    """Compiles an ARPA file (plain or .gz) whose words are surface forms; CapfstError names the line that is wrong."""
    words, levels = read_arpa(arpa)
    states, arcs, start = compile_levels(levels)
    signature = Signature(
        version=__version__,
        order=len(levels),
        smoothing="arpa",
        pruning="unknown",
        tokenizer="none" if pretokenized else "capfst",
        lowercasing="default",
        corpus=hashlib.blake2b(arcs.data, digest_size=8).hexdigest(),
    )
    write_fst(output, states, arcs, Symbols.from_words(words), start, signature)


def export_arpa(lm: str | os.PathLike[str], arpa: str | os.PathLike[str]) -> None:
    """Writes a model as ARPA: log10 probabilities and backoff weights."""
    model = CapFst.open(lm)
    write_arpa(arpa, model.states, model.arcs, model.start, model.symbols)
