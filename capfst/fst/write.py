"""Write cap.fst: the model as an aligned `const` file of OpenFst.

In: the states and arcs of the acceptor (lm/acceptor.py), its symbols, start state and signature, and the other parts of
the model. Out: a file that every OpenFst tool reads, and that read.py maps. Order in the file, all integers
little-endian:

    header       magic number, "const", "standard", version, flags, properties, start, number of states, of arcs
    symbols      magic number, name (the signature), next free key, size, entries (symbols.py)
    states       at the next multiple of 16
    arcs         at the next multiple of 16
    trailer      parts that OpenFst does not read (trailer.py)

Conventions for states and arcs (validate.py checks them): state 0 is the empty context and has one arc per label 1..V,
in order, no ε arc, and a finite final weight. Every other state has first an ε arc, the backoff, to a state of smaller
number, then arcs with increasing labels. The weight of an arc is −ln P, of a backoff arc −ln of the backoff weight; a
final weight is −ln P(</s>), or +inf if the state backs off for </s>.
"""

import os
import struct
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.exceptions import OptionError, quantity
from capfst.fst import trailer
from capfst.fst.signature import Signature
from capfst.fst.symbols import Symbols, pack
from capfst.fst.trailer import Part, padding
from capfst.kernels.types import Array
from capfst.system.atomic import replacing

STATE = np.dtype(
    [("final", "<f4"), ("pos", "<u4"), ("narcs", "<u4"), ("niepsilons", "<u4"), ("noepsilons", "<u4")], align=True
)
ARC = np.dtype([("ilabel", "<i4"), ("olabel", "<i4"), ("weight", "<f4"), ("nextstate", "<i4")], align=True)
StateArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(STATE)]
ArcArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(ARC)]

FST_MAGIC, SYMBOLS_MAGIC = 2125659606, 2125658996
FST_TYPE, ARC_TYPE = b"const", b"standard"
VERSION = 1  # of const files: the aligned one
HAS_ISYMBOLS, HAS_OSYMBOLS, IS_ALIGNED = 1, 2, 4
HAS_TRAILER = 1 << 30
"""A flag of our own: OpenFst ignores it, and does not write it. Files of earlier versions lack it."""
MAX_STATES, MAX_ARCS = 2**31 - 1, 2**32 - 1  # StateId is signed, `pos` is unsigned

# OpenFst's property bits (properties.h). OpenFst computes those that are left unknown when it needs them.
EXPANDED, MUTABLE, ERROR = 1 << 0, 1 << 1, 1 << 2
_ACCEPTOR, _I_DETERMINISTIC, _O_DETERMINISTIC, _I_LABEL_SORTED, _O_LABEL_SORTED = (1 << k for k in (16, 18, 20, 28, 30))
_EPSILONS = 1 << 22 | 1 << 24 | 1 << 26  # also of the input and of the output
_WEIGHTED, _CYCLIC, _INITIAL_CYCLIC, _NOT_TOP_SORTED, _CO_ACCESSIBLE, _NOT_STRING = (
    1 << k for k in (32, 34, 36, 39, 42, 45)
)
_ALWAYS = EXPANDED | _ACCEPTOR | _I_DETERMINISTIC | _O_DETERMINISTIC | _I_LABEL_SORTED | _O_LABEL_SORTED
# Any word leads from the root to a state whose backoff leads back to the root, which is final.
_ALWAYS |= _CYCLIC | _NOT_TOP_SORTED | _CO_ACCESSIBLE | _NOT_STRING


def properties(states: int, start: int, final: float) -> int:
    """Return the property bits that hold for every model of this size; `final` is the root's final weight."""
    epsilons = _EPSILONS if states > 1 else _EPSILONS << 1  # the next bits say that there are none
    return _ALWAYS | epsilons | (_WEIGHTED if final != 0 else 0) | (_INITIAL_CYCLIC if start == 0 else 0)


def _string(text: bytes) -> bytes:
    return struct.pack("<i", len(text)) + text


def _bytes(array: npt.NDArray) -> memoryview:
    return np.ascontiguousarray(array).view(np.uint8).data


Chunk = tuple[npt.NDArray, npt.NDArray]
"""Consecutive states, STATE[·], and their arcs, ARC[·], with numbers from 0 on; writing changes `pos` in place."""


@dataclass
class Acceptor:
    """The size of an acceptor, and its chunks in order, computed while they are read."""

    states: int  # their number
    arcs: int  # their number
    start: int  # the state of <s>
    ngrams: list[int]  # of each order; order 1 counts </s>, not <s>
    chunks: Callable[[], Iterator[Chunk]]


def write_chunks(
    path: str | os.PathLike[str],
    model: Acceptor,
    symbols: Symbols,
    signature: Signature,
    parts: Mapping[str, Part],
    progress: Callable[[int], object] = lambda arcs: None,
) -> None:
    """Write a model with the symbols of labels 0..V and with these parts in its trailer. `progress` is called with the
    number of arcs of each chunk that has been written.

    The file appears at `path` complete or not at all.

    Raises:
        OptionError: the model is too large for OpenFst.
        CapfstError: the file cannot be written.
    """
    if model.states > MAX_STATES or model.arcs > MAX_ARCS:
        raise OptionError(
            f"{path}: cannot write: {quantity(model.states, 'state')} and {quantity(model.arcs, 'arc')} are more than a"
            " model file holds. Lower `max_ngrams` or `order`."
        )
    written = [0, 0]
    with replacing(path) as file:
        for states, arcs in model.chunks():
            if not any(written):
                bits = properties(model.states, model.start, float(states["final"][0]))
                file.write(_header(model, bits, signature, symbols))
                file.write(pack(symbols).data)
                states_offset = file.tell() + padding(file.tell())
                arcs_offset = states_offset + STATE.itemsize * model.states
                arcs_offset += padding(arcs_offset)
            if written[1]:
                states["pos"] += written[1]
            file.seek(states_offset + STATE.itemsize * written[0])
            file.write(_bytes(states))
            file.seek(arcs_offset + ARC.itemsize * written[1])
            file.write(_bytes(arcs))
            written = [written[0] + len(states), written[1] + len(arcs)]
            progress(len(arcs))
        if written != [model.states, model.arcs]:
            raise ValueError(f"the states have {model.arcs} arcs, but there are {written[1]}")
        trailer.append(file, parts)


def _header(model: Acceptor, bits: int, signature: Signature, symbols: Symbols) -> bytes:
    return (
        struct.pack("<i", FST_MAGIC)
        + _string(FST_TYPE)
        + _string(ARC_TYPE)
        + struct.pack("<iiQ", VERSION, HAS_ISYMBOLS | IS_ALIGNED | HAS_TRAILER, bits)
        + struct.pack("<qqq", model.start, model.states, model.arcs)
        + struct.pack("<i", SYMBOLS_MAGIC)
        + _string(str(signature).encode())
        + struct.pack("<qq", len(symbols), len(symbols))
    )


def write_fst(
    path: str | os.PathLike[str],
    states: npt.NDArray,
    arcs: npt.NDArray,
    symbols: Symbols,
    start: int,
    signature: Signature,
    parts: Mapping[str, Part] = types.MappingProxyType({}),
) -> None:
    """Write the model of states STATE[n] and arcs ARC[m], as `write_chunks`; `start` is the state of `<s>`."""
    total = int(states["narcs"].sum(dtype=np.int64))
    whole = Acceptor(len(states), total, start, [], lambda: iter([(states, arcs)]))
    write_chunks(path, whole, symbols, signature, parts)
