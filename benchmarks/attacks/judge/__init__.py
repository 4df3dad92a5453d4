"""Cheating and honest candidates for `kvtrace judge`."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.judge import cheats, honest

CASES: list[Case] = [*cheats.CASES, *honest.CASES]
