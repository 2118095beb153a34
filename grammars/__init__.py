"""Grammars in pynini: rules in code, facts in TSV.

    lower.py        LOWERING, surface form × lowercase form; RAISING, its inverse
    shapes.py       CAPITALIZED and UPPER, lowercase word × the word in that shape
    names.py        PATTERNS, NAMING, lowercase word × its pattern; MIXING, × the word in mixed case
    diacritics.py   STRIPPING, text × the text without diacritics

capfst itself reads only the tables (`capfst/text/facts.py`); tests check that its kernels agree with the rules. The
grammars need pynini (`pip install 'capfst[openfst]'`). The package is `capfst.grammars` where capfst is installed, and
`grammars` in the folder of a checkout.
"""
