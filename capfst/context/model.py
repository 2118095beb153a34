"""The context model as a file beside cap.fst, mapped: learned weights in bytes, and a record for each word.

In: what is known of the words, and learned tables. Out: the file `cap.fst.context`, and `Context`, which maps it. First
a line of JSON, which says to which model it belongs, how large the arrays are, and their checksum; a line with its own
checksum; then the arrays, end to end. Any numbers in them are legal, so only whole arrays have to be checked.
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
from capfst.context.domains import MAX_DOMAINS
from capfst.context.features import MAX_WORD_FEATURES, word_features
from capfst.context.words import SUFFIX, WHOLE, shape_evidence
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.fst.signature import Signature
from capfst.fst.symbols import Symbols
from capfst.system import verified
from capfst.system.atomic import replacing
from capfst.system.kernels import allocating

if TYPE_CHECKING:
    from capfst.context.learn import Lexicon, Tables

_FORMAT = "capfst context 1"
_HEADER = 4096  # bytes
_MAX_WEIGHT = 127  # of the absolute weights in a table, in units of its scale
ROWS_PER_SLOT = 4
"""Rows of a learned table that share a slot of the file's table, which holds one of them."""
EMPTY_ROW = np.uint32(0x00808080)
"""A slot of the file's tables that no row has: all weights are 0."""

WORD = np.dtype(
    [
        ("word_hash", "u4"),
        ("suffix2_hash", "u4"),  # of its last two characters
        ("unseen_penalty", "f4"),  # −ln: what a casing costs that the LM has not seen, 1 + ln(1 + occurrences)
        ("shape_evidence", "u1"),
        ("frequency_rank", "u1"),
        ("lower_class", "u1"),  # by classes.word_classes
        ("cased_class", "u1"),
        ("one_letter", "u1"),  # 1: of which CAPITALIZED and UPPER are the same
        ("domain_log_odds", "i1", (MAX_DOMAINS,)),  # as from domains.domain_log_odds
    ],
    align=True,
)
"""What is known of a word; under the label of its most frequent form."""

_ARRAYS: list[np.dtype[Any]] = [WORD, *map(np.dtype, ("u1", "i2", "u4", "u4"))]  # as Context has them, in the file


class Parameters(NamedTuple):
    """What was learned of a domain: the weights of the shapes but LOWER, less LOWER's, as whole numbers.

    A table has 2^b slots, of four bytes each, the lowest first: the three weights of a row, each plus 128, and 1 + the
    row's number among those that share the slot. A feature f has slot f mod 2^b, number ⌊f / 2^b⌋ mod ROWS_PER_SLOT.
    """

    word_scores: npt.NDArray[np.int16]  # [V + 1, N_SHAPES − 1]: the sums of the weights of each word's word_features
    stage1: npt.NDArray[np.uint32]  # [2^b]
    stage2: npt.NDArray[np.uint32]
    scales: tuple[float, float]  # what a 1 in each table is worth


