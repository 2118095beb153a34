"""S, the sentence: text as characters and words.

unicode.py (what each character is, and its lowercase) → tokenizer.py (lines → words with their offsets).
"""
