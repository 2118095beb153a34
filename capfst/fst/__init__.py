"""cap.fst: a model as an OpenFst file.

symbols.py and signature.py (what is in its header) → write.py, with what OpenFst does not
read in trailer.py → read.py, which maps it once validate.py has checked it;
backoff.py (what a word costs behind a state, and where it leads).
"""
