"""Input and output: files, their compression, their formats and records.

In the order of the data:

files.py         names → files: folders, glob patterns, suffixes
compression.py   files → decompressed bytes, and back
encodings.py     bytes in other encodings → UTF-8, and back
blocks.py        bytes → blocks of whole lines of valid UTF-8
splits.py        files → ranges of whole lines, for parallel tasks
documents.py     lines → documents, separated by blank lines
alignments.py    translations, their source and their word alignments, line by line
protocol.py      the interface of a format; TextOptions, BatchOptions, RecaseCounts
running_text.py  the spans of text in a part of a file ⇄ the text that they make
text_file.py     the base class of files of text: bytes → parts of whole records or cues → their running text
lines.py         of those whose texts are records: plain_text.py (also Markdown and HTML), tables.py,
                 json_records.py
json_paths.py    a.b[].c → the texts inside a JSON value
captions.py      .srt, .vtt, .ass, .sbv, .ttml, .lrc → their running text, of the words that cue_text.py finds
timed_words.py   .ctm, .stm, Kaldi's text, Praat's TextGrid
transcripts.py   JSON of recognizers
gettext.py       .po
parquet.py       columns of a Parquet file
wiki.py          Wikimedia dumps, which are only read
formats.py       the suffix or the content of a file → its format
wrapped.py       lines wrapped at a fixed width → paragraphs
text_blocks.py   files of any format → blocks of lines, for training
outputs.py       inputs → outputs, and the output folder, for batch runs
html_page.py     the frame of a page of HTML that is written
"""
