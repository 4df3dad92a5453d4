"""Kernels that were written to mislead `kvtrace invariance`, with their true answers.

Half of `rows` change a row's result with the batch, and half of `versions` change a result in the
second version; most data do not show the change. The true answers were decided by reading the
kernels, and are checked by `benchmarks/invariance_traps_table.py truth`.
"""
