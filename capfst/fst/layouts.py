"""Read models that OpenFst or pynini wrote in a layout that cannot be mapped: `vector`, or `const` without alignment.

In: a path. Out: the states, arcs, symbols, start state and signature of the model, in the layout of write.py. OpenFst
does not keep the trailer, and so not the context model.
"""

import os
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import ModelError, quantity
from capfst.fst import read, validate
from capfst.fst.signature import Signature
from capfst.fst.symbols import DamagedModelError, Symbols, check, unpack
from capfst.fst.write import ARC, FST_MAGIC, STATE

_VECTOR_STATE = struct.Struct("<fq")  # final weight, number of arcs


class Acceptor(NamedTuple):
    """A model as `write_fst` takes it."""

    states: npt.NDArray
    arcs: npt.NDArray
    symbols: Symbols
    start: int
    signature: Signature


def is_fst(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one of OpenFst's."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == struct.pack("<i", FST_MAGIC)
    except OSError:
        return False


def read_acceptor(path: str | os.PathLike[str]) -> Acceptor:
    """Read and check a model that OpenFst wrote.

    Raises:
        ModelError: the file is not a model, is truncated or damaged, or can be mapped as it is.
    """
    name = os.fspath(path)
    try:
        mapped, _ = read.map_file(name)
        header = read.header_of(mapped, name, read.UNMAPPABLE)
        symbols, end = unpack(np.frombuffer(mapped, np.uint8), header.end, header.symbols)
        symbols = replace(symbols, language=read.language_of(header.signature, {}))
        data = memoryview(mapped)[end:]
        read_body = _vector if header.fst_type == b"vector" else _const
        try:
            states, arcs = read_body(data, header.states, header.arcs)
        except (struct.error, ValueError) as error:
            raise DamagedModelError(f"it ends inside its states, after {quantity(len(mapped), 'byte')}") from error
        check(symbols)
        if not 0 <= header.start < len(states):
            raise DamagedModelError(
                f"its start state {header.start} is not one of its {quantity(len(states), 'state')}"
            )
        with ThreadPoolExecutor(1) as pool:
            validate.check(states, arcs, len(symbols) - 1, pool)
    except OSError as error:
        raise ModelError(f"{name}: cannot read: {error.strerror}. Check the path and its permissions.") from error
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error
    return Acceptor(states, arcs, symbols, header.start, header.signature)


def _const(data: memoryview, n_states: int, n_arcs: int) -> tuple[npt.NDArray, npt.NDArray]:
    """Return copies of states and arcs that follow each other without padding; ValueError if there are too few."""
    states = np.frombuffer(data, STATE, n_states)
    arcs = np.frombuffer(data, ARC, n_arcs, states.nbytes)
    return states.copy(), arcs.copy()


def _vector(data: memoryview, n_states: int, n_arcs: int) -> tuple[npt.NDArray, npt.NDArray]:
    """Return states and arcs of which each state's arcs follow it; struct.error or ValueError if there are too few."""
    if not 0 < n_states <= len(data) // _VECTOR_STATE.size:
        raise ValueError
    states = np.zeros(n_states, STATE)
    finals, counts, parts = [], [], []
    offset = 0
    for _ in range(n_states):
        final, count = _VECTOR_STATE.unpack_from(data, offset)
        end = offset + _VECTOR_STATE.size + count * ARC.itemsize
        if count < 0 or end > len(data):
            raise ValueError
        finals.append(final)
        counts.append(count)
        parts.append(data[offset + _VECTOR_STATE.size : end])
        offset = end
    arcs = np.frombuffer(b"".join(parts), ARC)
    states["final"], states["narcs"] = finals, counts
    ends = np.cumsum(counts)
    states["pos"] = ends - counts
    for field, label in ("niepsilons", "ilabel"), ("noepsilons", "olabel"):
        before = np.concatenate(([0], np.cumsum(arcs[label] == 0)))
        states[field] = before[ends] - before[ends - counts]
    return states, arcs
