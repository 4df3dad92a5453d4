"""Symbolic summaries of kernels: accesses, loops and arithmetic as formulas, and a prover.

`terms` are integers, `conditions` predicates over terms, and `summary` has the classes of the
result of `walk.summarize`; `prover` proves or refutes claims. This package imports `kvtrace.ir` and
the schema's errors, nothing else of kvtrace.

A `Term` is a polynomial of exact integers over symbols and applied functions (quotients, minima …),
a `Condition` a formula over `term >= 0` and `term == 0`; both are hash-consed. Where an operation
may leave its width, ideal integers prove nothing.

The planner of the evaluator walks integers, too, with a call's numbers in place of symbols. One
walk for both was measured over 986 launches and not built. Binding a summary for a plan takes 2.5
to 3 times as long as the planner's integer steps; 9 % of the launches become affine only by the
planner's cuts of the grid, which formulas would need a second time; and each op needs its step
anyway, since 5 % of the integers and masks are arrays. Tests compare both walks with the bytes that
arrays touch.
"""
