"""Context weights: score the shapes of a word by the words around it and by its own letters.

For each word, a log-linear model gives the probability of each shape k (lower, Capitalized, UPPER, mixed) given the
word and its context: p(k) = exp(z_k) / Σ_j exp(z_j), where z_k is the sum of the weights that the word's features have
for shape k. −ln p(k) becomes a cost on the arcs of S ∘ T, so that restoring case is still a search for one best path.
(Wang, Knight & Marcu 2006 combine an LM with log-linear features in the same way; Lita et al. 2003 guess the case of
unseen words by their class.)

* First pass: eight features settle most words.
* Two stages: stage 1 scores the other words by what is known of them and of their neighbors. Where stage 1 is not
  certain, stage 2 corrects the scores by stage 1's decisions on the neighbors.
* Network: where stage 2 is not certain either, a small network corrects the scores by all words around.
* Domains: some features apply to one domain of text only. The domain of a line is inferred from its words.
* Learning: weights are rows of hashed tables, which AdaGrad learns in one pass.
* Document memory: in a document, the probabilities of a word in other lines are evidence for it in this one.

The modules, in the order of the data:

* known facts about words: `lexicon` (hashes, counts of shapes), `classes` (words that occur in the same contexts),
  `domains` (groups of sources, and how much each word indicates each group);
* the model: `features` (a word and its neighbors → rows of the tables; stage 1's decisions), `network`;
* training: `sample` (which sentences to learn from) → `learn` (tables), `learn_network` → `context_model` (a part of
  cap.fst); `train` runs these steps; `adapt` moves a context model to another vocabulary, or updates it with other
  text or models;
* restoring case: `tokens` (words of a text → tokens, which the features read) → `shape_scores` (→ ln p of each shape)
  → `other_lines` (→ the same, given the other lines) → `casing_costs` (→ costs on the arcs);
* explaining: `contributions` (ln p of each shape → what each feature contributes, in words).
"""
