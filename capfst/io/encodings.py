"""Encodings of text other than UTF-8: text is decoded to UTF-8 as it is read, and encoded again as it is written.

All code between sees UTF-8 only. A byte order mark stays, and so does the byte order. `guess` names the encoding that
bytes are probably in, for messages. It knows only the usual ones, for which charset-normalizer is not needed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.options import Errors

UTF8 = "utf-8"
_MARKS = {
    "utf-16": {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", b"": "utf-16-le"},
    "utf-32": {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be", b"": "utf-32-le"},
}
"""Encodings whose byte order the first bytes determine."""
MARKS = tuple(sorted({mark for marks in _MARKS.values() for mark in marks if mark}, key=len, reverse=True))
"""Byte order marks, without UTF-8's; those of UTF-32, which can begin like UTF-16's, come first."""
_LONGEST_MARK = 4
_OF_NAMES = "idna", "punycode"  # of host names, not of text
_PLAIN = 1 << 16  # bytes by which an encoding is guessed
_runs = re.compile(rb"[\x80-\xff]{2,}").findall
_NOT_CP1252 = b"\x81\x8d\x8f\x90\x9d"


def checked(encoding: str) -> str:
    """Return Python's name of an encoding; OptionError if it is unknown, or not one of text."""
    try:
        info = codecs.lookup(encoding)
        "".encode(info.name)  # LookupError for encodings of bytes
        if info.name in _OF_NAMES:
            raise LookupError
    except (LookupError, ValueError):
        raise OptionError(f"`encoding` is {encoding!r}. Use the name of one, such as latin-1 or utf-16.") from None
    return UTF8 if info.name == "utf-8-sig" else info.name


class Transcoding:
    """Decodes a file or stream to UTF-8, and encodes its recased text. encoding: a name that `checked` has returned;
    errors: bytes that are not in it, or would not become the same again, raise an error; or they become U+FFFD."""

    def __init__(self, encoding: str, errors: Errors) -> None:
        self.encoding = encoding
        self.errors = errors
        self._codec = _MARKS[encoding][b""] if encoding in _MARKS else encoding

    def utf8(self, pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
        """Yield bytes of the file or stream `name` as UTF-8.

        Raises:
            CorpusError: bytes that are not in the encoding, or that would not stay the same.
        """
        pieces, head = iter(pieces), b""
        if marks := _MARKS.get(self.encoding):
            while len(head) < _LONGEST_MARK and (piece := next(pieces, b"")):
                head += piece
            self._codec = next(codec for mark, codec in marks.items() if head.startswith(mark))
        decoder = codecs.getincrementaldecoder(self._codec)(self.errors)
        encoder = codecs.getincrementalencoder(self._codec)()
        size, held = 0, b""
        for piece in chain(filter(None, [head]), pieces, [b""]):
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                raise CorpusError(
                    f"{name}: not {self.encoding} at byte {size - pending + error.start} of the text. Choose another"
                    f" `encoding`, or use `errors='replace'`."
                ) from error
            size += len(piece)
            if self.errors == "strict":
                held += piece
                again = encoder.encode(text)
                is_same = held.startswith(again)
                held = held[len(again) :]
                if not is_same or (held and not piece):
                    raise CorpusError(
                        f"{name}: some bytes before byte {size} would not stay the same in {self.encoding}. Convert"
                        f" the text with `iconv -f {self.encoding} -t UTF-8`."
                    )
            if text:
                yield text.encode()

    def writer(self, write: Callable[[bytes], object], name: str) -> Callable[[bytes | memoryview], object]:
        """Return a function that writes UTF-8, whole characters, encoded by `write`.

        Raises:
            CapfstError: the encoding lacks a character in either case.
        """
        encoder: codecs.IncrementalEncoder | None = None

        def encoded(data: bytes | memoryview) -> object:
            nonlocal encoder
            if encoder is None:  # the byte order is known now
                encoder = codecs.getincrementalencoder(self._codec)(_other_case(self._codec))
            try:
                return write(encoder.encode(str(data, UTF8)))
            except UnicodeEncodeError as error:
                raise CapfstError(
                    f"{name}: {self.encoding} has no {error.object[error.start]!r}. Convert the text with"
                    f" `iconv -f {self.encoding} -t UTF-8`."
                ) from error

        return encoded


def _other_case(codec: str) -> str:
    """Return the name of an error handler that writes a letter that the encoding lacks (such as Ÿ in Latin-1) in the
    case in which it has it, and U+FFFD as a question mark."""
    name = f"capfst.{codec}"

    def handle(error: UnicodeError) -> tuple[str, int]:
        if isinstance(error, UnicodeEncodeError):
            character = error.object[error.start]
            for other in (character.lower(), character.upper(), *("?" if character == "\ufffd" else "")):
                try:
                    other.encode(codec)
                except UnicodeEncodeError:
                    continue
                return other, error.start + 1
        raise error

    codecs.register_error(name, handle)
    return name


def guess(data: bytes) -> str | None:
    """Return the encoding, as Python and iconv call it, that text which is not UTF-8 is probably in: UTF-16 or UTF-32
    by a byte order mark, UTF-16 without one, or a text of mostly ASCII letters in Windows-1252 or Latin-1; None if it
    is none of these."""
    head = data[:_PLAIN]
    if mark := next(filter(head.startswith, MARKS), None):
        return f"UTF-{8 * len(mark)}"
    if head.strip(b"\0\r\n") and b"\0" in head:
        even, odd, least = head[::2].count(0), head[1::2].count(0), max(len(head) // 2, 2) / 2  # one NUL shows nothing
        return "UTF-16LE" if odd > least > 4 * even else "UTF-16BE" if even > least > 4 * odd else None
    high = sum(byte >= 0x80 for byte in head)
    letters = sum(0x61 <= byte | 0x20 <= 0x7A for byte in head)
    if not 0 < high <= letters / 2:
        return None
    # Characters of several bytes, such as Chinese, and words of Cyrillic; but Finnish has ää.
    if 2 * sum(len(run) for run in _runs(head) if len(set(run)) > 1) > high:
        return None
    marks = {byte for byte in head if 0x80 <= byte < 0xA0}
    if marks & set(_NOT_CP1252):
        return None
    return "CP1252" if marks else "LATIN1"


def advice(data: bytes, has_option: bool = True) -> str:
    """Return the remedy for text that is not UTF-8. has_option: `encoding` applies to it."""
    found = guess(data)
    name = found or "ENCODING"
    looks = f"It looks like {found}. " if found and not found.startswith("UTF") else ""
    convert = f"convert it with `iconv -f {name} -t UTF-8`"
    remedy = f"use `encoding='{name}'` (recase, batch, train), or {convert}" if has_option else convert
    return f"{looks}{remedy[0].upper()}{remedy[1:]}"
