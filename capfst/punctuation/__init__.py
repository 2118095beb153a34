"""Punctuation: the marks between words, which a small network finds before the case is restored.

text.py reads the words and the gaps between them, network.py scores the marks of each gap, learn.py learns the network
from cased text with marks, and insert.py writes the marks into the text.
"""
