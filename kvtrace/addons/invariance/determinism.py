"""Determinism of a kernel: whether repeated launches give the same bits in any program order."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import PARTITIONED
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.summary import Access
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.verdict import Verdict

Answer = Literal["proven", "depends", "unknown"]

_PARTITIONS: Final = "whether barriers order the program's partitions is not proven"
FREE: Final = frozenset({"fadd"})
"""Atomic updates whose result depends on their order."""
_EXACT: Final = frozenset({"and", "or", "xor", "add", "max", "min", "umax", "umin"})
"""Atomic updates of integers whose final result does not depend on their order."""


class Determinism(Struct, frozen=True):
    """The verdict whether equal launches give equal bits, with the reason if not.

    `race` is a verdict of the rule `race` that is not proven, a violation if there is one.
    """

    answer: Answer
    reason: str | None = None
    race: Verdict | None = None


def determinism_of(call: Call) -> Determinism:
    """Return whether a call gives the same bits in any order of its programs.

    Proven if nothing depends on that order: no float atomics, no atomic whose old value is used,
    and no race by the rule `race`. The verdict is for one variant, for which the compiler has fixed
    the order of the sums inside a program.
    """
    from kvtrace.symbolic.walk import summarize

    worst: Determinism | None = None
    for access in summarize(call.module).accesses:
        if access.kind == "atomic":
            update_verdict = _update_verdict(access, call)
            if update_verdict is not None and (worst is None or update_verdict.answer == "depends"):
                worst = update_verdict
    if worst is None and any(op.name in PARTITIONED for op in call.module.ops):
        worst = Determinism("unknown", _PARTITIONS)
    races = [verdict for verdict in judge(call, ["race"]) if verdict.verdict != "proven"]
    race = min(races, key=lambda verdict: verdict.verdict == "unknown", default=None)
    if race is not None:
        answer: Answer = "depends" if race.verdict == "violation" else "unknown"
        if worst is None or (worst.answer, answer) == ("unknown", "depends"):
            worst = Determinism(answer, race.message)
    return replace(worst or Determinism("proven"), race=race)


def _update_verdict(access: Access, call: Call) -> Determinism | None:
    """Return the verdict on an atomic update that may depend on the program order, else None."""
    is_old_value_used = (
        bool(flow_of(call.module).uses(access.op.results[0])) if access.op.results else False
    )
    if access.operator in FREE:
        text = "an atomic sum of floats, whose rounding depends on the order of programs"
        return Determinism("depends", text)
    if is_old_value_used:
        text = "the old value of an atomic update is used, which depends on the order of programs"
        return Determinism("unknown", text)
    if access.operator in _EXACT:
        return None
    return Determinism("unknown", f"an atomic {access.operator or 'update'}")
