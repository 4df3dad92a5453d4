"""Errors: how far a device's numbers may be off, by the roundings that count.

Beside each number of an evaluation its *planes* are kept (`planes.py`): how far a device's may be
in the worst case and, where all roundings count, what the number is in exact arithmetic and how far
a device's is except with a stated chance. `docs/check.md` and `docs/tolerances.md` have the rules
and the mathematics.

`analysis.py` has the two instruments: `Radii` around the evaluator's numbers (checked launches), in
which only a device's choices count, and `Deviations` around exact ones (tolerances), in which all
roundings do. `roundings.py` says which count and how much one brings; all rules ask it.

What ops do is in files of the names that `dialects/` has: reductions, products, memory and shared
memory in `tt_reduce.py`, `tt_dot.py`, `tt_memory.py` and `ttg.py`; elementwise ops in `arith.py`,
by `radius_rules.py` (what becomes of a radius) and `images.py` (the image of a function of floats,
by its `accuracy`). What no rule is for may be anything. `exact_values.py` reads what an evaluation
leaves in a tensor.
"""
