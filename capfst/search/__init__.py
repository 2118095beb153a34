"""∘ and bestpath: find the best path through S ∘ T ∘ LM, by two engines that agree on every path and cost.

openfst.py composes and searches the equation itself with OpenFst. fast.py does the same in kernels: lookup.py (the arcs
of a state for a word) → lattice.py (lazy composition) → viterbi.py (the best path). For more than the best path of a
line: token_lattice.py (S as a lattice of tokens) → paths.py (all paths) → confidence.py (the log-odds of each change of
case). boundaries.py weighs the positions where a sentence may begin inside a line.
"""
