"""`capfst recase --stream`: the case of text as it arrives: words, hypotheses that replace each other, or Vosk's JSON.

In: a pipe. Out: its text in its best casing, word by word, or hypothesis by hypothesis; all else stays as it is.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from capfst.exceptions import CorpusError
from capfst.io.blocks import delivered, valid
from capfst.stream import spaces_and_words

if TYPE_CHECKING:
    from capfst.io.encodings import Transcoding
    from capfst.options import Errors
    from capfst.stream import Stream

_NAME = "<stdin>"
_PIECE = 1 << 8  # bytes read at once: a few words, so that the first does not wait until the last is recased
_OBJECTS = 1 << 16  # the same of JSON, where what has arrived of an object is parsed again with each piece
_LONGEST = 1 << 20  # characters that are held: of a word, a hypothesis or an object of JSON

_ended = re.compile(r"(?<=\n)|(?<=\r)(?!\n)").split
_word_ends = re.compile(r"\S\s").search
_FIELD = re.compile(r'("(partial|text|word)"\s*:\s*)("[^"\\]*(?:\\.[^"\\]*)*")')
_object = json.JSONDecoder().raw_decode


def recase_stream(
    stream: Stream, source: BinaryIO, errors: Errors = "strict", transcoding: Transcoding | None = None
) -> Iterator[bytes]:
    """Yield the text of `source` in its best casing, as UTF-8: words as soon as they are settled.

    A line is an utterance. Kaldi ends a partial result with a carriage return: then the text up to there is yielded as
    it looks now, and the text up to the next carriage return or line break is the next hypothesis of the same
    utterance. transcoding: of text that is not UTF-8.

    Raises:
        CorpusError: the text cannot be read or decoded, or a word or hypothesis is too long.
    """
    held, is_revised = "", False  # the last word, or, once an utterance is revised, its next hypothesis
    for text in _decoded(source, errors, transcoding):
        first, *more = _ended(text)
        *lines, held = [held + first, *more]
        cased = []
        for line in lines:
            ends = line[-1] == "\n"
            cased += [_cased(stream, line[:-1], is_revised, ends), line[-1]]
            is_revised = not ends
        if not is_revised and _word_ends(held, max(0, len(held) - len(text) - 1)):
            parts = spaces_and_words(held)
            n_whole = max(0, len(parts) - (1 if parts[-1] else 3))  # a word is whole if white space follows
            cased.append(stream.add("".join(parts[:n_whole])))
            held = "".join(parts[n_whole:])
        _check_length(held)
        yield "".join(cased).encode()
    yield _cased(stream, held, is_revised, ends=True).encode()


def _cased(stream: Stream, text: str, is_revised: bool, ends: bool) -> str:
    """Return the rest of an utterance, or a hypothesis of it, as it looks now or, if the utterance ends, in the end."""
    if is_revised and not text.strip():  # the line ends with \r\n, after which there was a pause
        if ends:
            stream.end()
        return text
    settled = stream.revise(text).settled if is_revised else stream.add(text)
    return settled + (stream.end() if ends else stream.tentative)


def recase_stream_json(
    stream: Stream, source: BinaryIO, errors: Errors = "strict", transcoding: Transcoding | None = None
) -> Iterator[bytes]:
    """Yield Vosk's results in their best casing as they arrive: objects of which `partial` is a hypothesis of an
    utterance, and `text` the last one; the fields `word` in them get the same casing.

    Raises:
        CorpusError: the text cannot be read or decoded, or is not JSON objects.
    """
    held = ""
    for text in _decoded(source, errors, transcoding, _OBJECTS):
        held += text
        while (begin := len(held) - len(held.lstrip())) < len(held):
            if held[begin] != "{":
                raise CorpusError(f"{_NAME}: expected a JSON object, not {held[begin : begin + 20]!r}.")
            try:
                found, end = _object(held, begin)
            except json.JSONDecodeError:
                break  # the rest of the object has not arrived
            yield _cased_object(stream, found, held[:end]).encode(errors="backslashreplace")  # lone surrogates
            held = held[end:]
        _check_length(held)
    if held.rstrip():
        raise CorpusError(f"{_NAME}: not a complete JSON object: {held.strip()[:20]!r}….")
    yield held.encode()


def _cased_object(stream: Stream, found: dict[str, object], text: str) -> str:
    """Return an object, whose fields are known, with the words of its hypothesis in their casing."""
    hypothesis = found.get("text", found.get("partial"))
    if not isinstance(hypothesis, str):
        raise CorpusError(f"{_NAME}: expected a field `partial` or `text`, but found: {', '.join(found) or 'none'}.")
    settled, tentative = stream.revise(hypothesis)
    cased = settled + (stream.end() if "text" in found else tentative)
    timed = [json.loads(value) for _, name, value in _FIELD.findall(text) if name == "word"]
    words = iter(cased.split() if timed == hypothesis.split() else timed)

    def recased(field: re.Match[str]) -> str:
        return field[1] + json.dumps(next(words) if field[2] == "word" else cased, ensure_ascii=field[3].isascii())

    return _FIELD.sub(recased, text)


def _check_length(held: str) -> None:
    if len(held) > _LONGEST:
        raise CorpusError(f"{_NAME}: {_LONGEST:,} characters without a space or line end. Leave out --stream.")


def _decoded(source: BinaryIO, errors: Errors, transcoding: Transcoding | None, size: int = _PIECE) -> Iterator[str]:
    """Yield the text of `source` as it arrives, whole characters. size: the bytes that are read at once."""
    pieces = delivered(source, size, _NAME)
    pieces = transcoding.utf8(pieces, _NAME) if transcoding else pieces
    return map(bytes.decode, valid(_whole_characters(pieces), _NAME, errors))


def _whole_characters(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        held += piece
        end = codecs.utf_8_decode(held, "replace")[1]  # without a last character of which bytes are still to come
        end -= len(piece) >= _PIECE and held.endswith(b"\r")  # the next piece, which is there, may begin with \n
        yield held[:end]
        held = held[end:]
    if held:
        yield held
