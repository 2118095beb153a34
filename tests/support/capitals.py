"""Count capitalization errors of whole texts with the kernel."""

from capfst.evaluate.edit_distance import code_points, edits
from capfst.text.unicode import INFO, IS_UPPER


def capitalization_errors(reference, hypothesis):
    """Return (uppercase characters of the reference, deletions, insertions, substitutions)."""
    ref, hyp = (codes[INFO[codes] & IS_UPPER != 0] for codes in map(code_points, (reference, hypothesis)))
    return len(ref), *edits(ref, hyp)
