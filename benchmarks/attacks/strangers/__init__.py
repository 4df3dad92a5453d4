"""Candidates by somebody who had read `kvtrace judge`'s page, and neither its code nor its tests."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.strangers.questions import cases

CASES: list[Case] = cases()
