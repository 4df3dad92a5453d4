"""Pairs of versions of a kernel that attack `kvtrace invariance --against`.

A pair is one kernel with a constexpr `NEW`: 0 before the change, 1 after it. Its truth is the most
that it has in common (`Level`). Each pair is asked whether it is as much as that, and whether it
is more: a yes to the latter is false.

Six labels were corrected after kvtrace was asked, towards its page: what rounds to a narrower type
on the way, or cuts factors to tf32, is not equal in exact arithmetic, as it was labeled at first.
So was a seventh: a constant that rounds 1/3 counts as 1/3, as decimals that are rounded count.
"""

from benchmarks.attacks.case import Case
from benchmarks.attacks.version_pairs import (
    choices,
    integers,
    memory,
    neighbors,
    rounding,
    second_elements,
    second_reductions,
    sums,
)
from benchmarks.attacks.version_pairs.pair import cases_of

SECOND: list[Case] = [
    case
    for module in (second_elements, second_reductions)
    for pair in module.PAIRS
    for case in cases_of(pair)
]
CASES: list[Case] = [
    case
    for module in (choices, integers, memory, rounding, sums, neighbors)
    for pair in module.PAIRS
    for case in cases_of(pair)
] + SECOND
