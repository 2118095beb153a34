"""Context weights: what the words around a word, and its own letters, tell of its shape.

A log-linear model in two stages: the first reads words, the second the decisions of the first. Its costs are weights on
the arcs of S ∘ T, so that the search stays one for the best path. (Wang, Knight & Marcu 2006 combine an LM with
log-linear features in the same way, Lita et al. 2003 guess unseen words by class.)

The way from a corpus to weights: sample.py (which sentences) → words.py, classes.py, kinds.py (what is known of a word)
→ features.py (a word among its neighbours) → learn.py → model.py (the file beside cap.fst) → weigh.py (words of a text
→ weights). train.py leads from the first to the file.
"""
