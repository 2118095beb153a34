"""What all packages ask of the machine: compiling.py with lowering.py and shortcuts.py, compilation.py and
kernel_cache.py (how kernels are compiled and kept), kernels.py, binary_search.py, hashing.py and radix_sort.py (what
they share), parallel.py (threads), budget.py and buckets.py (memory), atomic.py and verified.py (files), progress.py
(the terminal).
"""
