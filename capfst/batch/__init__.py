"""Batch: whole corpora recased file by file; files that an earlier run has finished are skipped.

The way of a run: names → files and their outputs (`inputs.py`) → those that are not done yet (`manifest.py`) → each in
its format (`capfst/formats/`), block by block, in threads (`run.py`, in the output folder of `folder.py`), counted
(`tally.py`) → a report (`report.py`, `display.py`).
"""
