"""Ideal numbers: what integers, Booleans and pointers would be if nothing had wrapped around.

`integers.py` has the arithmetic; `arith.py` and `tt_reduce.py` say what
ops give. Who asks: `verdicts/ideal.py`, which looks where a wrap shows.
"""
