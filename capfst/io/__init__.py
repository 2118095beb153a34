"""Input and output: files, their compression, their formats and records.

Bytes:      files.py (names → files), compression.py (with codecs.py), encodings.py, blocks.py (blocks of whole
            lines), documents.py (separated by blank lines), alignments.py (parallel texts)
Formats:    formats.py (a name or content → a format), protocol.py (their interface, options and counts),
            text_file.py (bytes → parts of whole records or cues), running_text.py (the text of a part, and back)
Records:    lines.py, with plain_text.py (also Markdown and HTML), tables.py, json_records.py and json_paths.py;
            parquet.py; wiki.py (only read)
Speech:     captions.py and cue_text.py, timed_words.py, transcripts.py; gettext.py
Whole runs: text_blocks.py (for training, with wrapped.py), outputs.py (batches); html_page.py
Lattices:   word_lattices.py
"""
