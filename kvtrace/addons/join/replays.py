"""Launches of replayed executions: captured launches of the graph with the same kernels.

A replay bypasses Python; its executions share a correlation id. A replay may be of any captured
graph with the same kernels, each as often as in the replay. If several graphs qualify, the order of
replays may determine the graph (`_graphs_by_turn`). Within a graph, a kernel that occurs once is
certain; kernels that occur several times follow the order of captures if they run on one stream.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kvtrace.addons.join.matches import Grade, Matches
from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE, Flags, Integers, share_request

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
    step_begins = [
        replay_index
        for replay_index, graphs in enumerate(possible)
        if list(graphs) == [first_unique]
    ]
    steps = list(zip(step_begins, [*step_begins[1:], len(possible)], strict=True))
    candidates_by_first = {graphs[0].number: graphs for graphs in possible if len(graphs) > 1}
    for first_graph_number, graphs in candidates_by_first.items():
        replays = [
            [
                replay_index
                for replay_index in range(*step)
                if possible[replay_index][:1]
                and possible[replay_index][0].number == first_graph_number
            ]
            for step in steps
        ]
        counts = Counter(map(len, replays[:-1]))
        is_regular = set(counts) <= {len(graphs)} and len(replays[-1]) == len(graphs)
        if not is_regular or graphs[0].first < first_unique.first:
            continue
        for step_replays in replays:
            for replay_index, graph in zip(step_replays, graphs, strict=True):
                graphs_of_replays[indexes[replay_index]] = graph


def _launches_of_replay(
    graphs: Sequence[CapturedGraph], looks: Sequence[int], stream_numbers: Sequence[int]
) -> tuple[Integers, Integers]:
    """Return `seq` and call id of each execution of a replay, NONE where uncertain.

    `graphs` are the replay's candidates; `looks` and `places` are those of its executions.
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
