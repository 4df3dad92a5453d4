"""Proofs about recorded contents of index tensors, from the values that loads read.

`by_contents.py` decides claims. `loaded.py` has the ranges of tensors' values.
"""
