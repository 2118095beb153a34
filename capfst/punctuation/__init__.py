"""Punctuation: the marks between words, which a small network finds before the case is restored.

text.py reads the words and the gaps between them, network.py says what scores the marks of each gap, and score.py does
it; train.py learns all of this from cased text with marks, by learn.py. marks.py inserts the marks into text, given
also the pauses of speech.
"""
