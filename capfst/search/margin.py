"""Which casings the best path may have, given what they cost beside the LM: those that are not hopeless.

In: the words of a text, and what their surface forms cost (context/, bilingual/). Out: the same costs, but infinite
ones for forms that cost much more than the cheapest form of their word. So at most words the search has no choice.
"""

from __future__ import annotations

import numpy as np

from capfst.casing.transducer import ArcCosts, Words
from capfst.system.kernels import kernel

MARGIN = 8.0
"""A form is hopeless that costs so much more (−ln) than its word's cheapest one. With larger margins, up to infinite
ones, five of 230,000 words of development text at most have another form."""


@kernel
def _within_margin(words, costs, within):  # type: ignore[no-untyped-def]
    begin = np.int64(0)
    for i in range(words.n_forms.size):
        end = begin + np.int64(words.n_forms[i])
        least = np.float32(np.inf)
        for k in range(begin, end):
            least = min(least, costs[k])
        for k in range(begin, end):
            within[k] = costs[k] if costs[k] <= least + np.float32(MARGIN) else np.float32(np.inf)
        begin = end


def within_margin(words: Words, arc_costs: ArcCosts) -> ArcCosts:
    """The costs of the forms, +inf for hopeless ones."""
    within = np.empty_like(arc_costs)
    _within_margin(words, arc_costs, within)
    return within
