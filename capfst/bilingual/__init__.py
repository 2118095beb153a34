"""Bilingual capitalization: the source sentence as evidence of the case of a translation (Wang, Knight & Marcu 2006).

In: translations, their cased source lines, and optionally word alignments. Out: weights on the arcs of S ∘ T: the
monolingual costs, less the evidence of the source, ln P(source | true shape), so that the search remains unchanged.

The modules, in the order of the data: `word_facts` (annotates each word and line of both texts, and finds the source
word of each word) → `evidence` (features, and their weights, learned from aligned translations) → `costs` (the cost of
each casing).
"""
