"""Plain text: each line is a sentence, all of which is recased."""

from __future__ import annotations

from capfst.exceptions import CapfstError
from capfst.formats.lines import LineBlock, LineFormat
from capfst.formats.protocol import Recase, RecaseCounts, TextOptions


class Text(LineFormat):
    def other(self, options: TextOptions) -> LineFormat:
        raise CapfstError(f"{self.path}: text has no fields that a source could be in: use capfst recase --source")

    def find(self, line: str, number: int) -> slice | None:
        return slice(0, len(line.removesuffix("\n")))

    def recased(self, block: LineBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        """The block at once; line by line only if that is needed to find malformed lines."""
        text, malformed = self.decoded(block)
        if malformed:
            return super().recased(block, recase)
        recased, counts = recase(text.encode() if "\ufffd" in text else block.data)
        return recased, counts + RecaseCounts(records=counts.lines)
