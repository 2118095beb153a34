"""Corpora: names of files → labels of words.

files.py (names → files) → compression.py and read.py (files → blocks of whole lines) → filters.py (well-cased
sentences) → intern.py (words → ids) → vocabulary.py (ids → labels); labels.py walks through the labels, splits.py cuts
files into parts for Spark, documents.py parts lines into documents; languages.py tells which languages a corpus has;
word_lists.py reads lists of words, which are learned beside a corpus; diagnose.py says what is wrong with a corpus,
wrapped.py joins lines that are wrapped to paragraphs. Files that are not plain text are read by `capfst/formats/`.
"""
