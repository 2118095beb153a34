"""Map cap.fst: the model's states and arcs are views of the file, which all processes that read it share.

In: a path. Out: `CapFst`. Order: header, symbol table, states and arcs, trailer. Each is checked (by symbols.py,
validate.py and trailer.py) once the file is known to be long enough for it. So any file either opens as a model in
which every number is in range, or raises ModelError with the reason.

Models that OpenFst or pynini wrote in a layout that cannot be mapped, `vector` or `const` without alignment, can be
read, to be written again. OpenFst does not keep the trailer, and so not the context model.
"""

import mmap
import os
import stat
import struct
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CapfstError, ModelError, quantity, with_remedy
from capfst.forks import cached
from capfst.fst import trailer, validate
from capfst.fst import write as fst
from capfst.fst.signature import Signature
from capfst.fst.symbols import DamagedModelError, Symbols, check, first_labels, unpack
from capfst.fst.trailer import Part, Trailer, padding
from capfst.fst.write import ARC, STATE
from capfst.kernels.types import I32Array
from capfst.system import verified
from capfst.text.language import Language
from capfst.text.restoring import of_name

T = TypeVar("T")


class OtherVersionError(ValueError):
    """A part of a model that another version of capfst has made."""


GRAMMAR = "grammar"
"""Name of the part of a model that maps characters as a user's grammar does."""

_HEAD = 1 << 12  # bytes in which an ARPA file begins, after comments
_FOREIGN = {
    b"\x1f\x8b": "a gzip file, not a model. Decompress it, or use `capfst import` if it is an ARPA file.",
    b"\x28\xb5\x2f\xfd": "a zstd file, not a model. Decompress it, or use `capfst import` if it is an ARPA file.",
    b"mmap lm http://kheafield.com/code": "a KenLM binary, not a model. Convert its ARPA file with `capfst import`.",
}

_Kind = tuple[bytes, bytes, int]  # type of the FST, type of its arcs, version
_MAPPABLE: _Kind = (fst.FST_TYPE, fst.ARC_TYPE, fst.VERSION)
"""Version 1 of const files is the aligned one, with or without the flag."""
_UNALIGNED: _Kind = (fst.FST_TYPE, fst.ARC_TYPE, 2)
_VECTOR: _Kind = (b"vector", fst.ARC_TYPE, 2)
_VECTOR_STATE = struct.Struct("<fq")  # final weight, number of arcs


class CapFst:
    """A model in a mapped file. Its arrays are read-only; kernels read a record's fields as `arcs[i].weight`.

    path        str
    bytes       size of the file
    signature   Signature
    symbols     Symbols of labels 0..V
    starts      int32[words + 1], the first label of each lowercase word, in order, then V + 1
    start       state of `<s>`
    states      STATE[n]; state 0 is the empty context
    arcs        ARC[m]; the unigram of label l is arcs[l − 1]
    ngrams      number of n-grams per order, unigrams first; `</s>` counts as a word, `<s>` does not
    trailer     the other parts of the model; None if capfst 0.1 or another program wrote the file
    """

    def __init__(self, path: str | os.PathLike[str], ngrams: Sequence[int] = (), is_mappable: bool = True) -> None:
        """Map and check the model, as `open`. is_mappable: False for one of another layout, which is read to memory."""
        self.path = os.fspath(path)
        try:
            self._mapped, file = _map_file(self.path)
            self.bytes = len(self._mapped)
            header = _header_of(self._mapped, self.path, is_mappable)
            self.signature = header.signature
            self.start = header.start
            symbols, self.states, self.arcs, end = _body(self._mapped, header)
            self.trailer: Trailer | None = trailer.read(self._mapped, end, header.has_trailer or bool(ngrams))
            self.symbols = replace(symbols, language=_language_of(header.signature, self.parts))
            self.ngrams = verified.recall(file)
            if self.ngrams:
                self.starts = first_labels(self.symbols)
            else:
                self.starts, self.ngrams = self._checked(tuple(ngrams))
                verified.remember(file, self.ngrams)
            if is_mappable:
                _check_properties(header, self.states)
        except OSError as error:
            raise ModelError(f"{self.path}: cannot read the model: {with_remedy(error)}") from error
        except ModelError as error:  # errors of the kernel library pass
            raise ModelError(f"{self.path}: {error}") from error

    def _checked(self, known: tuple[int, ...]) -> tuple[I32Array, tuple[int, ...]]:
        """Check the file's contents; return `starts` and `ngrams`, which may be `known`."""
        with ThreadPoolExecutor(2) as pool:
            verifying = pool.submit(trailer.verify, self._mapped, self.trailer)
            if known:  # and with a checksum
                starts, ngrams = check(self.symbols), known
            else:
                checking = pool.submit(validate.check, self.states, self.arcs, len(self.symbols) - 1)
                starts, ngrams = check(self.symbols), checking.result()
            verifying.result()
        return starts, ngrams

    @classmethod
    def open(cls, path: str | os.PathLike[str], ngrams: Sequence[int] = ()) -> "CapFst":
        """Map and check a model.

        ngrams: the number of n-grams per order of a model that is known to be valid if its checksum is right; then it
        must have one, and its states and arcs are not validated.

        Raises:
            ModelError: the file is missing, foreign, truncated or damaged.
        """
        return cls(path, ngrams)

    def __repr__(self) -> str:
        sizes = f"{quantity(len(self.symbols) - 1, 'surface form')}, {quantity(sum(self.ngrams), 'n-gram')}"
        return f"<CapFst {self.path!r}: order {self.order}, {sizes}>"

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.ngrams)

    @property
    def parts(self) -> dict[str, Part]:
        """The parts of the trailer, by name."""
        return self.trailer.parts if self.trailer else {}

    def part(self, name: str, version: int, read: Callable[[Part], T], remedy: str) -> T | None:
        """Return what `read` makes of a part, whose format has this version; None if the model has no such part.

        Raises:
            ModelError: the part is damaged, or of another version of capfst. remedy: what can be done.
        """
        if name not in self.parts:
            return None
        try:
            if self.parts[name].settings.get("format") != version:
                raise OtherVersionError
            return read(self.parts[name])
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            why = "made by another version of capfst" if isinstance(error, OtherVersionError) else f"damaged: {error}"
            raise ModelError(f"{self.path}: its part {name!r} cannot be used ({why}). {remedy}") from error

    @cached
    def checksum(self) -> int:
        """CRC-32 of the file, except the last four bytes of a trailer, which store it."""
        return self.trailer.checksum if self.trailer else zlib.crc32(self._mapped)


