"""The most frequent casing of each word, and a capital for the first word: the baseline of Lita et al. (2003).

First words of sentences are not counted, and words that occur nowhere else stay in lower case. The model is JSON:
{word: casing}, of the words that are not in lower case.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

from peers import Recase, Sentence, most_frequent, start_capitalized

CASINGS = "casings.json"


def train(sentences: list[Sentence], folder: Path) -> None:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for word in sentence[1:]:
            counts[word.lower()][word] += 1
    best = ((word, most_frequent(casings)) for word, casings in counts.items())
    cased = {word: casing for word, casing in best if casing != word}
    (folder / CASINGS).write_text(json.dumps(cased, ensure_ascii=False), "utf-8")


def load(folder: Path) -> Recase:
    best = json.loads((folder / CASINGS).read_text("utf-8"))
    return lambda sentences: [start_capitalized([best.get(word, word) for word in words]) for words in sentences]
