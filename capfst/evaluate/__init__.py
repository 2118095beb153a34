"""Measures of recased text: how good it is, how sure that is, and what is wrong in it.

Of two texts of the same words: `compare` (a row of counts for each line; capitals are aligned by `cer`) → `score`
(accuracy, precision, recall, F1, CER) → `bootstrap` (significance); or → `error_analysis` (errors by shape and by class
of word; the most frequent wrong words, by `lossy_counting`) → `error_page` (HTML).
Of two texts whose words differ: `alignment` in the place of `compare`, for the word error rate, too.
Of one text and a model: `perplexity`.
"""
