"""What all packages ask of the machine: kernels.py, binary_search.py, hashing.py and radix_sort.py (compiled code),
parallel.py (threads), budget.py and buckets.py (memory), atomic.py and verified.py (files), progress.py (the terminal).
"""
