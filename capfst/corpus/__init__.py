"""Corpora: training text → labels of words.

In the order of the data (io/ reads the files):

languages.py    names → files and the language of each
diagnose.py     detects a corpus that is not cased text
filters.py      keeps well-cased sentences
intern.py       words → ids
word_lists.py   lists of words that supplement a corpus → ids
vocabulary.py   ids → vocabulary and labels
read.py         files → ids, in threads (spark/corpus.py: in tasks)
labels.py       pieces, counts and relabeling of a corpus of labels
"""
