"""Matching of another tool's executions with a run's launches, by time or by order."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from kvtrace.addons.join.matches import Matches, Reason, open_rows
from kvtrace.addons.join.moments import containing, join_by_time
from kvtrace.addons.join.orders import join_by_order, join_only_calls
from kvtrace.addons.join.replays import join_replays, replayed
from kvtrace.addons.join.sides import Executed, Launched, Sides, sides
from kvtrace.figures.causes import NONE, Flags
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Clocks agree if at least this share of requests lies inside a launch that looks alike.
_AGREEING: Final = 0.5


@dataclass(frozen=True)
class Joined:
    """Executions of another tool, their matches, and how the matches were found.

    Attributes:
        rows: The executions' rows of `gpu_kernels`.
        matches: Launch, call and grade of each execution.
        launched: Executions that look like a launch of the run.
        by_time: Direct launches were found by host times.
        shift_ns: Offset from the executions' clock to the run's clock, in ns.
    """

    rows: pa.Table
    matches: Matches
    launched: Flags
    by_time: bool
    shift_ns: int


def join_run(
    trace: Trace, run: Run, executions: pa.Table, same_process: bool, by_order: bool
) -> Joined:
    """Return the matches of executions with a run's launches.

    Args:
        trace: The recording.
        run: A run of the recording.
        executions: Rows of `gpu_kernels` of other tools' runs, with their column `run`.
        same_process: The executions are of the recorded process itself.
        by_order: Find direct launches by order even if clocks agree.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    both = sides(trace, run, executions)
    launched, executed = both.launched, both.executed
    matches = Matches.none(executed.look.size)
    of_graph = replayed(executed)
    direct = (executed.look >= 0) & ~of_graph
    same_clock = same_process and _clocks_agree(launched, executed, direct)
    by_time = same_clock and not by_order and bool((executed.requested[direct] >= 0).any())
    matches.refuse(np.flatnonzero((executed.look >= 0) & of_graph), Reason.GRAPH)
    if by_time:
        join_by_time(launched, executed, direct & (executed.requested != NONE), matches)
    join_replays(launched, executed, _of_replays(both, of_graph, matches), matches, same_clock)
    ordered = direct & open_rows(executed, matches) & ((executed.requested == NONE) | (not by_time))
    possible = ~np.isin(launched.seq, matches.seq)
    if same_clock and ordered.any():
        possible &= _in_time(launched, executed)
    if both.sampled:
        rest = launched.chosen(launched.graph == NONE)
        join_only_calls(rest, executed, direct & open_rows(executed, matches), matches)
        matches.refuse(np.flatnonzero(direct), Reason.ORDER)
    elif ordered.any():
        join_by_order(launched, executed, ordered, possible, both.uncertain, matches)
    shift = 0 if same_clock else _shift(launched, executed, matches)
    return Joined(executions, matches, executed.look >= 0, by_time, shift)


def _clocks_agree(launched: Launched, executed: Executed, direct: Flags) -> bool:
    requested = direct & (executed.requested != NONE)
    if not requested.any():
        return True
    inside = containing(launched, executed, requested)[requested] != NONE
    return bool(inside.mean() >= _AGREEING)


def _of_replays(both: Sides, of_graph: Flags, matches: Matches) -> Flags:
    """Return which executions may be of replays: even alone, they look like captured launches."""
    launched, executed = both.launched, both.executed
    captured = launched.look[launched.graph != NONE]
    return open_rows(executed, matches) & (of_graph | np.isin(executed.look, captured))


def _in_time(launched: Launched, executed: Executed) -> Flags:
    """Return which launches were made while the executions were recorded."""
    requests = executed.requested[executed.requested != NONE]
    first = int(requests.min()) if requests.size else NONE
    inside: Flags = (launched.leave >= first) & (launched.enter <= executed.start.max())
    return inside


def _shift(launched: Launched, executed: Executed, matches: Matches) -> int:
    """Return the smallest offset with which each execution begins after its launch."""
    rows = np.flatnonzero((matches.seq != NONE) & (matches.graph == NONE))
    enter = launched.enter[np.searchsorted(launched.seq, matches.seq[rows])]
    if not rows.size:
        rows = np.flatnonzero(executed.start != NONE)[:1]
        enter = launched.enter[:1]
    earlier = enter - executed.start[rows]
    return int(earlier.max()) if earlier.size else 0
