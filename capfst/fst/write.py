"""cap.fst: the model as OpenFst's aligned `const` file, written from arrays.

In: the states and arcs of the acceptor (lm/compile.py), its symbols, its start state and its signature, and what else
belongs to the model. Out: a file that every OpenFst tool reads, and that read.py maps. Order in the file, all integers
little-endian:

    header       magic number, "const", "standard", version, flags, properties, start, numbers of states, arcs
    symbols      magic number, name (the signature), next free key, size, entries (symbols.py)
    states       from the next multiple of 16 on
    arcs         from the next multiple of 16 on
    trailer      what OpenFst does not read (trailer.py)

What the states and arcs must be (validate.py checks it): state 0 is the empty context and has one arc for
each label 1..V, in order, no ε, a finite final weight; every other state has first an ε arc, the backoff,
to a state of smaller number, then arcs with rising labels. Arcs hold −ln P, backoff arcs −ln of the backoff
weight, final weights −ln P(</s>), or +inf where that is left to the backoff.
"""

import os
import struct
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CapfstError
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
MAX_STATES, MAX_ARCS = 2**31 - 1, 2**32 - 1  # StateId is signed, `pos` is not

# OpenFst's property bits (properties.h). What is left open here, OpenFst finds out when it needs it.
EXPANDED, MUTABLE, ERROR = 1 << 0, 1 << 1, 1 << 2
ACCEPTOR, I_DETERMINISTIC, O_DETERMINISTIC = 1 << 16, 1 << 18, 1 << 20
EPSILONS, I_EPSILONS, O_EPSILONS = 1 << 22, 1 << 24, 1 << 26
NO_EPSILONS, NO_I_EPSILONS, NO_O_EPSILONS = 1 << 23, 1 << 25, 1 << 27
I_LABEL_SORTED, O_LABEL_SORTED, WEIGHTED = 1 << 28, 1 << 30, 1 << 32
CYCLIC, INITIAL_CYCLIC, NOT_TOP_SORTED = 1 << 34, 1 << 36, 1 << 39
CO_ACCESSIBLE, NOT_STRING = 1 << 42, 1 << 45


def properties(states: int, start: int, final: float) -> int:
    """The property bits that follow from what every model is; `final` is the root's final weight."""
    bits = EXPANDED | ACCEPTOR | I_DETERMINISTIC | O_DETERMINISTIC | I_LABEL_SORTED | O_LABEL_SORTED
    # From the root any word leads to a state whose backoff leads back to the root, which is final.
    bits |= CYCLIC | NOT_TOP_SORTED | CO_ACCESSIBLE | NOT_STRING
    if states > 1:
        bits |= EPSILONS | I_EPSILONS | O_EPSILONS
    else:
        bits |= NO_EPSILONS | NO_I_EPSILONS | NO_O_EPSILONS
    if final != 0:
        bits |= WEIGHTED
    if start == 0:
        bits |= INITIAL_CYCLIC
    return bits


def _string(text: bytes) -> bytes:
    return struct.pack("<i", len(text)) + text


def _bytes(array: npt.NDArray) -> memoryview:
    return np.ascontiguousarray(array).view(np.uint8).data


class Chunked(Protocol):
    """A model whose states STATE[·] and arcs ARC[·] come in chunks, consecutive ones with their first numbers."""

    states: int
    arcs: int
    start: int

    def chunks(self) -> Iterable[tuple[int, npt.NDArray, int, npt.NDArray]]:
        """(first state, states, first arc, arcs), each state and arc in one of them; the root in the first."""


def write_chunks(
    path: str | os.PathLike[str],
    model: Chunked,
    symbols: Symbols,
    signature: Signature,
    parts: Mapping[str, Part],
    progress: Callable[[int], object] = lambda arcs: None,
) -> None:
    """Writes a model with the symbols of labels 0..V and with these parts in its trailer. `progress` is told how many
    more arcs are written.

    The file appears at `path` complete or not at all. CapfstError if it cannot be written, or would be too large for
    OpenFst.
    """
    if model.states > MAX_STATES or model.arcs > MAX_ARCS:
        raise CapfstError(
            f"cannot write {path}: {model.states} states and {model.arcs} arcs are more than a file holds: "
            "prune the model (--max-ngrams) or lower its order"
        )
    written = [0, 0]
    with replacing(path) as file:
        for first_state, states, first_arc, arcs in model.chunks():
            if not any(written):
                bits = properties(model.states, model.start, float(states["final"][0]))
                file.write(_header(model, bits, signature, symbols))
                file.write(pack(symbols).data)
                states_offset = file.tell() + padding(file.tell())
                arcs_offset = states_offset + STATE.itemsize * model.states
                arcs_offset += padding(arcs_offset)
            file.seek(states_offset + STATE.itemsize * first_state)
            file.write(_bytes(states))
            file.seek(arcs_offset + ARC.itemsize * first_arc)
            file.write(_bytes(arcs))
            written = [written[0] + len(states), written[1] + len(arcs)]
            progress(len(arcs))
        if written != [model.states, model.arcs]:
            raise ValueError(f"the states have {model.arcs} arcs, but there are {written[1]}")
        trailer.append(file, parts)


def _header(model: Chunked, bits: int, signature: Signature, symbols: Symbols) -> bytes:
    return (
        struct.pack("<i", FST_MAGIC)
        + _string(FST_TYPE)
        + _string(ARC_TYPE)
        + struct.pack("<iiQ", VERSION, HAS_ISYMBOLS | IS_ALIGNED, bits)
        + struct.pack("<qqq", model.start, model.states, model.arcs)
        + struct.pack("<i", SYMBOLS_MAGIC)
        + _string(signature.format().encode())
        + struct.pack("<qq", len(symbols), len(symbols))
    )


@dataclass
class _Whole:
    states: int
    arcs: int
    start: int
    chunk: tuple[int, npt.NDArray, int, npt.NDArray]

    def chunks(self) -> list[tuple[int, npt.NDArray, int, npt.NDArray]]:
        return [self.chunk]


def write_fst(
    path: str | os.PathLike[str],
    states: npt.NDArray,
    arcs: npt.NDArray,
    symbols: Symbols,
    start: int,
    signature: Signature,
    parts: Mapping[str, Part] = types.MappingProxyType({}),
) -> None:
    """Writes the model of states STATE[n] and arcs ARC[m], as `write_chunks`; `start` is the number of `<s>`."""
    total = int(states["narcs"].sum(dtype=np.int64))
    write_chunks(path, _Whole(len(states), total, start, (0, states, 0, arcs)), symbols, signature, parts)
