"""cap.fst: a model as an OpenFst file.

symbols.py and signature.py (the symbol table and its name) → write.py (the file), with trailer.py (the parts that
OpenFst does not read) → read.py (the mapped model), with validate.py (checks of states and arcs).
"""
