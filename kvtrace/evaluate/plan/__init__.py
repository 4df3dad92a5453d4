"""The affine plan: what a launch does, worked out once, without looking at any program or lane.

Integers, pointers and masks stay affine forms over program axes, lane axes and loop trips, so each
access is a formula, and what is left to compute is a short list of array instructions on strided
views. Whatever does not fit (data-dependent addresses or branches, accesses that leave their
tensor, programs that depend on each other) raises `Unplannable`; the array evaluator does it then,
or those programs of it that do not fit.

grid.py plans a launch region by region with the steps of walk.py; facts.py tells observers;
optimize.py has what is computed done with less (longer_products.py, trips_at_once.py); generate.py
and code/ write NumPy code (with PyTorch's functions for some of it, where the program has imported
that: torch_kernels.py), execute.py runs it over the chunks of chunks.py; launch.py keeps plans.
What makes plans (planning.py and all that it imports) is imported when one is made. May import what
kvtrace.evaluate may; only engine.py imports it.
"""

from kvtrace.evaluate.plan.launch import evaluate_planned, explain

__all__ = ["evaluate_planned", "explain"]
