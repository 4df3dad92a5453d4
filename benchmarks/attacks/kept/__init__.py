"""Pairs of versions whose kept results deceive: `kvtrace diff` compares what both sides kept.

Two labels were corrected after kvtrace was asked: Triton has no -0.0 as a constant, and memory that
neither version writes or reads may differ before the launch.
"""

from benchmarks.attacks.case import Case
from benchmarks.attacks.kept import launching, values
from benchmarks.attacks.kept.pair import cases_of

CASES: list[Case] = [
    case for module in (values, launching) for pair in module.PAIRS for case in cases_of(pair)
]
