"""Plain text: each line is a sentence, all of which is recased."""

from __future__ import annotations

from collections.abc import Iterator

from capfst.exceptions import CapfstError
from capfst.io.blocks import joined
from capfst.io.compression import OnRead
from capfst.io.documents import whole_documents
from capfst.io.lines import BLOCK, LineBlock, LineFormat
from capfst.io.protocol import Recase, RecaseCounts, TextOptions


class Text(LineFormat):
    record_is_document = False  # blank lines part documents

    def other(self, options: TextOptions) -> LineFormat:
        raise CapfstError(
            f"{self.path}: text has no fields: give its source to capfst recase --source, or part its documents by"
            " blank lines (--document)"
        )

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        blocks = super().blocks(on_read)
        return joined(whole_documents(blocks), BLOCK) if self.by_document else blocks

    def find(self, line: str, number: int) -> slice | None:
        return slice(0, len(line.removesuffix("\n")))

    def recased(self, block: LineBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        """The block at once; line by line only if that is needed to find malformed lines."""
        text, malformed = self.decoded(block)
        if malformed:
            return super().recased(block, recase)
        recased, counts = recase(text.encode() if "\ufffd" in text else block.data)
        return recased, counts + RecaseCounts(records=counts.lines)
