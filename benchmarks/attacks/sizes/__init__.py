"""Kernels that attack `kvtrace sizes`: at both ends of ranges, do accesses stay inside?"""

from typing import Final

from benchmarks.attacks.case import Case
from benchmarks.attacks.sizes import (
    blocks,
    masks,
    offsets,
    products,
    second_integers,
    second_loops,
    second_masks,
    strides,
    third_readings,
    ties,
)

CASES: Final[list[Case]] = [
    case
    for module in (
        masks,
        strides,
        offsets,
        products,
        blocks,
        ties,
        second_loops,
        second_integers,
        second_masks,
        third_readings,
    )
    for case in module.CASES
]