def is_fst(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one of OpenFst's."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == struct.pack("<i", fst.FST_MAGIC)
    except OSError:
        return False


class Header(NamedTuple):
    """The headers of an FST and of its symbol table."""

    kind: _Kind
    start: int
    states: int
    arcs: int
    properties: int
    has_trailer: bool
    signature: Signature
    symbols: int  # number of symbols
    end: int  # offset of the first symbol


def _map_file(path: str) -> tuple[mmap.mmap, os.stat_result]:
    """Map a file; return the map and the file's status."""
    # Before opening: a pipe would wait for its writer.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelError("not a regular file, so it cannot be memory-mapped. Give the path of a file.")
    with open(path, "rb") as file:
        state = os.fstat(file.fileno())
        if state.st_size == 0:
            raise ModelError("an empty file, not a model. Copy it again, or train the model again.")
        return mmap.mmap(file.fileno(), state.st_size, access=mmap.ACCESS_READ), state


def _header_of(mapped: mmap.mmap, path: str, is_mappable: bool) -> Header:
    """Parse the headers of the FST and of its symbol table.

    Raises:
        ModelError: the file is not an FST that is mappable or not, as given, with input symbols that a signature names.
    """
    offset = 0

    def take(form: str) -> tuple[Any, ...]:
        nonlocal offset
        if offset + struct.calcsize(form) > len(mapped):
            raise DamagedModelError(f"it ends inside its header, after {quantity(len(mapped), 'byte')}")
        values = struct.unpack_from(form, mapped, offset)
        offset += struct.calcsize(form)
        return values

    def string() -> bytes:
        (length,) = take("<i")
        if not 0 <= length <= 1 << 16:
            raise DamagedModelError("a string in its header has an invalid length")
        return take(f"{length}s")[0]

    start_of_file = mapped[:64]
    for magic, file_type in _FOREIGN.items():
        if start_of_file.startswith(magic):
            raise ModelError(file_type)
    if take("<i") != (fst.FST_MAGIC,):
        if b"\\data\\" in mapped[:_HEAD]:
            raise ModelError(f"an ARPA file, not a model. Convert it with `capfst import {path} -o cap.fst`.")
        raise ModelError("not a model, because it is not an OpenFst file. Give the path of a model.")
    fst_type, arc_type = string(), string()
    version, flags, properties = take("<iiQ")
    kind = fst_type, arc_type, version
    if kind not in ([_MAPPABLE] if is_mappable else [_UNALIGNED, _VECTOR]):
        names = [name[:80].decode(errors="replace") for name in (fst_type, arc_type)]
        found = f"an FST of type {names[0]}<{names[1]}>, version {version}"
        if kind == _MAPPABLE:
            remedy = "which needs no conversion. Use it as it is."
        elif kind in (_UNALIGNED, _VECTOR):
            remedy = f"which cannot be memory-mapped. Convert it with `capfst import {path} -o aligned.fst`."
        else:
            remedy = "which is not supported. Convert it with `fstmap --map_type=to_std` and `capfst import`."
        raise ModelError(f"{found}, {remedy}")
    if flags & (fst.HAS_ISYMBOLS | fst.HAS_OSYMBOLS) != fst.HAS_ISYMBOLS:
        raise ModelError("a model must have input symbols and no output symbols. Set them with `fstsymbols`.")
    start, states, arcs = take("<qqq")
    if take("<i") != (fst.SYMBOLS_MAGIC,):
        raise DamagedModelError("there is no symbol table after its header")
    signature = Signature.parse(string().decode(errors="replace"))
    _, symbols = take("<qq")
    has_trailer = flags & fst.HAS_TRAILER != 0
    return Header(kind, start, states, arcs, properties, has_trailer, signature, symbols, offset)


def _language_of(signature: Signature, parts: dict[str, Part]) -> Language:
    """Return the language that the signature names, with the grammar of the model's parts."""
    part = parts.get(GRAMMAR)
    try:
        return of_name(signature.lowercasing, part.settings["characters"] if part else ())
    except (CapfstError, KeyError, TypeError, ValueError):
        raise ModelError(
            f"its lowercasing is {signature.lowercasing[:80]!r}, for which this version has no grammar. Use the version"
            " of capfst that made the model."
        ) from None


def grammar_part(language: Language) -> dict[str, Part]:
    """Return the part, by name, that stores a user's grammar; empty if the language has none."""
    return {GRAMMAR: Part({"characters": language.grammar}, {})} if language.grammar else {}


def _body(mapped: mmap.mmap, header: Header) -> tuple[Symbols, npt.NDArray, npt.NDArray, int]:
    """Return symbols, states and arcs, and the offset after the arcs."""
    if not 1 <= header.states <= fst.MAX_STATES or (header.kind != _VECTOR and not 1 <= header.arcs <= fst.MAX_ARCS):
        raise DamagedModelError(f"it cannot have {quantity(header.states, 'state')} and {quantity(header.arcs, 'arc')}")
    if not 0 <= header.start < header.states:
        raise DamagedModelError(f"its start state {header.start} is not one of its {quantity(header.states, 'state')}")
    symbols, begin = unpack(np.frombuffer(mapped, np.uint8), header.end, header.symbols)
    if header.kind == _VECTOR:
        return symbols, *_vector(mapped, begin, header.states)
    is_aligned = header.kind == _MAPPABLE
    begin += padding(begin) if is_aligned else 0
    states_end = begin + header.states * STATE.itemsize
    arcs_begin = states_end + (padding(states_end) if is_aligned else 0)
    end = arcs_begin + header.arcs * ARC.itemsize
    if end > len(mapped):
        raise DamagedModelError(f"it has {quantity(len(mapped), 'byte')}, but its header requires {end:,}")
    states = np.frombuffer(mapped, STATE, header.states, begin)
    arcs = np.frombuffer(mapped, ARC, header.arcs, arcs_begin)
    return symbols, states if is_aligned else states.copy(), arcs if is_aligned else arcs.copy(), end


def _vector(mapped: mmap.mmap, offset: int, n_states: int) -> tuple[npt.NDArray, npt.NDArray, int]:
    """Return states and arcs of a layout in which each state's arcs follow it, and the offset after them."""
    finals, counts, parts = [], [], []
    for _ in range(n_states):
        begin, end = offset + _VECTOR_STATE.size, -1
        if begin <= len(mapped):
            final, count = _VECTOR_STATE.unpack_from(mapped, offset)
            end = begin + count * ARC.itemsize
        if not begin <= end <= len(mapped):
            raise DamagedModelError(f"it ends inside its states, after {quantity(len(mapped), 'byte')}")
        finals.append(final)
        counts.append(count)
        parts.append(mapped[begin:end])
        offset = end
    states, arcs, ends = np.zeros(n_states, STATE), np.frombuffer(b"".join(parts), ARC), np.cumsum(counts)
    states["final"], states["narcs"], states["pos"] = finals, counts, ends - counts
    for field, label in ("niepsilons", "ilabel"), ("noepsilons", "olabel"):
        before = np.concatenate(([0], np.cumsum(arcs[label] == 0)))
        states[field] = before[ends] - before[ends - counts]
    return states, arcs, offset


def _check_properties(header: Header, states: npt.NDArray) -> None:
    """Check that the property bits, which OpenFst trusts, are true of a model."""
    true = fst.properties(len(states), header.start, float(states["final"][0]))
    positive = 0x5555_5555_0000
    false = (true & positive) << 1 | (true >> 1) & positive
    if header.properties & (false | fst.MUTABLE | fst.ERROR) or not header.properties & fst.EXPANDED:
        raise DamagedModelError("its property bits contradict its arcs")
