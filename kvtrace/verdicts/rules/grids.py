"""The rule grid-limit: a grid has more programs along an axis than the target launches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate.grid_limits import grid_problem, launches_programs
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "grid-limit"
_MOST_ALONG_Y: Final = 65_535


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Yield a verdict on the call's grid unless the target is known to launch the grid."""
    call = bound.call
    op, target = call.module.main.op, call.module.target
    if min(call.grid) <= 0:
        return  # a launch of no programs
    lanes = 64 if target.startswith("hip:gfx9") else 32  # limits of CUDA's count no threads
    problem = grid_problem(call.grid, target, call.ctas or 1, (call.warps or 1) * lanes)
    if problem is not None:
        yield Verdict(RULE, "violation", op, f"{problem}: the launch fails", "interval")
    elif not launches_programs(call.grid, target):
        message = (
            f"the grid has {bound.programs:,} programs, whose number Triton's launcher computes "
            "in 32 bits: it launches nothing, without an error"
        )
        yield Verdict(RULE, "violation", op, message, "interval")
    elif target.startswith("hip") and max(call.grid[1:]) > _MOST_ALONG_Y:
        reason = f"drivers differ in launching more than {_MOST_ALONG_Y:,} programs along y or z"
        message = f"whether the grid {call.grid} is launched could not be decided: {reason}"
        yield Verdict(RULE, "unknown", op, message, reason=reason)
