"""LM: labels of a corpus → a backoff n-gram model as states and arcs; and ARPA files, and mixtures of models.

Estimation, in the order of the work: partition.py and windows.py (n-grams in buckets) → count.py → discount.py →
kneser_ney.py (probabilities) → prune.py → compile.py (states and arcs); build.py leads through it. backoff_model.py
holds a model as arrays, which decompile.py makes of states and arcs, arpa_read.py (with arpa_lines.py) and
arpa_write.py read and write, and mix.py interpolates.
"""
