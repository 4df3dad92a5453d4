"""Kernels that attack `kvtrace sizes`: ranges of sizes, at both ends, in which accesses stay inside."""

from typing import Final

from benchmarks.attacks.case import Case
from benchmarks.attacks.sizes import lines, planes

CASES: Final[list[Case]] = [*lines.CASES, *planes.CASES]
