"""The demo (`make demo`): recase with the bundled model, then train on the language reference that is part of Python,
recase similar sentences, and score a held-out tenth.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from pydoc_data.topics import topics

import capfst
from capfst.evaluate.score import score
from capfst.models.info import describe

NEWS = """
us senator o'neill bought an iphone in new york
may i see you in may at the white house?
he told nasa and the wto that iphones run ios
"""
SENTENCES = """
python calls the __init__ method after the instance has been created.
in python 3, strings are immutable sequences of unicode code points.
the german ss is not removed, but casefold() changes it.
if the operand is not a number, a TypeError exception is raised.
guido's proposal, pep 484, added type hints; ieee 754 defines nan.
"""

_MARKUP = re.compile(r"``|\*\*|\"|^\s*[-*|+=~^#].*$", re.MULTILINE)


def sentences() -> list[str]:
    """Return the distinct sentences of the reference's paragraphs, without code, tables and markup."""
    unique: dict[str, None] = {}
    for _, text in sorted(topics.items()):
        for paragraph in re.split(r"\n\s*\n", text):
            if re.match(r"\s{5,}|[^\n]*\n[-=*~^]{3}|>>>", paragraph):
                continue
            flat = " ".join(_MARKUP.sub("", paragraph).split())
            for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z])", flat):
                if re.fullmatch(r"[A-Z(].*[.?!)]", sentence):
                    unique[sentence] = None
    return list(unique)


def show(recaser: capfst.Recaser, text: str) -> None:
    """Print each line, lowercased and recased."""
    for sentence in text.strip().lower().splitlines():
        print(f"  {sentence}\n→ {recaser(sentence)}\n")


def main() -> None:
    print("With the bundled model:\n")
    show(capfst.load(), NEWS)
    lines = sentences()
    held_out, training = lines[::10], [line for i, line in enumerate(lines) if i % 10]
    print(f"Python's language reference: {len(training):,} sentences for training, {len(held_out):,} held out.\n")
    with tempfile.TemporaryDirectory() as folder:
        corpus, model = Path(folder, "topics.txt"), Path("demo.fst")
        corpus.write_text("\n".join(training) + "\n", "utf-8")
        capfst.train(corpus, model)
        unigram = Path(folder, "unigram.fst")
        capfst.train(corpus, unigram, order=1, context=False)
        recaser = capfst.load(model, sentence_case=True)
        lm = capfst.load(model, sentence_case=True, context=False)
        most_frequent = capfst.load(unigram, sentence_case=True)
        print(f"{model}: {sum(describe(recaser.model)['ngrams']):,} n-grams. Try it:")
        print(f'  echo "the cpython interpreter" | .venv/bin/capfst recase --lm {model}\n')
        show(recaser, SENTENCES)
        lowered = [line.lower() for line in held_out]
        print("Scores of the held-out sentences, lowercased and recased:\n")
        print(f"{'':28}accuracy      F1")
        for name, recased in (
            ("lowercase", lowered),
            ("most frequent form (order 1)", list(most_frequent.recase_lines(lowered))),
            ("trigram LM (order 3)", list(lm.recase_lines(lowered))),
            ("LM and context", list(recaser.recase_lines(lowered))),
        ):
            scores = score(references=held_out, hypotheses=recased)
            print(f"{name:28}{scores.accuracy or 0:8.2f}{scores.f1 or 0:8.2f}")
        print(f"\n{scores.signature}")


if __name__ == "__main__":
    main()
