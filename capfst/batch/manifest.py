"""The manifest: what is done, in a file of JSON lines in the output folder, one for each output when it is complete.

A record says what the output was made of (input, model, options), what it holds, and the counts. A file is known by its
size and hash; it is not read for that as long as size, times and inode are what they were. The last record of an output
counts. A line that a killed run has not finished counts for nothing.
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

from capfst.batch.report import Counts
from capfst.errors import CapfstError
from capfst.system.atomic import replacing

NAME = ".capfst-batch.jsonl"

_SYNC = 1.0  # seconds: a record that a power cut takes costs no more than doing its file again


class Stamp(NamedTuple):
    """What a file held, and by what it is seen that it still does."""

    size: int
    hash: str  # SHA-256
    seen: tuple[int, int, int]  # modified, changed (ns), inode

    @classmethod
    def of(cls, path: Path, hash: str) -> Stamp:
        """Of a file whose hash is known."""
        status = os.stat(path)
        return cls(status.st_size, hash, (status.st_mtime_ns, status.st_ctime_ns, status.st_ino))

    def again(self, path: Path) -> Stamp | None:
        """The file's stamp now, if it holds what it held; it is read only if it may not."""
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
    made_by: dict[str, Any]  # model and options: another output if they are others
    read: Stamp
    written: Stamp
    counts: Counts

    def to_json(self) -> str:
        record = asdict(self)
        for key in "read", "written":
            record[key] = getattr(self, key)._asdict()
        return json.dumps(record)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """ValueError, TypeError or KeyError if it is none."""
        record = json.loads(line)
        for key in "read", "written":
            stamp = record[key]
            record[key] = Stamp(stamp["size"], stamp["hash"], tuple(stamp["seen"]))
        return cls(**{**record, "counts": Counts(**record["counts"])})


class Manifest:
    """The records of an output folder. Threads may share it."""

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
