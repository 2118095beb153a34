"""sentences.py: where a sentence may begin inside a line."""

import numpy as np
import pytest

from capfst.text.sentences import mark_beginnings
from capfst.text.tokenizer import COMPOUND, Tokens, tokenize


def beginnings(text: str, pretokenized: bool = False) -> str:
    """Return the text with | where a sentence may begin."""
    data = text.encode()
    tokens = tokenize(data, pretokenized)
    tokens = Tokens._make(array[tokens.token_types != COMPOUND] for array in tokens)
    may_begin = np.ones(len(tokens.starts), np.bool_)
    mark_beginnings(np.frombuffer(data, np.uint8), tokens, may_begin)
    for start in reversed(tokens.starts[may_begin].tolist()):
        data = data[:start] + b"|" + data[start:]
    return data.decode()


@pytest.mark.parametrize(
    "expected",
    [
        "one. |two? |three! |four… |five... |six",
        "նա եկավ փարիզից։ |արամը տեսավ մոսկվան։",
        "at 5 p.m. |then in the u.s. |by mr. |smith, j. |doe and example.com, 3.14 or 1,000.",
        'he said "stop." |then (no!) |then [why?] |“yes…” |she ‘left.’ |then «oui.» |',
        'no." |she said. |"why?" |she said: "no. |no"',
        'spaced . |" |then . |) |( then',
        "what?! |no .. |no",
        "one, two; three: four - five . |six",
        "first line.\nsecond. |line.\n. |third\n",
        "no space.here or yahoo!answers",
        "see https://example.com/a. |then file.txt? |@me! |no #tag. |x",
        "",
        ".",
        ". |x",
    ],
)
def test_a_sentence_may_begin_after_a_mark_and_white_space(expected: str) -> None:
    assert beginnings(expected.replace("|", "")) == expected.removesuffix("|")


def test_pretokenized_text() -> None:
    assert beginnings("one . two ? '' three p.m. four", pretokenized=True) == "one . |two ? |'' |three p.m. |four"
