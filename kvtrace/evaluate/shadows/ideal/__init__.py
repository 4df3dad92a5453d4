"""Ideal numbers: the integers, Booleans and pointers of a kernel if nothing had wrapped around.

Of an int32 that was 2^31 - 1 and had 1 added, the ideal number is 2^31. `wrapped.py` has the values
with their ideal numbers, `integers.py` the arithmetic, `arith.py` and `tt_reduce.py` the results of
ops. The instrument is `verdicts/ideal.py`, which reports where a wrapped number matters.
"""
