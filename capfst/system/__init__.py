"""What all packages ask of the machine: kernels.py, machine_code.py and kernel_cache.py (how kernels are called, loaded
and kept); compiling.py with lowering.py, entry.py, intrinsics.py and shortcuts.py, and compilation.py (how they are
compiled); binary_search.py, hashing.py and radix_sort.py (what they share); parallel.py (threads), workers.py
(processes), budget.py, buckets.py and sparse.py (memory), atomic.py and verified.py (files), progress.py (the
terminal).
"""
