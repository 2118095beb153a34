"""Batch: whole corpora recased file by file, what is done once is not done again.

The way of a run: names → files and their outputs (`inputs.py`) → those that are not done yet (`manifest.py`) → each in
its format (`formats.py`: `lines.py`, `tsv.py`, `jsonl.py`, `parquet.py`; compression in `compressed.py`), block by
block, in threads (`run.py`, in `folder.py`), counted (`tally.py`) → a report (`report.py`, `display.py`).
"""
