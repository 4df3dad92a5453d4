"""The affine plan of a launch: its accesses as formulas, its arithmetic as a few instructions.

Integers, pointers and masks stay affine forms over program axes, lane axes and loop trips, so each
access is one formula for all programs and lanes (`4096 * program + 4 * lane`), and the rest is a
short list of array instructions on strided views. Everything else (data-dependent addresses or
branches, accesses that leave their tensor, programs that depend on each other) raises
`Unplannable`; then the array evaluator runs the launch, or the programs that have no plan.

planning.py plans a launch region by region with the steps of walk.py; optimize.py saves
instructions; planning.py and code/ write NumPy code, execute.py runs the code over the chunks of
planning.py; launch.py caches plans and reports to observers. planning.py, with all that it imports,
is imported when a plan is created. May import what kvtrace.evaluate may; only engine.py imports it.
"""

from kvtrace.evaluate.plan.launch import evaluate_planned, explain

__all__ = ["evaluate_planned", "explain"]
