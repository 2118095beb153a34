"""Find the corpora that are not part of the repository."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data" / "train"


def corpus(name: str) -> Path:
    """Return the file of a training corpus, such as en/openstax. Skip the test if it is missing."""
    file = DATA / f"{name}.txt.zst"
    if not file.exists():
        pytest.skip(f"the corpus {file} is missing")
    return file
