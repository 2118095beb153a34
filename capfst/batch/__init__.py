"""Recase whole corpora file by file, and skip files that an earlier run has finished.

The steps of a run: names → files and their outputs (`io/outputs.py`) → the files that are not finished (`manifest.py`)
→ each file in its format (`io/formats.py`), block by block, in threads (`run.py`, in a locked output folder), counted
(`tally.py`) → a report (`report.py`).
"""
