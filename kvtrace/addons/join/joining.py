"""Matching of another tool's executions with a run's launches, by time, by order or by replay."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from kvtrace.addons.join.matches import Matches, Reason, open_rows
from kvtrace.addons.join.moments import join_by_time, requesting_launches
from kvtrace.addons.join.orders import join_by_order, join_only_calls
from kvtrace.addons.join.replays import are_replayed, join_replays
from kvtrace.addons.join.sides import JoinSides, RecordedLaunches, TimedExecutions, sides
from kvtrace.figures.causes import NONE, Flags
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Clocks agree if at least this share of requests lies inside a launch that looks alike.
_AGREEING: Final = 0.5


@dataclass(frozen=True)
class JoinedExecutions:
    """Executions of another tool, their matches, and how the matches were found.

    Attributes:
        rows: The executions' rows of `gpu_kernels`.
        matches: Launch, call and grade of each execution.
        launched: Executions that look like a launch of the run.
        by_time: Direct launches were matched by host times, not by order.
        shift_ns: Nanoseconds to add to the executions' times for the run's clock.
    """

    rows: pa.Table
    matches: Matches
    launched: Flags
    by_time: bool
    shift_ns: int


def join_run(
    trace: Trace, run: Run, executions: pa.Table, same_process: bool, by_order: bool
) -> JoinedExecutions:
    """Match executions with a run's launches: direct launches first, then replays of graphs.

    `executions` are rows of `gpu_kernels` of other tools' runs, with their column `run`.
    `same_process`: they are of the recorded process itself. `by_order`: match direct launches by
    order even if both clocks agree.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    both_sides = sides(trace, run, executions)
    launched, executed = both_sides.launched, both_sides.executed
    matches = Matches.none(executed.look.size)
    of_graph = are_replayed(executed)
    direct = (executed.look >= 0) & ~of_graph
    same_clock = same_process and _clocks_agree(launched, executed, direct)
    by_time = same_clock and not by_order and bool((executed.requested[direct] >= 0).any())
    matches.refuse(np.flatnonzero((executed.look >= 0) & of_graph), Reason.GRAPH)
    if by_time:
        join_by_time(launched, executed, direct & (executed.requested != NONE), matches)
    join_replays(
        launched, executed, _may_be_replayed(both_sides, of_graph, matches), matches, same_clock
    )
    to_order = (
        direct & open_rows(executed, matches) & ((executed.requested == NONE) | (not by_time))
    )
    possible = ~np.isin(launched.seq, matches.seq)
    if same_clock and to_order.any():
        possible &= _overlap_executions(launched, executed)
    if both_sides.sampled:
        uncaptured = launched.chosen(launched.graph == NONE)
        join_only_calls(uncaptured, executed, direct & open_rows(executed, matches), matches)
        matches.refuse(np.flatnonzero(direct), Reason.ORDER)
    elif to_order.any():
        join_by_order(launched, executed, to_order, possible, both_sides.uncertain, matches)
    shift = 0 if same_clock else _clock_offset(launched, executed, matches)
    return JoinedExecutions(executions, matches, executed.look >= 0, by_time, shift)


def _clocks_agree(launched: RecordedLaunches, executed: TimedExecutions, direct: Flags) -> bool:
    requested = direct & (executed.requested != NONE)
    if not requested.any():
        return True
    inside = requesting_launches(launched, executed, requested)[requested] != NONE
    return bool(inside.mean() >= _AGREEING)


def _may_be_replayed(both: JoinSides, of_graph: Flags, matches: Matches) -> Flags:
    """Return for each execution whether a graph's replay may have made it, and no call is known.

    `of_graph`: executions that share a request or have a graph id. Others may also be replays, of
    graphs with one kernel, if they look like a captured launch.
    """
    launched, executed = both.launched, both.executed
    captured = launched.look[launched.graph != NONE]
    return open_rows(executed, matches) & (of_graph | np.isin(executed.look, captured))


def _overlap_executions(launched: RecordedLaunches, executed: TimedExecutions) -> Flags:
    """Return for each launch whether it overlaps the period of the executions."""
    requests = executed.requested[executed.requested != NONE]
    first_request = int(requests.min()) if requests.size else NONE
    inside: Flags = (launched.leave >= first_request) & (launched.enter <= executed.start.max())
    return inside


def _clock_offset(launched: RecordedLaunches, executed: TimedExecutions, matches: Matches) -> int:
    """Return the least nanoseconds to add so that no execution begins before its launch.

    Without matches, the first execution begins with the first launch.
    """
    rows = np.flatnonzero((matches.seq != NONE) & (matches.graph == NONE))
    enter = launched.enter[np.searchsorted(launched.seq, matches.seq[rows])]
    if not rows.size:
        rows = np.flatnonzero(executed.start != NONE)[:1]
        enter = launched.enter[:1]
    lead_times = enter - executed.start[rows]
    return int(lead_times.max()) if lead_times.size else 0
