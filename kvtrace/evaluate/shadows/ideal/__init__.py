"""Ideal numbers: a kernel's integers, Booleans and pointers as if nothing had wrapped around.

If 1 is added to an int32 of 2^31 - 1, the ideal number is 2^31. `wrapped.py` has the values with
their ideal numbers, `integers.py` the arithmetic, `arith.py` the results of ops.
The instrument is `verdicts/ideal.py`, which reports where a wrapped number matters.
"""
