"""Ideal numbers: what integers, Booleans and pointers would be if nothing had wrapped around.

`wrapped.py` has the values, `integers.py` the arithmetic; `arith.py` and `tt_reduce.py` say what
ops give. The instrument is `verdicts/ideal.py`, which looks where a wrap shows.
"""
