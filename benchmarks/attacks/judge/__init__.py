"""Cheating and honest candidates that `kvtrace judge` is asked about."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.judge import cheats

CASES: list[Case] = cheats.CASES
