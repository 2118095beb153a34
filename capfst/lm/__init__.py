"""LM: labels of a corpus → a backoff n-gram model as states and arcs; also ARPA files, mixtures and queries.

Estimation, along the data (estimate.py runs it):
    count.py         labels → n-grams with counts, in the buckets of partition.py
    kneser_ney.py    n-grams → probabilities and backoff weights
    prune.py         → levels (levels.py: a model as arrays, one level per order), pruned by entropy
    acceptor.py      levels, or an unpruned model's probabilities → states and arcs; and states and arcs → levels

Other ways in and out:
    arpa_read.py     ARPA → levels, with arpa_lines.py (its n-gram lines)
    mix.py           levels of several models → levels
    arpa_write.py    states and arcs → ARPA
    query.py         states and arcs → the cost of a word in a state, and the next state
"""
