"""The report of a training run: the contents of the corpus and of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capfst.corpus.filters import Report
from capfst.exceptions import quantity
from capfst.fst.signature import Signature

if TYPE_CHECKING:
    from capfst.recaser import Recaser


@dataclass(repr=False)
class Trained:
    """The size of a trained model and of its training text."""

    path: str
    signature: Signature
    cleaning: Report
    sentences: int
    tokens: int  # without the sentence ends
    ngrams: tuple[int, ...]  # by order
    domains: int = 0  # that the context model distinguishes; 0: there is no context model
    listed: int = 0  # surface forms that occur only in word lists
    adapted: tuple[str, float, float] | None = None
    """If a model was adapted: its path, and the weights of its LM and of the corpus's."""

    def __repr__(self) -> str:
        sizes = f"{self._text()}, {quantity(sum(self.ngrams), 'n-gram')}"
        kept = (
            f", {self.cleaning.kept:,} of {quantity(self.cleaning.lines, 'line')} kept" if self.cleaning.lines else ""
        )
        return f"<Trained {self.path}: order {self.signature.order}, {sizes}{kept}>"

    def _text(self) -> str:
        return f"{quantity(self.sentences, 'sentence')}, {quantity(self.tokens, 'token')}"

    def report(self) -> str:
        """Return the report that the command line prints."""
        lines = [str(self.cleaning)] if self.cleaning.lines else []
        lines.append(f"learned from {self._text()}")
        if self.listed:
            lines.append(f"added {quantity(self.listed, 'surface form')} from word lists alone")
        if self.adapted:
            base, of_base, of_corpus = self.adapted
            lines.append(f"adapted {base}: LM weights {of_base:.2f} for it, {of_corpus:.2f} for the corpus")
        counts = ", ".join(f"{n}: {count:,}" for n, count in enumerate(self.ngrams, 1))
        lines.append(f"wrote {self.path}: n-grams by order {counts}")
        if self.domains:
            lines.append(f"with a context model for {quantity(self.domains, 'domain')}")
        return "\n".join(lines)

    __str__ = report

    def load(self, **options: Any) -> Recaser:
        """Open the model, as `capfst.load(self.path, **options)` does."""
        from capfst.recaser import load  # noqa: PLC0415  (training alone does not need the search)

        return load(self.path, **options)
