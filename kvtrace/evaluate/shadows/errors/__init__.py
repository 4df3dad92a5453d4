"""Errors: bounds of how far a device's numbers may be off, by the roundings that count.

Each number of an evaluation has *planes* (`planes.py`): the distance of a device's number in the
worst case and, where all roundings count, the number in exact arithmetic and the distance that is
exceeded only with a stated chance. `docs/check.md` and `docs/tolerances.md` have the rules and the
mathematics.

`analysis.py` has the two instruments: `Radii` around the evaluator's numbers (checked launches), in
which only a device's choices count, and `Deviations` around exact numbers (tolerances), in which
all roundings count. `roundings.py` says which roundings count and how large each is.

Rules of ops are in files named as in `dialects/`: reductions, products, memory and shared memory in
`tt_reduce.py`, `tt_dot.py` and `tt_memory.py`; elementwise ops in `arith.py`, by
`radius_rules.py` (radii of results) and `images.py` (images of functions of floats). A result of an
op without a rule may be any number. `exact_values.py` reads a tensor after an evaluation.
"""
