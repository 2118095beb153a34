"""T, the capitalization transducer, and P, text again: the casings that a word may have, and how each is written.

types.py (the values that pass between the stages of recasing), transducer.py (S ∘ T: words → labels of their surface
forms) with word_index.py (its hash table), shapes.py and names.py (casings that the model has not seen), surface.py
(the labels of a path → text), encode.py (cased text → labels). user_words.py and units.py add arcs to T.
"""
