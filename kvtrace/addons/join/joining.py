"""Executions of another tool with launches of a run: by time where clocks agree, or by order."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from kvtrace.addons.join.found import Found, Reason, open_rows
from kvtrace.addons.join.moments import containing, join_by_time
from kvtrace.addons.join.orders import join_by_order, join_only_calls
from kvtrace.addons.join.replays import join_replays, replayed
from kvtrace.addons.join.sides import Executed, Launched, Sides, sides
from kvtrace.figures.causes import NONE, Flags
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Clocks agree if at least this share of requests is inside of a launch that looks like them.
_AGREEING: Final = 0.5


@dataclass(frozen=True)
class Joined:
    """Executions of another tool, what was found of each, and by what.

    Attributes:
        rows: Their rows of `gpu_kernels`.
        found: A launch, a call, and how certain.
        launched: Which of them look like a launch of the run.
        by_time: Whether direct launches were found by host times.
        shift_ns: What is to be added to their times to have them on the run's clock.

    """

    rows: pa.Table
    found: Found
    launched: Flags
    by_time: bool
    shift_ns: int


def join_run(
    trace: Trace, run: Run, executions: pa.Table, same_process: bool, by_order: bool
) -> Joined:
    """Find the launches of executions among those of a run.

    Args:
        trace: The recording.
        run: The run of it.
        executions: Rows of `gpu_kernels` of runs of other tools, with their column `run`.
        same_process: Whether they are of the very process that was recorded.
        by_order: Whether to find direct launches by order even where clocks agree.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.

    """
    both = sides(trace, run, executions)
    launched, executed = both.launched, both.executed
    found = Found.nothing(executed.look.size)
    of_graph = replayed(executed)
    direct = (executed.look >= 0) & ~of_graph
    same_clock = same_process and _clocks_agree(launched, executed, direct)
    by_time = same_clock and not by_order and bool((executed.requested[direct] >= 0).any())
    found.refuse(np.flatnonzero((executed.look >= 0) & of_graph), Reason.GRAPH)
    if by_time:
        join_by_time(launched, executed, direct & (executed.requested != NONE), found)
    join_replays(launched, executed, _of_replays(both, of_graph, found), found, same_clock)
    ordered = direct & open_rows(executed, found) & ((executed.requested == NONE) | (not by_time))
    possible = ~np.isin(launched.seq, found.seq)
    if same_clock and ordered.any():
        possible &= _in_time(launched, executed)
    if both.sampled:
        rest = launched.chosen(launched.graph == NONE)
        join_only_calls(rest, executed, direct & open_rows(executed, found), found)
        found.refuse(np.flatnonzero(direct), Reason.ORDER)
    elif ordered.any():
        join_by_order(launched, executed, ordered, possible, both.uncertain, found)
    shift = 0 if same_clock else _shift(launched, executed, found)
    return Joined(executions, found, executed.look >= 0, by_time, shift)


def _clocks_agree(launched: Launched, executed: Executed, direct: Flags) -> bool:
    asked = direct & (executed.requested != NONE)
    if not asked.any():
        return True
    inside = containing(launched, executed, asked)[asked] != NONE
    return bool(inside.mean() >= _AGREEING)


def _of_replays(both: Sides, of_graph: Flags, found: Found) -> Flags:
    """Which executions may be of replays: even alone, they look like captured launches."""
    launched, executed = both.launched, both.executed
    captured = launched.look[launched.graph != NONE]
    return open_rows(executed, found) & (of_graph | np.isin(executed.look, captured))


def _in_time(launched: Launched, executed: Executed) -> Flags:
    """Which launches were made while the executions were recorded."""
    asked = executed.requested[executed.requested != NONE]
    first = int(asked.min()) if asked.size else NONE
    inside: Flags = (launched.leave >= first) & (launched.enter <= executed.start.max())
    return inside


def _shift(launched: Launched, executed: Executed, found: Found) -> int:
    """Return what makes each execution begin after its launch, as early as that is possible."""
    rows = np.flatnonzero((found.seq != NONE) & (found.graph == NONE))
    enter = launched.enter[np.searchsorted(launched.seq, found.seq[rows])]
    if not rows.size:
        rows = np.flatnonzero(executed.start != NONE)[:1]
        enter = launched.enter[:1]
    earlier = enter - executed.start[rows]
    return int(earlier.max()) if earlier.size else 0
