"""Symbolic summaries of kernels: accesses, loops and arithmetic as formulas, and a prover.

`terms` are integers, `conditions` predicates over terms, and `summary` has the classes of the
result of `walk.summarize`; `prover` proves or refutes claims, and `trees` tells how each element of
a value is computed. This package imports `kvtrace.ir` and the schema's errors, nothing else of
kvtrace.

A `Term` is a polynomial of exact integers over symbols and applied functions (quotients, minima …),
a `Condition` a formula over `term >= 0` and `term == 0`; both are hash-consed. Where an operation
may leave its width, ideal integers prove nothing.
"""
