"""S, the sentence: text as characters and words.

unicode.py (what each character is, and its lowercase) → code.py (where markup, code and identifiers end) →
tokenizer.py (lines → words with their offsets).
"""
