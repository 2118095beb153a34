"""∘ and bestpath: the best path through S ∘ T ∘ LM, by two engines that agree on every path and cost.

openfst.py is the equation itself, composed and searched by OpenFst. fast.py does the same in kernels: lookup.py (the
arcs of a state for a word) → lattice.py (lazy composition) → viterbi.py (the best path); nbest.py (the n best, and the
best through each form) → confidence.py (how sure each change of case is). breaks.py says where a sentence may begin.
"""
