"""Why a line is cased as it is: the casings that competed, and the parts of their costs.

`explainer` takes a line apart: `arcs` (its lattice, with the best path through each arc, and the costs of its casings,
part by part) → `explanation` (the result, as text, as SVG, and as HTML with both).
"""
