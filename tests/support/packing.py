"""Compressed data that is the same in each run: it names tests."""

import gzip
from functools import partial

gzipped = partial(gzip.compress, mtime=0)
