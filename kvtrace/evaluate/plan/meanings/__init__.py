"""Planners of ops, one file per dialect, named as in `evaluate/dialects`.

A planner returns the step of an op, which reads the op's operands in a walk and sets its results:
affine forms (integers, pointers, masks), or registers with the instructions that fill them. An op
that only computes needs no planner: the array evaluator's function becomes an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from kvtrace.evaluate.dialects import files_of

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.steps import PlanCompiler
    from kvtrace.evaluate.plan.walk import Walk
    from kvtrace.ir import Op

PlanStep = Callable[["Walk"], None]
"""Reads and writes the values of a walk."""
Planner = Callable[["Op", "PlanCompiler"], PlanStep]

FILES = frozenset({
    "arith", "arith_casts", "cf", "scf", "tt_atomic", "tt_descriptor", "tt_dot", "tt_elementwise",
    "tt_inline", "tt_memory", "tt_program", "tt_reduce", "tt_shape",
})  # fmt: skip
"""Names of files in `evaluate/dialects` that also exist here."""

PLANNERS: dict[str, Planner] = {}

_loaded: set[str] = set()


def planned(*names: str) -> Callable[[Planner], Planner]:
    """Return a decorator that registers a planner for these ops."""

    def register(planner: Planner) -> Planner:
        for name in names:
            PLANNERS[name] = planner
        return planner

    return register


def load_meanings(ops: Iterable[str]) -> None:
    """Import the files that have the ops' planners, which then register themselves."""
    for file in files_of(ops):
        if file in FILES and file not in _loaded:
            import_module(f"{__name__}.{file}")
            _loaded.add(file)
