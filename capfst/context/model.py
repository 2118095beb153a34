"""The context model as a file beside cap.fst, mapped: weights in bytes, and a record for each word.

In: what is known of the words, and learned tables. Out: the file `cap.fst.context`, and `Context`, which maps it. First
a line of JSON, which says to which model it belongs, how large the arrays are, and their checksum; its own checksum;
then the arrays, end to end. Any numbers in them are legal, so whole arrays are all that has to be checked.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.context import domains as kinds
from capfst.context.features import OWN, own_features
from capfst.context.words import SUFFIX, WHOLE, evidence
from capfst.errors import CapfstError
from capfst.fst.read import CapFst
from capfst.fst.signature import Signature
from capfst.fst.symbols import Symbols
from capfst.system import verified as checked
from capfst.system.atomic import replacing
from capfst.system.kernels import allocating

if TYPE_CHECKING:
    from capfst.context.learn import Facts, Tables

_FORMAT = "capfst context 1"
_HEADER = 4096  # bytes
_MOST = 127  # of a weight in a table, in units of its scale
SHARED = 4
"""Rows of a learned table that share a place in the file, where one of them stays."""
ZERO = np.uint32(0x00808080)
"""A row of the file's tables without weight, and without number."""

WORD = np.dtype(
    [
        ("word", "u4"),  # its hash, and that of its last two characters
        ("two", "u4"),
        ("penalty", "f4"),  # of an unseen casing, −ln
        ("evidence", "u1"),
        ("lead", "u1"),
        ("small", "u1"),  # its classes, by classes.of_words
        ("capital", "u1"),
        ("single", "u1"),  # 1: one letter, of which Capitalized and UPPER are the same
        ("told", "i1", (kinds.MOST,)),  # how much it speaks for each kind of text
    ],
    align=True,
)
"""What is known of a word; under the label of its most frequent form."""

_ARRAYS: list[np.dtype[Any]] = [WORD, *map(np.dtype, ("u1", "i2", "u4", "u4"))]  # as Context has them, in the file


class Parameters(NamedTuple):
    """What was learned of a kind of text. The weights are those of the shapes but lower case, which has 0."""

    own: npt.NDArray[np.int16]  # [V + 1, N_SHAPES − 1]: the sum of the first table's weights of a word's own features
    first: npt.NDArray[np.uint32]  # a row: three weights as bytes, each 128 more than it is, and 1 + which row of four
    second: npt.NDArray[np.uint32]
    scales: tuple[float, float]  # what a 1 in the tables is worth


