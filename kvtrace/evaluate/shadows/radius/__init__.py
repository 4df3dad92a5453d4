"""Radii: how far a number of a device that keeps to the IR may be from the evaluator's.

`radii.py` is the instrument. What ops do to radii is in files of the names that `dialects/`
has: elementwise ops in `arith.py`, of floats by the `accuracy` of their array function in
`floats.py`; reductions, products, memory and shared memory in `tt_reduce.py`, `tt_dot.py`,
`tt_memory.py` and `ttg.py`. What no rule is for has an infinite radius.
"""
