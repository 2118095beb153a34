"""The manifest: a JSON Lines file in the output folder, with an entry for each complete output.

An entry records what the output was made from (input, model, options), the stamps of both files, and the counts. Size
and hash identify a file's content; a file is hashed again only if its size, times or inode have changed. The last entry
of an output is the valid one. A line that a killed run left incomplete is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from capfst.exceptions import CapfstError
from capfst.io.outputs import MANIFEST
from capfst.io.protocol import RecaseCounts, Stretch
from capfst.system.atomic import replacing

_SYNC = 1.0  # seconds between syncs: an entry lost in a power cut costs only recasing its file again


class Stamp(NamedTuple):
    """Identification of a file's content, and the metadata that shows, without reading it, that it is unchanged."""

    size: int
    hash: str  # SHA-256
    seen: tuple[int, int, int]  # time of modification, of status change (ns), inode

    @classmethod
    def of(cls, path: Path, hash: str) -> Stamp:
        """Return the stamp of a file whose hash is known."""
        status = os.stat(path)
        return cls(status.st_size, hash, (status.st_mtime_ns, status.st_ctime_ns, status.st_ino))

    def is_of(self, path: Path) -> bool:
        """Return whether the file has not been touched since."""
        return Stamp.of(path, self.hash) == self

    def refreshed(self, path: Path) -> Stamp | None:
        """Return the file's current stamp, or None if its content has changed. The file is read only if necessary."""
        try:
            now = Stamp.of(path, self.hash)
            return now if now == self or (now.size == self.size and sha256(path) == self.hash) else None
        except OSError:
            return None


@dataclass(frozen=True)
class ManifestEntry:
    """A complete output, with its input, model and options."""

    output: str  # path relative to the folder of the manifest
    input: str
    made_by: dict[str, Any]  # model and options; if they differ, the output must be made again
    read: Stamp
    written: Stamp
    counts: RecaseCounts

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"read": self.read._asdict(), "written": self.written._asdict()})

    @classmethod
    def from_json(cls, line: str) -> ManifestEntry:
        """Parse a line of a manifest.

        Raises:
            ValueError, TypeError, KeyError: the line is not an entry.
        """
        fields = json.loads(line)
        for key in "read", "written":
            stamp = fields[key]
            fields[key] = Stamp(stamp["size"], stamp["hash"], tuple(stamp["seen"]))
        counts = RecaseCounts(**fields["counts"])
        return cls(**{**fields, "counts": replace(counts, places=tuple([Stretch(*place) for place in counts.places]))})


class Manifest:
    """The entries of an output folder, by the outputs' relative paths."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / MANIFEST
        self.entries: dict[str, ManifestEntry] = {}
        self._synced = time.monotonic()
        with self._failures():
            lines = self.path.read_bytes().splitlines() if self.path.exists() else []
            for line in lines:
                with suppress(ValueError, TypeError, KeyError):
                    entry = ManifestEntry.from_json(line.decode())
                    self.entries[entry.output] = entry
            if len(self.entries) < len(lines):
                with replacing(self.path) as file:
                    file.writelines(f"{entry.to_json()}\n".encode() for entry in self.entries.values())
            self._file = open(self.path, "ab", 0)  # noqa: SIM115

    def add(self, entry: ManifestEntry) -> None:
        """Add an entry, and write it to the file."""
        self.entries[entry.output] = entry
        with self._failures():
            self._file.write(f"{entry.to_json()}\n".encode())
            if time.monotonic() - self._synced > _SYNC:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()

    def close(self) -> None:
        with self._failures(), closing(self._file):
            os.fsync(self._file.fileno())

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CapfstError(
                f"{self.path}: cannot write: {error.strerror}. Check its permissions and the disk."
            ) from error


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, as hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()
