"""Kernels that attack `race-within-program` and `race`, by accesses of threads and programs.

`ATTACKS[name].launch("cuda")` runs a case on a GPU and returns its tensors.
"""

from benchmarks.attacks.threads import (
    barriers,
    between,
    compiled,
    ctas,
    elements,
    lanes,
    loops,
    second_between,
    second_within,
    wraps,
)
from benchmarks.attacks.threads.attack import ATTACKS, CASES

__all__ = [
    "ATTACKS",
    "CASES",
    "barriers",
    "between",
    "compiled",
    "ctas",
    "elements",
    "lanes",
    "loops",
    "second_between",
    "second_within",
    "wraps",
]
