"""Kernels that attack derived tolerances, beside a reference and without one."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.tolerances.attack import cases
from benchmarks.attacks.tolerances.attention import ATTACKS as ATTENTION
from benchmarks.attacks.tolerances.elements import ATTACKS as ELEMENTS
from benchmarks.attacks.tolerances.self_granted import ATTACKS as SELF_GRANTED
from benchmarks.attacks.tolerances.sums import ATTACKS as SUMS

CASES: list[Case] = cases([*SELF_GRANTED, *SUMS, *ATTENTION, *ELEMENTS])