class Context(NamedTuple):
    """The context model that belongs to a model."""

    known: npt.NDArray  # WORD, by label
    shapes: npt.NDArray[np.uint8]  # by label
    own: npt.NDArray[np.int16]  # [kinds, V + 1, N_SHAPES − 1], as the following those of Parameters, by kind
    first: npt.NDArray[np.uint32]
    second: npt.NDArray[np.uint32]
    scales: npt.NDArray[np.float64]
    checksum: int

    @classmethod
    def beside(cls, model: CapFst) -> Context | None:
        """The context model in the file beside a model's; None if there is none.

        CapfstError if it is damaged or belongs to another model.
        """
        path = path_of(model.path)
        try:
            with open(path, "rb") as file:
                found = os.fstat(file.fileno())
                if found.st_size < _HEADER:
                    raise _damaged(path)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CapfstError(f"cannot read {path}: {error.strerror}: check the file") from error
        header = _header(mapped, path)
        if header["model"] != _belongs(model.signature, model.symbols):
            raise CapfstError(
                f"{path} belongs to another model than {model.path}: train the model again, or remove {path}"
            )
        if len(mapped) != _HEADER + sum(header["bytes"]):
            raise _damaged(path)
        if checked.recall(found) != (header["crc"],):
            if zlib.crc32(memoryview(mapped)[_HEADER:]) != header["crc"]:
                raise _damaged(path)
            checked.remember(found, (header["crc"],))
        at = _HEADER
        arrays: list[npt.NDArray[Any]] = []
        for dtype, size in zip(_ARRAYS, header["bytes"], strict=True):
            arrays.append(np.frombuffer(mapped, dtype, size // dtype.itemsize, at))
            at += size
        known, shapes, own, first, second = arrays
        scales = np.array(header["scales"], np.float64)
        number = len(scales)
        return cls(
            known, shapes, own.reshape(number, -1, N_SHAPES - 1), first.reshape(number, -1), second.reshape(number, -1),
            scales, header["crc"],
        )  # fmt: skip


def path_of(model: str | os.PathLike[str]) -> Path:
    """Where the context model of a model is: `cap.fst.context` for `cap.fst`."""
    return Path(f"{os.fspath(model)}.context")


def _damaged(path: Path) -> CapfstError:
    return CapfstError(f"{path} is damaged: copy it again, train the model again, or remove the file")


def _header(mapped: mmap.mmap, path: Path) -> dict[str, Any]:
    text, checksum, *_ = [*mapped[:_HEADER].split(b"\n"), b""]
    if not text.startswith(b'{"format": "%s"' % _FORMAT.encode()):
        raise CapfstError(f"{path} is no context model of this version: train the model again, or remove the file")
    if checksum != b"%08x" % zlib.crc32(text):
        raise _damaged(path)
    header: dict[str, Any] = json.loads(text)
    return header


def _belongs(signature: Signature, symbols: Symbols) -> str:
    """Tells models apart, by how they were made and their labels."""
    return f"{signature} {len(symbols)} {zlib.crc32(symbols.data.data):08x}"


def forget(model: str | os.PathLike[str]) -> None:
    """Removes the context model of what was at a model's path before."""
    path = path_of(model)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise CapfstError(f"cannot remove {path}, of an earlier model: {error.strerror}: remove it") from error


@contextmanager
def writing(
    model: str | os.PathLike[str], signature: Signature, symbols: Symbols, starts: npt.NDArray[np.int64],
    facts: Facts, told: npt.NDArray[np.int8], weights: list[Parameters],
) -> Iterator[None]:  # fmt: skip
    """Writes the context model of the model at this path, whose words' first labels are `starts`. It is there after the
    block, in which the model is to be written; if that fails, what was there before is still there.

    told: [words, kinds], by kinds.evidence. weights: by kind.
    """
    known = np.zeros(len(symbols), WORD)
    _know(starts, facts.hashes, facts.leads, facts.classes, facts.counts, told, known)
    arrays = [known, facts.shapes, *(np.stack(tables) for tables in list(zip(*weights, strict=True))[:3])]
    raw = [array.reshape(-1).view(np.uint8).data for array in arrays]
    crc = 0
    for array in raw:
        crc = zlib.crc32(array, crc)
    header = {
        "format": _FORMAT,
        "model": _belongs(signature, symbols),
        "bytes": [len(array) for array in raw],
        "crc": crc,
        "scales": [kind.scales for kind in weights],
    }
    text = json.dumps(header).encode()
    with replacing(path_of(model)) as file:
        file.write((text + b"\n%08x\n" % zlib.crc32(text)).ljust(_HEADER))
        for array in raw:
            file.write(array)
        file.flush()  # a full disk is found before the model is there
        del facts, told, weights, known, arrays, raw, array  # making the model takes memory, too
        yield


def weights(tables: Tables, facts: Facts, starts: npt.NDArray[np.int64]) -> Parameters:
    """Learned tables as the file has them; `starts`: the words' first labels."""
    first, scale = _quantized(tables.first)
    second, scale2 = _quantized(tables.second)
    own = np.zeros((len(facts.word_of), N_SHAPES - 1), np.int16)
    _own(starts, facts.hashes, facts.counts, first, own)
    packed = _packed(first, tables.first[:, N_SHAPES:]), _packed(second, tables.second[:, N_SHAPES:])
    return Parameters(own, *packed, (scale, scale2))


def _quantized(table: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int16], float]:
    """[rows, N_SHAPES − 1]: the weights of the shapes but lower case, less its, in whole numbers up to _MOST; and what
    a 1 is worth."""
    less = table[:, 1:N_SHAPES] - table[:, :1]
    scale = float(max(less.max(initial=0), -less.min(initial=0))) / _MOST or 1.0
    less /= scale
    return np.rint(less, out=less).astype(np.int16), scale


def _packed(table: npt.NDArray[np.int16], gradients: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Of the rows that share a place, which have the same lowest bits, the one that matters most: by its weights, and
    by AdaGrad's sums of its gradients."""
    number = len(table) // SHARED
    packed, most = np.full(number, ZERO, np.uint32), np.zeros(number)
    for which in range(SHARED):
        rows = table[which * number : (which + 1) * number]
        sizes = np.abs(rows).sum(1) * np.sqrt(gradients[which * number : (which + 1) * number].sum(1))
        better = sizes > most
        most[better] = sizes[better]
        kept = (rows[better] + 128).astype(np.uint32)
        packed[better] = kept[:, 0] | kept[:, 1] << 8 | kept[:, 2] << 16 | np.uint32(which + 1) << 24
    return packed


@allocating
def _own(starts, hashes, counts, first, own):  # type: ignore[no-untyped-def]
    features = np.empty(OWN, np.uint64)
    mask = np.uint64(len(first) - 1)
    for k in range(starts.size - 1):
        for i in range(own_features(hashes[k], evidence(counts[k]), features)):
            for shape in range(N_SHAPES - 1):
                own[starts[k], shape] += first[np.int64(features[i] & mask), shape]


@allocating
def _know(starts, hashes, leads, classes, counts, told, known):  # type: ignore[no-untyped-def]
    for k in range(starts.size - 1):
        word = known[starts[k]]
        word.word, word.two = hashes[k, WHOLE], hashes[k, SUFFIX + 1]
        word.evidence, word.lead = evidence(counts[k]), leads[k]
        word.small, word.capital = classes[k, 0], classes[k, 1]
        word.penalty = 1 + np.log(1.0 + counts[k].sum())
        word.single = word.two == 0
        for kind in range(told.shape[1]):
            word.told[kind] = told[k, kind]
