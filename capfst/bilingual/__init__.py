"""Bilingual capitalization: restore the case of a translation by its source sentence (Wang, Knight & Marcu 2006).

A conditional random field gives the probability of a cased translation E, given its source F and their word alignment
A: p(E | F, A) = exp(−λ·f(E)) / Z. f(E) are the LM's cost of E, and sums over its words: of the costs by the context
model, of the costs by a classifier of source features, and of indicators of how a casing relates to the source word.

In: translations, their cased source lines, and optionally word alignments. Out: weights on the arcs of S ∘ T, instead
of the context model's alone: λ·f divided by the LM's weight, so that the search remains unchanged.

The modules, in the order of the data:

* recasing: `word_facts` (annotates each word and line of both texts) → `links` (the source word of each word) →
  `source_features` → `classifier` (→ −ln p of each shape) → `candidates` (the casings that a word may have) → `costs`
  (→ the cost of each);
* training: `forward_backward` (sums over all casings of a line) → `crf` (the weights λ) → `weights` (a part of
  cap.fst). `capfst.training.bilingual` runs these steps.
"""
