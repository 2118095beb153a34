"""Transducers of the surface forms in a list."""

import numpy as np

from capfst.casing.transducer import Transducer
from capfst.fst.symbols import Symbols, check
from capfst.text.unicode import lower


def transducer_of(forms: list[str], pretokenized: bool = False, costs: np.ndarray | None = None) -> Transducer:
    """Build a transducer in which the forms of a word are in the order of the list."""
    symbols = Symbols.from_words(sorted(set(forms), key=lambda form: (lower(form).encode(), forms.index(form))))
    return Transducer(symbols, check(symbols), pretokenized, costs)
