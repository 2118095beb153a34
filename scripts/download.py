"""Download: a URL → a file, in as many attempts as it takes.

In: an HTTP address, and what is known of its file: size, checksum. Out: the file, or an error. It is written to
FILE.part, beside which FILE.part.json says what the server told of it, and renamed when size and checksum are right.
What breaks off is taken up where it ended, also by a later run, unless the server's file has changed (ETag,
Last-Modified, size).
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from capfst.errors import CapfstError
from capfst.system.progress import Advance, progress

ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}  # by the number of hexadecimal digits
PIECE = 1 << 18
TIMEOUT = 60.0  # seconds without a byte
AGAIN = frozenset([408, 425, 429, 500, 502, 503, 504])  # HTTP errors that pass


def fetch(url: str, path: Path, checksum: str | None = None, size: int | None = None, tries: int = 6) -> None:
    """Fetches a URL into a file, in as many attempts as needed; `tries` of them in a row may get nothing.

    checksum: hexadecimal digits (MD5, SHA-1, SHA-256 or SHA-512), or the URL or path of a list of them.

    Raises:
        CapfstError: it cannot be had, or is not of this size or checksum.
    """
    digest = _expected(checksum, url.rsplit("/", 1)[-1]) if checksum else None
    if path.exists():
        _check(path, path, size, digest)
        print(f"{path} is there already", file=sys.stderr)
        return
    part = path.with_name(path.name + ".part")
    with _alone(part) as file:
        _persist(lambda: _attempt(url, file, part, size), lambda: _size(file), url, tries)
        file.flush()
        _check(path, part, size, digest)
        os.fsync(file.fileno())
        os.replace(part, path)
    _notes(part).unlink(missing_ok=True)


def _persist(attempt: Callable[[], object], so_far: Callable[[], int], url: str, tries: int) -> None:
    """Tries again, after growing pauses, until `tries` attempts in a row have got nothing further."""
    failed = 0
    while True:
        before = so_far()
        try:
            attempt()
            return
        except (OSError, http.client.HTTPException) as error:
            failed = 1 if so_far() > before else failed + 1
            if failed >= tries:
                raise CapfstError(f"cannot fetch {url}: {error}; run it again to go on where it ended") from error
            pause = min(60, 2 ** (failed - 1))
            print(f"{url}: {error}; once more in {pause} s", file=sys.stderr)
            time.sleep(pause)


@contextmanager
def _alone(part: Path) -> Iterator[BinaryIO]:
    """The partial file, for nobody else."""
    try:
        file = open(part, "a+b")  # noqa: SIM115
    except OSError as error:
        raise CapfstError(f"cannot write {part}: {error.strerror}: choose another path (-o)") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CapfstError(f"{part} is being written by another process: wait for it") from error
        try:
            yield file
        finally:
            if not _size(file):
                part.unlink(missing_ok=True)


def _notes(part: Path) -> Path:
    """What the server said of the file that `part` is a part of."""
    return part.with_name(part.name + ".json")


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _open(url: str, **headers: str) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers})
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            raise
        if error.code in AGAIN:
            raise ConnectionError(f"HTTP {error.code} {error.reason}") from error
        raise CapfstError(f"cannot fetch {url}: HTTP {error.code} {error.reason}: check the address") from error
    except ValueError as error:
        raise CapfstError(f"{url} is no address: {error}") from error


def _attempt(url: str, file: BinaryIO, part: Path, size: int | None) -> None:
    """Fetches what is missing, or, if that is not part of the same file, everything."""
    have = _size(file)
    notes = json.loads(_notes(part).read_text("utf-8")) if have and _notes(part).exists() else {}
    headers = {}
    if notes.get("url") == url:
        headers["Range"] = f"bytes={have}-"
        if notes["validator"]:
            headers["If-Range"] = notes["validator"]
    try:
        response = _open(url, **headers)
    except urllib.error.HTTPError:  # 416: there is nothing behind what we have
        if have == notes["size"]:
            return
        response = _open(url)
    with response:
        etag = response.headers["ETag"]
        # A weak ETag is no proof that bytes are the same (RFC 9110 §13.1.5).
        validator = etag if etag and not etag.startswith("W/") else response.headers["Last-Modified"]
        if response.status == 206:
            match = re.fullmatch(rf"bytes {have}-\d+/(\d+)", response.headers["Content-Range"] or "")
            total = int(match[1]) if match else None
            if total is None or total != notes["size"] or validator not in (None, notes["validator"]):
                _forget(file, part)
                raise ConnectionError("the server has another file now, or sends another part of it")
        else:
            total = int(response.headers["Content-Length"] or 0) or None
            if size and total not in (None, size):
                raise CapfstError(f"{url} has {total:,} bytes, not {size:,}: check the address and the size")
            _forget(file, part)
            _notes(part).write_text(json.dumps({"url": url, "size": total, "validator": validator}), "utf-8")
        with progress(total or 0, part.stem) as advance:
            advance(_size(file))
            _copy(response, file, advance)
            if total and _size(file) < total:
                raise ConnectionError(f"the connection ended after {_size(file):,} of {total:,} bytes")


def _forget(file: BinaryIO, part: Path) -> None:
    file.truncate(0)
    _notes(part).unlink(missing_ok=True)


def _copy(response: http.client.HTTPResponse, file: BinaryIO, advance: Advance) -> None:
    while piece := response.read1(PIECE):
        try:
            file.write(piece)
            file.flush()
        except OSError as error:
            raise CapfstError(f"cannot write {file.name}: {error.strerror}: free some space, run it again") from error
        advance(len(piece))


def _is_digest(word: str) -> bool:
    return len(word) in ALGORITHMS and re.fullmatch("[0-9a-fA-F]+", word) is not None


def _expected(checksum: str, name: str) -> str:
    """The checksum itself, or the one of the file `name` in the list that it names."""
    if _is_digest(checksum):
        return checksum.lower()
    if "://" in checksum:
        found: list[bytes] = []
        _persist(lambda: found.append(_open(checksum).read()), lambda: 0, checksum, 6)
        text = found[0].decode("utf-8", "replace")
    elif Path(checksum).is_file():
        text = Path(checksum).read_text("utf-8", "replace")
    else:
        raise CapfstError(f"{checksum} is no checksum and no file: give hexadecimal digits, a URL or a path")
    # "DIGITS  name", "DIGITS *name" (GNU), "SHA256 (name) = DIGITS" (BSD), or the digits alone.
    for line in text.splitlines():
        words = re.sub(r"[*()=]", " ", line).split()
        digits = [word.lower() for word in words if _is_digest(word)]
        if digits and (len(words) == 1 or name in (Path(word).name for word in words)):
            return digits[0]
    raise CapfstError(f"{checksum} has no checksum of {name}: give its digits (--checksum)")


def _check(path: Path, found: Path, size: int | None, digest: str | None) -> None:
    """Refuses, and removes, a partial file that is wrong; one that is in place is left there."""
    wrong = ""
    if size is not None and found.stat().st_size != size:
        wrong = f"it has {found.stat().st_size:,} bytes, not {size:,}"
    elif digest:
        algorithm = ALGORITHMS[len(digest)]
        actual = hashlib.new(algorithm)
        with open(found, "rb") as file:
            while piece := file.read(PIECE):
                actual.update(piece)
        if actual.hexdigest() != digest:
            wrong = f"its {algorithm} is {actual.hexdigest()}, not {digest}"
    if wrong and found == path:
        raise CapfstError(f"{path} is there already, but {wrong}: remove it or choose another path (-o)")
    if wrong:
        found.unlink()
        _notes(found).unlink(missing_ok=True)
        raise CapfstError(f"{path} is not what it should be: {wrong}: check the checksum, and run it again")
