"""Batch: whole corpora recased file by file; files that an earlier run has finished are skipped.

The way of a run: names → files and their outputs (`inputs.py`) → those that are not done yet (`manifest.py`) → each in
its format (`formats.py`), block by block, in threads (`run.py`, in the output folder of `folder.py`), counted
(`tally.py`) → a report (`report.py`, `display.py`).

A format is a class as `protocol.py` describes it, in a module of its own (`text.py`, `tsv.py`, `csv.py`, `jsonl.py`,
which are made of lines as `lines.py` reads them; `parquet.py`), and a line in the table of `formats.py`.
"""
