"""Plain text: each line is a record, all of which is text."""

from __future__ import annotations

from collections.abc import Iterator

from capfst.exceptions import OptionError
from capfst.io.blocks import joined
from capfst.io.compression import OnRead
from capfst.io.documents import Head, whole_documents
from capfst.io.lines import BLOCK, LineBlock, LineFormat
from capfst.io.protocol import Recase, RecaseCounts, TextOptions


class PlainText(LineFormat):
    record_is_document = False  # blank lines separate documents

    def other(self, options: TextOptions) -> LineFormat:
        raise OptionError(
            f"{self.path}: text has no fields. Use `capfst recase --source` for its source, or --document for documents"
            " that blank lines separate."
        )

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        blocks = super().blocks(on_read)
        return joined(whole_documents(blocks), BLOCK) if self.by_document else blocks

    def begin(self, data: bytes) -> None:
        self.head_lines = data[: Head().more(data)].decode(errors="replace").encode()

    def find(self, line: str, number: int) -> list[slice | None]:
        return [slice(0, len(line.removesuffix("\n")))]

    def recased(self, block: LineBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        """Recase the block as a whole; line by line only if some lines are malformed."""
        text, malformed = self.decoded(block)
        if malformed:
            return super().recased(block, recase)
        recased, counts = recase(
            text.encode() if "\ufffd" in text else block.data, head=b"" if block.line == 1 else self.head_lines
        )
        counts = counts.at(lambda line: block.line - 1 + line)
        return recased, counts + RecaseCounts(records=counts.lines)
