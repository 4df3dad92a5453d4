"""Cheating and honest candidates that `kvtrace judge` is asked about."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.judge import cheats, honest

CASES: list[Case] = [*cheats.CASES, *honest.CASES]
