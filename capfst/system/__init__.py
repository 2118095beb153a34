"""Utilities for all packages: binary_search.py, hashing.py and radix_sort.py (kernels); parallel.py (threads),
workers.py (processes); budget.py, buckets.py and sparse.py (memory); atomic.py and verified.py (files);
progress.py (the terminal).
"""
