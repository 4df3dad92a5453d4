"""Files that try to leave the walls of `kvtrace judge`: the answer yes means that one did."""

from benchmarks.attacks.case import Case
from benchmarks.attacks.confinement.asking import cases

CASES: list[Case] = cases()
