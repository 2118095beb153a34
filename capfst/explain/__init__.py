"""Why a line is cased as it is: the casings that competed, and the parts of their costs.

`explainer` takes a line apart: `arc_parts` (the costs of its casings, part by part) and `paths` (its lattice,
with the best path through each arc) → `explanation` (the result). `shown` shows it: as text, as SVG, and as HTML with
both.
"""
