"""Kernels that attack `kvtrace sizes`: at both ends of ranges, do accesses stay inside?"""

from typing import Final

from benchmarks.attacks.case import Case
from benchmarks.attacks.sizes import blocks, masks, offsets, products, strides, ties

CASES: Final[list[Case]] = [
    case for module in (masks, strides, offsets, products, blocks, ties) for case in module.CASES
]
