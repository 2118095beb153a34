"""Formats: files → the texts of their records, and the same files with these texts recased.

suffixes.py says by a file's name which format it is of, read.py makes blocks of lines of the texts of any files, for
training. A format is a class as protocol.py describes it, in a module of its own: text.py, tsv.py, csv.py, jsonl.py,
which are made of lines as lines.py reads them; parquet.py, whose columns arrow.py recases; wiki.py, which is only read.
aligned.py adds the source and the alignment of translations to a record, whose links alignment.py reads.
"""
