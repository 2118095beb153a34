"""T, the capitalization transducer, and P, text again: which casings a word may have, and how it is written in one.

transducer.py (S ∘ T: words → labels of their surface forms), shapes.py and names.py (casings that the model has not
seen), surface.py (the labels of a path → text), encode.py (cased text → labels).
"""
