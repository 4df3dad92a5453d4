"""Candidates by an author who had read the page of `kvtrace judge`, not its code or tests."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.strangers.questions import cases

CASES: list[Case] = cases()
