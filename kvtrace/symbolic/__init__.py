"""Symbolic summaries of kernels: accesses, loops and arithmetic as formulas, and a prover.

`terms` are integers, `conditions` predicates over terms, and `summary` has the classes of the
result of `walk.summarize`; `prover` proves or refutes claims. This package imports `kvtrace.ir` and
the schema's errors, nothing else of kvtrace.
"""
