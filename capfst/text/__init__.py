"""S, the sentence: text as characters and words.

unicode.py (the class and the lowercase of each character) → given.py (text without entities, by notations.py) →
protected.py (the ends of markup, code and identifiers) → tokenizer.py (lines → words with their offsets).
language.py has the rules of languages; restoring.py the lowering of models that also restore diacritics, or whatever a
user's grammar (character_map.py) removes; facts.py reads the tables of both. sentences.py marks where sentences may
begin, strings.py stores many strings in one array. markup.py hides what is not text in HTML and Markdown, which
scanners.py finds.
"""
