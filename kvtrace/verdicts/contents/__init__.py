"""Claims about recorded contents of index tensors, decided in `by_contents.py` by what loads read.

`loaded.py` gives the range of a tensor's values, `index_arguments.py` which pointers hold integers
that decide addresses, masks, branches or loops.
"""
