"""Measure recased text: its accuracy, the significance of differences, and its errors.

For two texts: `compare` (a row of counts per line; words that may differ, and upper-case characters are aligned by
`edit_distance`) → `score` (accuracy, precision, recall, F1, capitalization error rate, word error rate) → `bootstrap`
(significance); or → `error_analysis` (errors by shape and by kind of word; the most frequent wrong words, by
`lossy_counting`).
For one text and a model: `perplexity`.
"""