class Context(NamedTuple):
    """The context model that belongs to a model."""

    words: npt.NDArray  # WORD, by label
    shapes: npt.NDArray[np.uint8]  # by label
    word_scores: npt.NDArray[np.int16]  # [domains, V + 1, N_SHAPES − 1]; this and the following as Parameters
    stage1: npt.NDArray[np.uint32]  # [domains, 2^b]
    stage2: npt.NDArray[np.uint32]
    scales: npt.NDArray[np.float64]  # [domains, 2]
    checksum: int

    @classmethod
    def beside(cls, model: CapFst) -> Context | None:
        """The context model in the file beside a model's; None if there is none.

        CapfstError if it is damaged or belongs to another model.
        """
        path = path_of(model.path)
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size < _HEADER:
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
        if verified.recall(status) != (header["crc"],):
            if zlib.crc32(memoryview(mapped)[_HEADER:]) != header["crc"]:
                raise _damaged(path)
            verified.remember(status, (header["crc"],))
        offset = _HEADER
        arrays: list[npt.NDArray[Any]] = []
        for dtype, size in zip(_ARRAYS, header["bytes"], strict=True):
            arrays.append(np.frombuffer(mapped, dtype, size // dtype.itemsize, offset))
            offset += size
        words, shapes, word_scores, stage1, stage2 = arrays
        scales = np.array(header["scales"], np.float64)
        n = len(scales)
        return cls(
            words, shapes, word_scores.reshape(n, -1, N_SHAPES - 1), stage1.reshape(n, -1), stage2.reshape(n, -1),
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
    lexicon: Lexicon, domain_log_odds: npt.NDArray[np.int8], parameters: list[Parameters],
) -> Iterator[None]:  # fmt: skip
    """Writes the context model of the model at this path, whose words' first labels are `starts`. It is there after the
    block, in which the model is to be written; if that fails, what was there before is still there.

    domain_log_odds: [words, domains], as from domains.py. parameters: by domain.
    """
    words = np.zeros(len(symbols), WORD)
    _fill_words(starts, lexicon, domain_log_odds, words)
    arrays = [words, lexicon.shapes, *(np.stack(tables) for tables in list(zip(*parameters, strict=True))[:3])]
    raw = [array.reshape(-1).view(np.uint8).data for array in arrays]
    crc = 0
    for array in raw:
        crc = zlib.crc32(array, crc)
    header = {
        "format": _FORMAT,
        "model": _belongs(signature, symbols),
        "bytes": [len(array) for array in raw],
        "crc": crc,
        "scales": [domain.scales for domain in parameters],
    }
    text = json.dumps(header).encode()
    with replacing(path_of(model)) as file:
        file.write((text + b"\n%08x\n" % zlib.crc32(text)).ljust(_HEADER))
        for array in raw:
            file.write(array)
        file.flush()  # a full disk is found before the model is there
        del lexicon, domain_log_odds, parameters, words, arrays, raw, array  # making the model takes memory, too
        yield


@allocating
def _fill_words(starts, lexicon, domain_log_odds, words):  # type: ignore[no-untyped-def]
    """Fills the records of a model's words, WORD[V + 1], whose first labels are `starts`."""
    for number in range(starts.size - 1):
        word, counts = words[starts[number]], lexicon.shape_counts[number]
        word.word_hash, word.suffix2_hash = lexicon.hashes[number, WHOLE], lexicon.hashes[number, SUFFIX + 1]
        word.shape_evidence, word.frequency_rank = shape_evidence(counts), lexicon.frequency_ranks[number]
        word.lower_class, word.cased_class = lexicon.classes[number, 0], lexicon.classes[number, 1]
        word.unseen_penalty = 1 + np.log(1.0 + counts.sum())
        word.one_letter = word.suffix2_hash == 0
        for domain in range(domain_log_odds.shape[1]):
            word.domain_log_odds[domain] = domain_log_odds[number, domain]


def quantize(tables: Tables, lexicon: Lexicon, starts: npt.NDArray[np.int64]) -> Parameters:
    """Learned tables as the file has them. starts: the words' first labels."""
    weights1, scale1 = _whole_numbers(tables.stage1)
    weights2, scale2 = _whole_numbers(tables.stage2)
    word_scores = np.zeros((len(lexicon.word_of), N_SHAPES - 1), np.int16)
    _sum_word_scores(starts, lexicon.hashes, lexicon.shape_counts, weights1, word_scores)
    packed = _packed(weights1, tables.stage1[:, N_SHAPES:]), _packed(weights2, tables.stage2[:, N_SHAPES:])
    return Parameters(word_scores, *packed, (scale1, scale2))


def _whole_numbers(table: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int16], float]:
    """[rows, N_SHAPES − 1]: the weights of the shapes but LOWER, less LOWER's, in whole numbers up to _MAX_WEIGHT; and
    what a 1 is worth. (Softmax takes differences of scores only, so LOWER's may be 0.)"""
    weights = table[:, 1:N_SHAPES] - table[:, :1]
    scale = float(max(weights.max(initial=0), -weights.min(initial=0))) / _MAX_WEIGHT or 1.0
    weights /= scale
    return np.rint(weights, out=weights).astype(np.int16), scale


def _packed(weights: npt.NDArray[np.int16], gradients: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Of the rows that share a slot, the one that matters most: the product of the size of its weights and the root of
    AdaGrad's sums of its squared gradients is the largest."""
    n_slots = len(weights) // ROWS_PER_SLOT
    packed, most = np.full(n_slots, EMPTY_ROW, np.uint32), np.zeros(n_slots)
    for number in range(ROWS_PER_SLOT):
        these = slice(number * n_slots, (number + 1) * n_slots)
        rows = weights[these]
        importance = np.abs(rows).sum(1) * np.sqrt(gradients[these].sum(1))
        better = importance > most
        most[better] = importance[better]
        kept = (rows[better] + 128).astype(np.uint32)
        packed[better] = kept[:, 0] | kept[:, 1] << 8 | kept[:, 2] << 16 | np.uint32(number + 1) << 24
    return packed


@allocating
def _sum_word_scores(starts, hashes, shape_counts, weights, word_scores):  # type: ignore[no-untyped-def]
    """word_scores[label, shape − 1]: the sum of the weights of a word's word_features, under its first label."""
    features = np.empty(MAX_WORD_FEATURES, np.uint64)
    mask = np.uint64(len(weights) - 1)
    for number in range(starts.size - 1):
        for i in range(word_features(hashes[number], shape_evidence(shape_counts[number]), features)):
            for k in range(N_SHAPES - 1):
                word_scores[starts[number], k] += weights[np.int64(features[i] & mask), k]
