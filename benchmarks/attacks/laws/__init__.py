"""Pairs of formulas that are equal by a law of real numbers, or nearly: is *Same results?* no?

`kvtrace diff` compares versions of a kernel in a finite field, where some of these laws hold: so
each pair that is broken is one that a law could call the same.
"""

from benchmarks.attacks.case import Case
from benchmarks.attacks.laws import exponents, hidden, signs
from benchmarks.attacks.laws.pair import cases_of

CASES: list[Case] = [
    case for module in (exponents, signs, hidden) for case in cases_of(module.PAIRS)
]
