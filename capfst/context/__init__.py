"""Context weights: what the words around a word, and its own letters, tell of its shape.

For each word a log-linear model gives the probability of each shape (lower, Capitalized, UPPER, mixed). −ln p is a cost
on the arcs of S ∘ T, so that restoring case is still the search for one best path. (Wang, Knight & Marcu 2006 combine
an LM with log-linear features in the same way; Lita et al. 2003 guess the case of unseen words by their class.)

The model has two stages: stage 1 scores a word by what is known of it and of its neighbours, stage 2 by what stage 1
decided on the neighbours. Scores are sums of weights of features, and the weights are rows of hashed tables, which
AdaGrad learns in one pass. Some features are of the domain of the text alone.

The modules, in the order in which they are best read:

* what is known of words: `words` (hashes, shape evidence), `classes` (words that stand in the same places), `domains`
  (groups of sources, and which words speak for them);
* the model: `features` (a word among its neighbours, as rows of the tables; decisions of stage 1);
* training: `sample` (which sentences of a corpus) → `learn` (tables) → `model` (a part of cap.fst); `train` leads
  through these, and `transfer` takes the context model to another vocabulary;
* restoring case: `tokens` (words of a text → what the features read) → `score` (→ ln p of each shape; `document`: given
  the other lines of the document) → `casing_costs` (→ costs of their casings); `spellings`, where more is restored.
"""
