"""Measure recased text: its accuracy, the significance of differences, and its errors.

For two texts of the same words: `compare` (a row of counts per line; upper-case characters are aligned by
`edit_distance`) → `score` (accuracy, precision, recall, F1, capitalization error rate) → `bootstrap` (significance); or
→ `error_analysis` (errors by shape and by kind of word; the most frequent wrong words, by `lossy_counting`) →
`error_page` (HTML).
For two texts whose words differ: `alignment` instead of `compare`; it also counts the word error rate.
For one text and a model: `perplexity`.
"""
