"""Decide two words by the names next to them: *Roe v. Wade*, but *Eugene V. Debs*; *Ms Smith*, but *MS Word*.

In: the words of a text with their arc costs, and the classes of words in the context model. Out: the same costs, in
which

* `v.` prefers lower case between two words, unless the first is a given name. After the number of *Henry V.*, a
  sentence may begin if the next word is in lower case and a frequent sentence starter;
* `ms` prefers *Ms* to *MS* before a given name or surname. The LM nearly always has it with a period.

The class of given names is that of initials (*A.*), because the same words come before and after them; that of surnames
is the class of *Smith* and *Jones*.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from capfst.casing.glued import BEGINS, SMALL
from capfst.casing.transducer import Transducer
from capfst.casing.types import CasingCosts, Words
from capfst.context.context_model import Context, WordRecordArray
from capfst.kernels import kernel
from capfst.kernels.types import F32Array, F32Matrix, I64Array, U8Array
from capfst.lm.query import LanguageModel
from capfst.search.positional import NO_OPTIONS, prefer
from capfst.text.tokenizer import COMPOUND

_OF_V, _OF_MS = 3.0, 6.0  # penalties of V. and MS
_INITIALS = "a. b. c. d. e. f. g. h. j. k. l. m. n. p. r. s. t."
_GIVEN_NAMES = "john james william robert george thomas charles henry david michael mary"
_SURNAMES = "smith jones brown williams taylor johnson davies evans wilson"


class TwoForms(NamedTuple):
    """A word with two of its forms. The label is 0 if the model lacks one of them."""

    word: int  # its first label
    preferred: int  # index of a form
    other: int  # index of a form
    penalty: float  # of the other form

    @classmethod
    def of(cls, lm: LanguageModel, word: str, preferred: str, other: str, penalty: float) -> TwoForms:
        """Find the forms in a model."""
        labels = lm.model.symbols.forms(word, lm.model.starts)
        forms = [lm.model.symbols[label] for label in labels]
        if not {preferred, other} <= {*forms}:
            return cls(0, 0, 0, penalty)
        return cls(labels[0], forms.index(preferred), forms.index(other), penalty)


class PersonNames(NamedTuple):
    """The two words, and the classes of names."""

    versus: TwoForms
    ms: TwoForms
    initials: int
    given_names: int
    surnames: int

    @classmethod
    def of(cls, lm: LanguageModel, context: Context) -> PersonNames:
        """Find the words and classes in a model."""

        def class_of(words: Iterable[str]) -> int:
            labels = [label for word in words for label in lm.model.symbols.forms(word, lm.model.starts)[:1]]
            return int(np.bincount(context.words["cased_class"][labels], minlength=1).argmax())

        return cls(
            TwoForms.of(lm, "v.", "v.", "V.", _OF_V),
            TwoForms.of(lm, "ms", "Ms", "MS", _OF_MS),
            class_of(_INITIALS.split()),
            class_of(_GIVEN_NAMES.split()),
            class_of(_SURNAMES.split()),
        )

    def change(self, words: Words, costs: CasingCosts, transducer: Transducer, context: Context) -> None:
        """Change the arc costs, and the costs by shape, in place."""
        if costs.arc_costs is None:
            return
        is_word = np.zeros(len(words.starts), np.bool_)
        for forms in (self.versus, self.ms):
            if forms.word:
                is_word |= words.first_labels == forms.word
        found = np.flatnonzero(is_word)
        if found.size:
            arcs = np.cumsum(words.n_forms, dtype=np.int64)[found] - words.n_forms[found]
            options = NO_OPTIONS if costs.options is None else costs.options
            _change(words, found, arcs, self, transducer.bits, context.words, costs.arc_costs, options)


@kernel
def _change(
    words: Words,
    found: I64Array,
    arcs: I64Array,
    names: PersonNames,
    bits: U8Array,
    records: WordRecordArray,
    arc_costs: F32Array,
    options: F32Matrix,
) -> None:
    """Change the costs of the words `found`, which are *v.* or *ms*. arcs: the positions of their first arc costs."""
    for k in range(found.size):
        i = found[k]
        if i + 1 == words.starts.size or words.token_types[i + 1] > COMPOUND:
            continue
        after = words.first_labels[i + 1]
        if words.first_labels[i] == names.ms.word:
            name = records[after].cased_class
            is_person = name == names.given_names or name == names.initials or name == names.surnames
            if words.n_forms[i + 1] > 0 and is_person:
                prefer(words, i, arcs[k], names.ms.preferred, names.ms.other, names.ms.penalty, arc_costs, options)
        elif i > 0 and words.token_types[i - 1] <= COMPOUND:
            name = records[words.first_labels[i - 1]].cased_class
            is_given = words.n_forms[i - 1] > 0 and (name == names.given_names or name == names.initials)
            begins = bits[after] & BEGINS != 0 and bits[after] & SMALL != 0
            if not is_given and not begins:
                prefer(
                    words, i, arcs[k], names.versus.preferred, names.versus.other, names.versus.penalty, arc_costs,
                    options,
                )  # fmt: skip
