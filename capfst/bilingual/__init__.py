"""Bilingual capitalization: the source sentence tells the case of its translation (Wang, Knight & Marcu 2006).

In: translations, their cased source lines, and perhaps word alignments. Out: more weights on the arcs of S ∘ T, in
place of the context's alone: −λ·f of a log-linear model of p(E | F, A), divided by the weight of the LM, so that the
search stays as it is.

`alignment` (files → lines of all three, and links) → `words` (what features read of each word) → `links` (which source
word each word is translated from) → `features` → `classifier` (how likely each shape is) → `costs` (of each casing).
`lattice` and `learn` find the weights; `model` is the part of cap.fst that holds them.
"""
