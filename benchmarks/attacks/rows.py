"""Kernels that attack `kvtrace invariance`: are a row's bits the same in every batch?

A number of a row represents its data (`rows_kernels/batches.py`). The truth runs a kernel in
kvtrace's evaluator on batches of 1 to 100 rows, with a watched row at the beginning, in the middle
and at the end, among two sets of other rows, and compares the bits that the row has.
"""

from benchmarks.attacks.case import Case
from benchmarks.attacks.rows_kernels import (
    norms,
    products,
    sampling,
    second_blocks,
    second_launches,
    second_tables,
)

SECOND = [*second_blocks.CASES, *second_launches.CASES, *second_tables.CASES]
CASES: list[Case] = [*norms.CASES, *products.CASES, *sampling.CASES, *SECOND]
