"""Kernels of public libraries, launched at several batch sizes (see invariance_kernels.py)."""
