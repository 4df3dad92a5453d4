"""Deviations: how far a device's number may be from what the IR means in exact arithmetic.

Beside each number the evaluator keeps what it would be if nothing were rounded, and bounds of the
distance of a device's from that: one for the worst case, and one that holds except with a stated
chance, if roundings err independently of each other. `docs/tolerances.md` has the mathematics.

`planes.py` says what is kept, `roundings.py` how much one rounding brings, `deviations.py` is the
instrument, and `exact_values.py` reads what an evaluation leaves in a tensor. What ops do is in
files of the names that `dialects/` has: elementwise ops in `arith.py`, reductions, products and
memory in `tt_reduce.py`, `tt_dot.py` and `tt_memory.py`. What is not a float, and what decides,
follows the rules of `radius/`.
"""
