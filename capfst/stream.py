"""Restore the case of text while it is being spoken: of single words, or of growing hypotheses of an utterance.

In: the words of an utterance, one after the other (`add`), or a recognizer's hypotheses of the whole utterance
(`revise`). Out: the same words in their best casing. A word is settled as soon as `look_ahead` words follow it: it is
returned, and keeps its casing unless the recognizer changes the word.

Each step recases, as one line, the words that are not settled and up to CONTEXT words before them. So streams need no
search of their own, and the time per word does not depend on the length of an utterance; `add` forgets earlier words.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from itertools import chain, takewhile
from typing import NamedTuple

import numpy as np

from capfst.context.channel import Style
from capfst.exceptions import CorpusError, OptionError
from capfst.pipeline import Pipeline, continued
from capfst.text.utf8 import decoded, encoded

CONTEXT = 40  # settled words that are recased again, as context of those after them

spaces_and_words = re.compile(r"(\S+)").split  # in turn; the first and the last are white space


class Hypothesis(NamedTuple):
    """An utterance in its casing, in two parts: settled words, which stay as they are unless the recognizer changes
    them, and the other words as they look now, with the white space around them."""

    settled: str
    tentative: str


class _Given(NamedTuple):
    """A word as received, with its inserted mark, and as recased."""

    marked: str
    cased: str

    def without_mark(self, word: str) -> _Given:
        """Return the word without the inserted mark, because the next words may show that it has none."""
        at = next((k for k, (a, b) in enumerate(zip(word, self.marked, strict=False)) if a != b), len(word))
        return self if self.marked == word else _Given(word, self.cased[:at] + self.cased[at + 1 :])


class Stream:
    """Restores the case of utterances while they are being spoken (`Recaser.stream` makes one). Threads cannot share
    it.

    Only case changes. Each utterance is recased like a line of a text: on its own, except that the written case of the
    utterances before it shows how reliable its own is.
    """

    def __init__(self, pipeline: Pipeline, look_ahead: int, before: str = "") -> None:
        if not isinstance(look_ahead, int) or look_ahead < 0:
            raise OptionError(f"`look_ahead` is {look_ahead!r}. Use an integer, 0 or more.")
        pipeline.options.check_call("stream")
        self.look_ahead = look_ahead
        self._pipeline = pipeline
        self._learned = Style()  # of the utterances that have ended
        self._begin(_checked(before, "stream"))

    def _begin(self, before: str = "") -> None:
        self._before = encoded(before)  # the utterance continues it
        self._style = self._learned.frozen()
        self._words: list[str] = []
        self._spaces = [""]  # before each word, and after the last one
        self._given: list[_Given | None] = []  # the words as they were returned
        self._n_settled = 0

    def add(self, words: str) -> str:
        """Add the next words of the utterance, and return the text that this settles.

        Each call takes whole words; a blank separates them from the words before, unless there is white space. A line
        break ends the utterance. The texts that `add` and `end` return, joined, are the words in their casing, however
        the words are divided into calls. White space is returned with the word after it.

        Raises:
            TypeError: not a str.
        """
        first, *lines = _checked(words, "add").split("\n")
        texts = self._add(first)
        for line in lines:
            texts += [self.end(), "\n", *self._add(line)]
        return "".join(texts)

    def _add(self, text: str) -> list[str]:
        space, *rest = spaces_and_words(text)
        self._spaces[-1] += space or (" " if rest and self._words and not self._spaces[-1] else "")
        settled = []
        for word, space in zip(rest[::2], rest[1::2], strict=True):
            self._words.append(word)
            self._given.append(None)
            self._spaces.append(space)
            if len(self._words) > self._n_settled + self.look_ahead:
                settled.append(self._settle())
        return settled

    def _settle(self) -> str:
        """Return the next word with the white space before it; forget words that are too far away to matter."""
        k = self._n_settled
        given = self._given[k] = self._recased()[k]
        text = self._spaces[k] + given.cased
        n_forgotten = max(0, k + 1 - CONTEXT)
        for held in (self._words, self._spaces, self._given):
            del held[:n_forgotten]
        self._n_settled = k + 1 - n_forgotten
        return text

    def revise(self, hypothesis: str) -> Hypothesis:
        """Replace the utterance by the recognizer's current hypothesis of it, and return the hypothesis in its casing.

        Settled words that the recognizer keeps also keep their casing, whatever other words it changes, inserts or
        deletes. (A stream remembers only the last of the words that `add` has settled.)

        Raises:
            CorpusError: the hypothesis has a line break.
            TypeError: not a str.
        """
        if "\n" in _checked(hypothesis, "revise"):
            raise CorpusError("expected a hypothesis without a line break. Call `end` after each utterance.")
        parts = spaces_and_words(hypothesis)
        self._given = self._kept(parts[1::2])
        self._words, self._spaces = parts[1::2], parts[::2]
        n_known = [*self._given, None].index(None)
        recased = self._recased()
        self._n_settled = max(n_known, len(recased) - self.look_ahead)
        self._given[: self._n_settled] = recased[: self._n_settled]
        return self._text(recased)

    def _kept(self, words: list[str]) -> list[_Given | None]:
        """Return the words of a hypothesis that were settled before; None for other words."""
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._words, words, strict=False)))
        kept = self._given[:same] + [None] * (len(words) - same)
        if any(self._given[same:]):
            from difflib import SequenceMatcher  # noqa: PLC0415  (only changed hypotheses need it)

            for old, new, size in SequenceMatcher(None, self._words[same:], words[same:]).get_matching_blocks():
                kept[same + new : same + new + size] = self._given[same + old : same + old + size]
        return kept

    @property
    def tentative(self) -> str:
        """The words that are not settled, as they look now, with the white space around them."""
        return self._text(self._recased()).tentative

    def end(self) -> str:
        """End the utterance and return the text that was not settled; the next utterance can begin."""
        text = self._text(self._recased(has_ended=True)).tentative
        self._pipeline.learn_style(encoded(self._line(0)), self._learned)
        self._begin()
        return text

    def __call__(self, words: Iterable[str]) -> Generator[str, None, None]:
        """Yield the words of an utterance in their casing, without white space, each as soon as it is settled.

        The next word of the iterable is read only when the consumer asks for the next word. If the generator is closed,
        the utterance is dropped.

        Raises:
            TypeError: a single str, or a word that is not a str.
        """
        if isinstance(words, (str, bytes, bytearray)):
            raise TypeError(f"a Stream takes an iterable of words, not one {type(words).__name__}. Call `add`.")
        return self._each(words)

    def _each(self, words: Iterable[str]) -> Generator[str, None, None]:
        try:
            for word in words:
                yield from self.add(word).split()
            yield from self.end().split()
        finally:
            self._begin()

    def _recased(self, has_ended: bool = False) -> list[_Given]:
        """Return the words as they were returned, or as they look now."""
        n_given = [*self._given, None].index(None)
        begin = max(0, n_given - CONTEXT)
        settled = zip(self._spaces[begin:], self._given[begin:n_given], strict=False)
        before = "".join(space + given.marked for space, given in settled if given)
        utterance = encoded(before + self._line(n_given))
        first = continued(self._before, utterance) if self._before else b""
        line = np.frombuffer(first + utterance, np.uint8)
        text = self._pipeline.punctuated(line, len(first) + len(encoded(before))) if self._pipeline.punctuator else line
        recased = self._pipeline.recase(text, style=self._style, begin=len(first))[1][len(first) :]
        cased = decoded(recased).split()[n_given - begin :]
        marked = self._words[n_given:] if text is line else decoded(text[len(first) :].data).split()[n_given - begin :]
        new = [_Given(*pair) for pair in zip(marked, cased, strict=True)]
        if new and not has_ended and text is not line:
            new[-1] = new[-1].without_mark(self._words[-1])
        pairs = zip(self._given, [*self._given[:n_given], *new], strict=True)
        return [given for old, now in pairs if (given := old or now)]

    def _line(self, begin: int) -> str:
        return "".join(chain.from_iterable(zip(self._spaces[begin:], [*self._words[begin:], ""], strict=True)))

    def _text(self, recased: list[_Given]) -> Hypothesis:
        words = [*(given.cased for given in recased), ""]
        pairs = [space + word for space, word in zip(self._spaces, words, strict=True)]
        return Hypothesis("".join(pairs[: self._n_settled]), "".join(pairs[self._n_settled :]))


def _checked(text: object, call: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{call} takes a str, not {type(text).__name__}.")
    return text
