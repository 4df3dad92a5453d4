"""Proofs about recorded contents of index tensors, by the values that loads read.

`by_contents.py` decides claims. `loaded.py` has the range of a tensor's values,
`index_arguments.py` the pointers to integers that decide addresses, masks, branches or loops.
"""
