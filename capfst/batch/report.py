"""Report the outcome of a run and of each of its files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from capfst.batch.manifest import ManifestEntry
from capfst.exceptions import one_line, quantity
from capfst.io.protocol import RecaseCounts

DONE, SKIPPED, FAILED = "done", "skipped", "failed"


@dataclass(frozen=True)
class FileReport:
    """The outcome of a file."""

    input: str
    output: str
    status: str  # DONE, SKIPPED, FAILED
    counts: RecaseCounts = field(default_factory=RecaseCounts)
    seconds: float = 0.0
    error: str | None = None
    entry: ManifestEntry | None = None  # for the manifest, if the file is done

    def __str__(self) -> str:
        if self.status == FAILED:
            return one_line(str(self.error))
        what = f"{self.counts}{_repair(self.counts)}" if self.status == DONE else "done before"
        return one_line(f"{self.input}: {what}")

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        places = [stretch._asdict() | {"line": stretch.line + 1} for stretch in self.counts.places]
        return {
            "input": self.input,
            "output": self.output,
            "status": self.status,
            "error": self.error,
            "seconds": round(self.seconds, 3),
            **asdict(self.counts),
            "places": places,
        }


def _repair(counts: RecaseCounts) -> str:
    return f", {counts.repair}" if counts.stretches else ""


@dataclass
class BatchReport:
    """The outcome of a run. Counts cover the files that it recased or skipped."""

    model: str  # its signature
    files: list[FileReport] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # as the plan has them
    seconds: float = 0.0
    error: str | None = None  # why the run stopped early

    def number(self, status: str) -> int:
        """Return the number of files with a status."""
        return sum(file.status == status for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        done = sum((file.counts for file in self.files if file.status == DONE), RecaseCounts())
        total = asdict(sum((file.counts for file in self.files), RecaseCounts()))
        del total["places"]
        return {
            "model": self.model,
            "done": self.number(DONE),
            "skipped": self.number(SKIPPED),
            "failed": self.number(FAILED),
            "error": self.error,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(done.tokens / self.seconds) if self.seconds else 0,
            **total,
            "files": [file.to_dict() for file in self.files],
            "left_out": self.left_out,
        }

    def __str__(self) -> str:
        done = sum((file.counts for file in self.files if file.status == DONE), RecaseCounts())
        per_second = round(done.tokens / self.seconds) if self.seconds else 0
        repaired = _repair(replace(done, places=()))
        rate = f", {quantity(per_second, 'token')}/s" if done.tokens else ""
        left_out = (
            f", {len(self.left_out):,} left out: not text, by their names or contents, or links to folders"
            if self.left_out
            else ""
        )
        return (
            f"files: {self.number(DONE):,} done, {self.number(SKIPPED):,} done before, {self.number(FAILED):,} failed"
            f"{left_out}\n{done}{repaired} in {self.seconds:.1f} s{rate}"
        )
