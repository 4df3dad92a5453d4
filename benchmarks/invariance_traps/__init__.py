"""Kernels that were written to mislead `kvtrace invariance`, with what is true of them.

Half of `rows` change a row's result with the batch that it is in, half of `versions` change a
result by another version, each in a way that does not show in most data. What is true was decided
by reading, and is checked by `benchmarks/invariance_traps_table.py truth`.
"""
