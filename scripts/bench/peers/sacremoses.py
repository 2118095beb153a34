"""sacremoses: Moses' truecaser, for text without case (`truecase -a`), followed by its detruecaser, which capitalizes
the first words of sentences."""

from __future__ import annotations

from pathlib import Path

from sacremoses import MosesDetruecaser, MosesTruecaser

from peers import Recase, Sentence

TABLE = "table"


def train(sentences: list[Sentence], folder: Path) -> None:
    MosesTruecaser().train(sentences, save_to=str(folder / TABLE))


def load(folder: Path) -> Recase:
    case = MosesTruecaser(str(folder / TABLE), is_asr=True).truecase
    capitalize = MosesDetruecaser().detruecase

    def recase(sentences: list[Sentence]) -> list[Sentence]:
        return [_checked(sentence, capitalize(" ".join(case(" ".join(sentence))))) for sentence in sentences]

    return recase


def _checked(sentence: Sentence, recased: Sentence) -> Sentence:
    """Return the sentence itself if sacremoses took some of its words for markup."""
    return recased if len(recased) == len(sentence) else sentence
