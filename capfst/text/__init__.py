"""S, the sentence: text as characters and words.

unicode.py (what each character is, and its lowercase) → code.py (where markup, code and identifiers end) →
tokenizer.py (lines → words with their offsets). language.py has what a language's own rules change, and restoring.py
what a model restores besides case; sentences.py says where sentences end, strings.py holds many strings in one array.
"""
