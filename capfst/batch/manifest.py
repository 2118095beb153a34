"""The manifest: a file of JSON lines in the output folder, with a record for each output that is complete.

A record says what the output was made of (input, model, options), and has the stamps of both files and the counts. A
file's content is known by size and hash; it is hashed again only if its size, times or inode have changed. Of several
records of an output, the last one is valid. A line that a killed run has not finished is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from capfst.exceptions import CapfstError
from capfst.io.protocol import RecaseCounts
from capfst.system.atomic import replacing

NAME = ".capfst-batch.jsonl"

_SYNC = 1.0  # seconds between syncs: a record that a power cut destroys costs no more than recasing its file again


class Stamp(NamedTuple):
    """A file's content, and what tells, without reading it, that it has not changed."""

    size: int
    hash: str  # SHA-256
    seen: tuple[int, int, int]  # time of modification, of status change (ns), inode

    @classmethod
    def of(cls, path: Path, hash: str) -> Stamp:
        """The stamp of a file whose hash is known."""
        status = os.stat(path)
        return cls(status.st_size, hash, (status.st_mtime_ns, status.st_ctime_ns, status.st_ino))

    def is_of(self, path: Path) -> bool:
        """Whether nothing has touched the file since."""
        return Stamp.of(path, self.hash) == self

    def refreshed(self, path: Path) -> Stamp | None:
        """The file's stamp now, None if its content has changed; the file is read only if it may have."""
        try:
            now = Stamp.of(path, self.hash)
            if now == self:
                return now
            return now if now.size == self.size and sha256(path) == self.hash else None
        except OSError:
            return None


@dataclass(frozen=True)
class Record:
    output: str  # below the folder of the manifest
    input: str
    made_by: dict[str, Any]  # model and options: with others, the output is to be made again
    read: Stamp
    written: Stamp
    counts: RecaseCounts

    def to_json(self) -> str:
        record = asdict(self)
        for key in "read", "written":
            record[key] = getattr(self, key)._asdict()
        return json.dumps(record)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """ValueError, TypeError or KeyError if the line is no record."""
        record = json.loads(line)
        for key in "read", "written":
            stamp = record[key]
            record[key] = Stamp(stamp["size"], stamp["hash"], tuple(stamp["seen"]))
        return cls(**{**record, "counts": RecaseCounts(**record["counts"])})


class Manifest:
    """The records of an output folder, by the outputs' paths below it. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.records: dict[str, Record] = {}
        self._lock = Lock()
        self._synced = time.monotonic()
        try:
            lines = self.path.read_bytes().splitlines() if self.path.exists() else []
            for line in lines:
                try:
                    record = Record.from_json(line.decode())
                except (ValueError, TypeError, KeyError):
                    continue
                self.records[record.output] = record
            if len(self.records) < len(lines):
                with replacing(self.path) as file:
                    file.writelines(f"{record.to_json()}\n".encode() for record in self.records.values())
            self._file = open(self.path, "ab", 0)  # noqa: SIM115
        except OSError as error:
            raise self._failure(error) from error

    def add(self, record: Record) -> None:
        with self._lock:
            self.records[record.output] = record
            try:
                self._file.write(f"{record.to_json()}\n".encode())
                if time.monotonic() - self._synced > _SYNC:
                    os.fsync(self._file.fileno())
                    self._synced = time.monotonic()
            except OSError as error:
                raise self._failure(error) from error

    def close(self) -> None:
        with self._lock:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise self._failure(error) from error
            finally:
                self._file.close()

    def _failure(self, error: OSError) -> CapfstError:
        return CapfstError(f"cannot write {self.path}: {error.strerror}: check the folder and the disk")


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()
