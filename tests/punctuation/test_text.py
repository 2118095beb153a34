"""Test how words, gaps and marks are read: from lines, and from the labels of a corpus."""

import numpy as np
import pytest

import capfst
from capfst.punctuation.marks import Punctuator
from capfst.punctuation.text import IGNORED, Marked, ending, label_kinds, read_labels
from capfst.recaser import Recaser


@pytest.fixture(scope="module")
def recaser(model: str) -> Recaser:
    return capfst.load(model)


def open_gaps(recaser: Recaser, line: str) -> str:
    """Return a line with | where marks can be inserted."""
    punctuator: Punctuator = recaser.pipeline.loaded.punctuator
    text = line.encode()
    gaps = punctuator.gaps(np.frombuffer(text, np.uint8))
    for end in gaps.ends[gaps.is_open][::-1].tolist():
        text = text[:end] + b"|" + text[end:]
    return text.decode()


@pytest.mark.parametrize(
    "line",
    [
        "hello| how| are| you|",
        "hello, how| are| you?",
        "well - yes| no – no|",
        "a| well-known| state-of-the-art| thing|",
        "don't| they've| it's|",
        '"hello|" she| said|',
        "(yes) and| (yes)| [no]",
        "[no music] yes| and| no. [music] well| [all]",
        "are| you| [music playing] [loud] i| am| here[1]| and| [t]he| [see] [see](no)| now| [music]",
        "0:04 yes| 0:04| no|\n00:00:04,120 -->\n0:04",
        "Speaker A: yes|\nDr. Jane Smith: no|\nwe| met| these| two: me| and| she|",
        "2) yes| (2)| 2)| no|",
        "(2) yes|",
        "a) yes. 2) no| b) yes|",
        "yes. (music) well| she| said, (yes)| and, [music] well|",
        "[no music] (she| laughs) well| said. [see](no)| well|",
        "see| [this| page|](\0\0) and| [that|](\0)\n[this](\0)",
        "it| grew| 5%| in| 2,000| years|",
        "see| http://a.org/b now|",
        "Mr. Smith| of| the| U.S.| came|",
        "tom|\u00a0said| so|",
        "one|\ntwo|\n\nthree|\n",
        "…",
        "",
        "naïve| café| 東京|",
    ],
)
def test_gaps(recaser: Recaser, line: str) -> None:
    assert open_gaps(recaser, line.replace("|", "")) == line


def test_endings_do_not_depend_on_case() -> None:
    words = [np.frombuffer(word.encode(), np.uint8) for word in ("walking", "WALKING", "ing", "a1b2", "A9b7")]
    numbers = [ending(word, 0, word.size) for word in words]
    assert numbers[0] == numbers[1] == numbers[2] != numbers[3] == numbers[4]


LINES = """\
Well , he came .	well:, he: came:.
Is it " true " ?	is: it: true:?
No !	no:.
He said : yes ; no	he: said:, yes:. no:.
Mr . Smith came .	mr: smith: came:.
It is 3 p.m . now .	it: is: 3: p.m: now:.
. Then ?	then:?
He " left . " Then	he: left:. then:.
He " left . " then	he: left: then:.
Yes -- I do .	yes:, i: do:.
"""


def test_marks_of_labels(recaser: Recaser) -> None:
    """A period before a word in lower case, or after an abbreviation, is none; a line ends with one."""
    forms = sorted({form for line in LINES.splitlines() for form in line.partition("\t")[0].split()}, key=str.lower)
    symbols = type(recaser.model.symbols).from_words(forms)
    label_of = {form: label for label, form in enumerate(forms, 1)}
    small = np.array([True, *(form.islower() for form in forms)])
    kinds = label_kinds(symbols, {b"mr"})
    for line in LINES.splitlines():
        text, _, expected = line.partition("\t")
        labels = np.array([*map(label_of.__getitem__, text.split()), 0], np.uint32)
        marked = Marked(np.empty(20, np.uint32), np.empty(20, np.uint8))
        n = read_labels(labels, kinds, small, np.zeros(len(labels), np.bool_), marked)
        pairs = zip(marked.labels[:n], marked.marks[:n], strict=True)
        found = [f"{forms[label - 1].lower()}:{' ,.?'[mark].strip()}" for label, mark in pairs]
        assert " ".join(found) == expected


def test_breaks(recaser: Recaser) -> None:
    """A text that ends after a line keeps its mark; one that ends after another word does not know its mark."""
    symbols = type(recaser.model.symbols).from_words([".", "a", "b"])
    kinds = label_kinds(symbols, set())
    labels = np.array([2, 3, 1, 0, 2, 3, 1, 0], np.uint32)
    breaks = np.array([0, 0, 0, 1, 1, 0, 0, 0], np.bool_)
    marked = Marked(np.empty(20, np.uint32), np.empty(20, np.uint8))
    n = read_labels(labels, kinds, np.zeros(4, np.bool_), breaks, marked)
    assert marked.labels[:n].tolist() == [2, 3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3]
    assert marked.marks[:n].tolist() == [0, 2, *4 * [IGNORED], IGNORED, *4 * [IGNORED], 2]
