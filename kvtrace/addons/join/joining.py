"""Matching of another tool's executions with a run's launches, by time, by order or by replay.

By time: the host requests a kernel's execution while the launching function runs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Struct

from kvtrace.addons.join.orders import (
    Grade,
    Matches,
    Reason,
    join_by_order,
    join_only_calls,
    open_rows,
)
from kvtrace.addons.join.sides import JoinSides, RecordedLaunches, TimedExecutions, sides
from kvtrace.figures.causes import NONE, Flags, Integers, share_request
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace


def requesting_launches(
    launched: RecordedLaunches, executed: TimedExecutions, chosen: Flags
) -> Integers:
    """Return for each execution the index of the launch during which it was requested, or NONE.

    Only executions in `chosen` have one. Of nested launches of the request's thread, the innermost
    counts. If the thread is not known, a launch is found only if no other thread was launching
    then. The launch must look like the execution.
    """
    row = np.full(executed.look.size, NONE)
    is_ambiguous = np.zeros(row.size, bool)
    requested = chosen & (executed.requested != NONE)
    for thread in np.unique(launched.thread).tolist():
        launches = np.flatnonzero((launched.thread == thread) & (launched.graph == NONE))
        launches = launches[np.lexsort((-launched.leave[launches], launched.enter[launches]))]
        requests = np.flatnonzero(
            requested & ((executed.thread == thread) | (executed.thread == NONE))
        )
        if not launches.size or not requests.size:
            continue
        inside = _innermost_interval(
            launched.enter[launches], launched.leave[launches], executed.requested[requests]
        )
        inside_rows = np.flatnonzero(inside >= 0)
        executions = requests[inside_rows]
        is_ambiguous[executions] |= row[executions] != NONE
        row[executions] = launches[inside[inside_rows]]
    row[is_ambiguous] = NONE
    looks_alike = (
        launched.look[row] == executed.look if launched.look.size else np.zeros(row.size, bool)
    )
    return np.where((row != NONE) & looks_alike, row, NONE)


def join_by_time(
    launched: RecordedLaunches, executed: TimedExecutions, chosen: Flags, matches: Matches
) -> None:
    """Store in `matches` the launches during which the chosen executions were requested.

    If two executions were requested during a launch, neither gets it. Executions without a launch
    get the reason.
    """
    row = requesting_launches(launched, executed, chosen)
    inside = np.flatnonzero(row != NONE)
    counts = np.bincount(row[inside], minlength=launched.seq.size)
    alone = inside[counts[row[inside]] == 1]
    launch_rows = row[alone]
    matches.add(alone, launched.seq[launch_rows], launched.call[launch_rows], Grade.EXACT)
    matches.refuse(inside, Reason.SHARED_LAUNCH)
    matches.refuse(np.flatnonzero(chosen & (row == NONE)), Reason.NOT_LAUNCHED)


def _innermost_interval(enter: Integers, leave: Integers, moment: Integers) -> Integers:
    """Return the index of the innermost interval around each moment, or -1.

    Intervals are sorted by `enter`.
    """
    around = _enclosing_intervals(leave, enter)
    interval = np.searchsorted(enter, moment, side="right") - 1
    while True:
        ended = (interval >= 0) & (leave[interval] < moment)
        if not ended.any():
            return interval
        interval = np.where(ended, around[interval], interval)


def _enclosing_intervals(leave: Integers, enter: Integers) -> Integers:
    """Return for each interval the index of the innermost interval that contains it, or -1."""
    if (enter[1:] > leave[:-1]).all():
        return np.full(enter.size, -1)
    around = np.full(enter.size, -1)
    open_intervals: list[int] = []
    for index, begin in enumerate(enter.tolist()):
        while open_intervals and leave[open_intervals[-1]] < begin:
            open_intervals.pop()
        around[index] = open_intervals[-1] if open_intervals else -1
        open_intervals.append(index)
    return around


#: Clocks agree if at least this share of requests lies inside a launch that looks alike.
_AGREEING: Final = 0.5


class JoinedExecutions(Struct, frozen=True):
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


# Launches of replayed executions: captured launches of the graph with the same kernels.
#
# A replay bypasses Python; its executions share a correlation id. A replay may be of any captured
# graph with the same kernels, each as often as in the replay. If several graphs qualify, the order
# of replays may determine the graph (`_graphs_by_turn`). Within a graph, a kernel that occurs once
# is certain; kernels that occur several times follow the order of captures if they run on one
# stream.

_Kernels = frozenset[tuple[int, int]]


class CapturedGraph(NamedTuple):
    """A captured graph: its number, the time of its first launch, and its launches by look.

    A launch is its `seq` and call id; launches of a look are in order.
    """

    number: int
    first: int
    launches: dict[int, list[tuple[int, int]]]


def are_replayed(executed: TimedExecutions) -> Flags:
    """Return for each execution whether it shares its request with others, or has a graph id."""
    request = executed.file << 33 | (executed.correlation & ((1 << 33) - 1))
    shared: Flags = (executed.correlation != NONE) & share_request(request)
    has_graph: Flags = executed.graph != NONE
    return shared | has_graph


def join_replays(
    launched: RecordedLaunches,
    executed: TimedExecutions,
    chosen: Flags,
    matches: Matches,
    same_clock: bool,
) -> None:
    """Match the chosen executions with captured launches, replay by replay, and store the matches.

    `same_clock`: times of both sides are comparable, so a replay must begin after the capture.
    """
    by_kernels: dict[_Kernels, list[CapturedGraph]] = {}
    for graph in _captured_graphs(launched):
        counts = {look: len(launches) for look, launches in graph.launches.items()}
        by_kernels.setdefault(frozenset(counts.items()), []).append(graph)
    replays = list(_rows_by_request(executed, chosen))
    possible = []
    for rows in replays:
        graphs = by_kernels.get(frozenset(Counter(executed.look[rows].tolist()).items()), [])
        begun = int(executed.start[rows[0]])
        possible.append([graph for graph in graphs if graph.first < begun or not same_clock])
    files = [int(executed.file[rows[0]]) for rows in replays]
    turns = _graphs_by_turn(possible, files)
    cache: dict[tuple[bytes, bytes, tuple[int, ...]], tuple[Integers, Integers]] = {}
    for rows, candidates, turn in zip(replays, possible, turns, strict=True):
        took_turn = turn is not None and len(candidates) > 1
        graphs = [turn] if turn is not None else candidates
        looks, stream_numbers = executed.look[rows], executed.place[rows]
        key = (looks.tobytes(), stream_numbers.tobytes(), tuple(graph.number for graph in graphs))
        if key not in cache:
            cache[key] = _launches_of_replay(graphs, looks.tolist(), stream_numbers.tolist())
        number = graphs[0].number if len(graphs) == 1 else NONE
        matches.add(rows, *cache[key], Grade.INFERRED if took_turn else Grade.ORDERED, number)


def _graphs_by_turn(
    possible: Sequence[Sequence[CapturedGraph]], files: Sequence[int]
) -> list[CapturedGraph | None]:
    """Return the graph of each replay, in order, or None if it cannot be determined.

    The layers of a model are captured into graphs that differ only in their tensors. A step replays
    them in the order of their captures. A unique graph marks the beginnings of steps; if every step
    replays each of the identical graphs once, the n-th replay is that of the n-th graph.

    Args:
        possible: Candidate graphs of each replay, in order of their captures.
        files: The number of the file with the times of each replay; turns are counted per file.
    """
    graphs_of_replays: list[CapturedGraph | None] = [
        graphs[0] if len(graphs) == 1 else None for graphs in possible
    ]
    for file in dict.fromkeys(files):
        indexes = [index for index, number in enumerate(files) if number == file]
        _assign_graphs_by_turn([possible[index] for index in indexes], indexes, graphs_of_replays)
    return graphs_of_replays


def _assign_graphs_by_turn(
    possible: Sequence[Sequence[CapturedGraph]],
    indexes: Sequence[int],
    graphs_of_replays: list[CapturedGraph | None],
) -> None:
    unique_graphs = [graphs[0] for graphs in possible if len(graphs) == 1]
    if not unique_graphs:
        return
    first_unique = min(unique_graphs, key=lambda graph: graph.first)
    begins = [index for index, graphs in enumerate(possible) if list(graphs) == [first_unique]]
    steps = list(zip(begins, [*begins[1:], len(possible)], strict=True))
    first_numbers = [graphs[0].number if graphs else NONE for graphs in possible]
    candidates_by_first = {graphs[0].number: graphs for graphs in possible if len(graphs) > 1}
    for first_number, graphs in candidates_by_first.items():
        replays_of_steps = [
            [index for index in range(*step) if first_numbers[index] == first_number]
            for step in steps
        ]
        is_regular = all(len(replays) == len(graphs) for replays in replays_of_steps)
        if not is_regular or graphs[0].first < first_unique.first:
            continue
        for replays in replays_of_steps:
            for index, graph in zip(replays, graphs, strict=True):
                graphs_of_replays[indexes[index]] = graph


def _launches_of_replay(
    graphs: Sequence[CapturedGraph], looks: Sequence[int], stream_numbers: Sequence[int]
) -> tuple[Integers, Integers]:
    """Return `seq` and call id of each execution of a replay, NONE where uncertain.

    `graphs` are the replay's candidates; `looks` and `stream_numbers` are of its executions.
    """
    counts: Counter[int] = Counter()
    streams: dict[int, set[int]] = {}
    for look, stream_number in zip(looks, stream_numbers, strict=True):
        streams.setdefault(look, set()).add(stream_number)
    pairs = []
    for look in looks:
        in_order = len(streams[look]) == 1
        choices = {
            pair
            for graph in graphs
            for position, pair in enumerate(graph.launches[look])
            if not in_order or position == counts[look]
        }
        counts[look] += 1
        calls = {call for _, call in choices}
        call = calls.pop() if len(calls) == 1 else NONE
        pairs.append((next(iter(choices))[0] if len(choices) == 1 else NONE, call))
    seqs, call_ids = np.asarray(pairs, np.int64).reshape(-1, 2).T
    return seqs, call_ids


def _captured_graphs(launched: RecordedLaunches) -> list[CapturedGraph]:
    """Return the graphs with captured launches, in the order of their first launches."""
    graphs = []
    for number, launches in launched.of_graphs():
        graphs.append(CapturedGraph(number, int(launches.enter[0]), {}))
        columns = (launches.look.tolist(), launches.seq.tolist(), launches.call.tolist())
        for look, *pair in zip(*columns, strict=True):
            graphs[-1].launches.setdefault(look, []).append((pair[0], pair[1]))
    return graphs


def _rows_by_request(executed: TimedExecutions, chosen: Flags) -> Iterator[Integers]:
    """Yield the rows of the chosen executions, request by request, in the order of their begins."""
    rows = np.flatnonzero(chosen)
    keys = (executed.start[rows], executed.correlation[rows], executed.file[rows])
    rows = rows[np.lexsort(keys)]
    if not rows.size:
        return
    pairs = np.stack([executed.file[rows], executed.correlation[rows]])
    borders = np.flatnonzero((pairs[:, 1:] != pairs[:, :-1]).any(axis=0)) + 1
    yield from np.split(rows, borders)
