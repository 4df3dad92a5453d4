"""Kernels that attack derived tolerances, with a reference and without one."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.tolerances import (
    attention,
    elements,
    neighbors,
    products,
    scans,
    second_products,
    second_rows,
    self_granted,
    sums,
)
from benchmarks.attacks.tolerances.attack import cases

SECOND: list[Case] = cases([*second_rows.ATTACKS, *second_products.ATTACKS])
CASES: list[Case] = cases(
    [
        *self_granted.ATTACKS,
        *sums.ATTACKS,
        *scans.ATTACKS,
        *attention.ATTACKS,
        *products.ATTACKS,
        *elements.ATTACKS,
        *neighbors.ATTACKS,
    ]
)
CASES += SECOND
