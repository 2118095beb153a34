"""positional.py: no capitals for sentences that nobody asked for, in lines without punctuation."""

import numpy as np
import pytest

from capfst.casing.types import CasingCosts
from capfst.recaser import Recaser, load
from capfst.search.positional import LEAST
from capfst.text.unicode import lower

SPEECH = """
I work at Apple Inc my name is John
hello my name is John and I work at Microsoft Corp we make software
good morning this is Susan from General Motors how are you today
thank you for calling Bank of America my name is Lisa how can I help you
I talked to John Smith he said yes we should do it on Monday what do you think
our next speaker is Tim Cook the CEO of Apple please welcome him
I love Netflix the shows are great no other service is like it
this is Fox News I am Bret Baier thank you
it told us that the US IT industry is new
"""


@pytest.fixture(scope="module")
def recaser() -> Recaser:
    return load()


@pytest.mark.parametrize("line", SPEECH.strip().split("\n"))
def test_golden(recaser: Recaser, line: str) -> None:
    assert recaser(lower(line)) == recaser(line.upper()) == line
    assert recaser(lower(line), engine="openfst") == line
    assert recaser.nbest(lower(line), 1)[0].text == recaser.confidence(lower(line)).text == line


def test_the_words(recaser: Recaser) -> None:
    found = recaser.pipeline.loaded.positional
    symbols = recaser.model.symbols
    words = {lower(symbols[label]): k for k, label in enumerate(found.words.tolist())}
    assert {"my", "please", "thank", "how", "hello"} <= set(words)
    assert not {"i", "john", "mr", "may", "a", "saint"} & set(words)
    for word, k in words.items():
        first = int(found.words[k])
        assert symbols[first + int(found.small[k])] == word
        assert symbols[first + int(found.capital[k])] == word.capitalize()
    assert (np.diff(found.words) > 0).all()
    assert (found.penalties >= 3).all()


@pytest.mark.parametrize("before", ["", "oov oov\n", "it is new, my dear\n"])
@pytest.mark.parametrize(
    ("line", "is_changed"),
    [
        ("my name is john and i thank you", True),
        ("my well-known name is john and i thank you", True),
        ("my name is john, and i thank you", False),
        ('my " name " is john and i thank you', False),
        ("my name is john i thank", False),
    ],
)
def test_costs(recaser: Recaser, before: str, line: str, is_changed: bool) -> None:
    """The costs of the words change, and no others; those by shape agree with them."""
    loaded = recaser.pipeline.loaded
    buf = np.frombuffer((before + line).encode(), np.uint8)
    words = loaded.transducer.words(buf)
    n, n_forms = len(words.starts), words.n_forms
    assert (len(line.split()) >= LEAST) or not is_changed
    arc_costs = np.random.default_rng(len(before)).permutation(np.arange(n_forms.sum(), dtype=np.float32) + 5)
    costs = CasingCosts(arc_costs, None, np.full((n, 3), 5, np.float32))
    expected, options = arc_costs.copy(), costs.options.copy()
    begin = before.count("\n") and int(np.flatnonzero(words.token_types == 4)[0]) + 1
    for i in range(begin, n) if is_changed else ():
        k = np.searchsorted(loaded.positional.words, words.first_labels[i])
        if n_forms[i] and k < len(loaded.positional.words) and loaded.positional.words[k] == words.first_labels[i]:
            small, capital = int(loaded.positional.small[k]), int(loaded.positional.capital[k])
            arc = int(n_forms[:i].sum())
            is_preferred = expected[arc : arc + n_forms[i]].argmin() == capital
            if is_preferred:
                expected[arc + small] = 1
            expected[arc + capital] += loaded.positional.penalties[k]
            if small == 0 and is_preferred:
                options[i, -1] = 1
            if capital == 0:
                options[i] += loaded.positional.penalties[k]
    loaded.positional.change(buf, words, costs)
    assert arc_costs.tolist() == expected.tolist()
    assert costs.options.tolist() == options.tolist()
    assert (expected < 5).any() == is_changed
