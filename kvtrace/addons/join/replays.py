"""Launches of replayed executions: those that were captured into the graph with the same kernels.

A replay bypasses Python. Its executions share a correlation id. Captured graphs with the same
kernels, each as often, are those that it may be a replay of. One of them is the graph, unless
several are alike: then `turns.py` may know which. Within it, a kernel that is there once is
certain; those that are there several times follow the order of their captures where they run on one
stream.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from kvtrace.addons.join.found import Found, Grade
from kvtrace.addons.join.sides import NONE, Executed, Flags, Launched
from kvtrace.addons.join.turns import Captured, graphs_by_turn
from kvtrace.figures.columns import Integers

_Kernels = frozenset[tuple[int, int]]


def replayed(executed: Executed) -> Flags:
    """Which executions share their request with others, or are known to be of a graph."""
    request = executed.file << 33 | (executed.correlation & ((1 << 33) - 1))
    _, place, times = np.unique(request, return_inverse=True, return_counts=True)
    shared: Flags = (executed.correlation != NONE) & (times[place] > 1)
    known: Flags = executed.graph != NONE
    return shared | known


def join_replays(
    launched: Launched, executed: Executed, wanted: Flags, found: Found, same_clock: bool
) -> None:
    """Note the launches of the `wanted` executions, whole replays at a time.

    `same_clock`: a graph is replayed after it was captured, by the times of both sides.
    """
    by_kernels: dict[_Kernels, list[Captured]] = {}
    for graph in _captured_graphs(launched):
        counts = {look: len(launches) for look, launches in graph.launches.items()}
        by_kernels.setdefault(frozenset(counts.items()), []).append(graph)
    replays = list(_requests(executed, wanted))
    possible = []
    for rows in replays:
        graphs = by_kernels.get(frozenset(Counter(executed.look[rows].tolist()).items()), [])
        begun = int(executed.start[rows[0]])
        possible.append([graph for graph in graphs if graph.first < begun or not same_clock])
    files = [int(executed.file[rows[0]]) for rows in replays]
    turns = graphs_by_turn(possible, files)
    known: dict[tuple[bytes, bytes, tuple[int, ...]], tuple[Integers, Integers]] = {}
    for rows, several, turn in zip(replays, possible, turns, strict=True):
        took_turn = turn is not None and len(several) > 1
        graphs = [turn] if turn is not None else several
        looks, places = executed.look[rows], executed.place[rows]
        key = (looks.tobytes(), places.tobytes(), tuple(graph.number for graph in graphs))
        if key not in known:
            known[key] = _launches_of(graphs, looks.tolist(), places.tolist())
        number = graphs[0].number if len(graphs) == 1 else NONE
        found.tell(rows, *known[key], Grade.INFERRED if took_turn else Grade.ORDERED, number)


def _launches_of(
    graphs: Sequence[Captured], looks: Sequence[int], places: Sequence[int]
) -> tuple[Integers, Integers]:
    """Return launch and call of the executions of a replay, NONE where that is not certain."""
    seen: Counter[int] = Counter()
    streams: dict[int, set[int]] = {}
    for look, place in zip(looks, places, strict=True):
        streams.setdefault(look, set()).add(place)
    pairs = []
    for look in looks:
        in_order = len(streams[look]) == 1
        choices = {
            pair
            for graph in graphs
            for position, pair in enumerate(graph.launches[look])
            if not in_order or position == seen[look]
        }
        seen[look] += 1
        calls = {call for _, call in choices}
        call = calls.pop() if len(calls) == 1 else NONE
        pairs.append((next(iter(choices))[0] if len(choices) == 1 else NONE, call))
    seqs, calls_found = np.asarray(pairs, np.int64).reshape(-1, 2).T
    return seqs, calls_found


def _captured_graphs(launched: Launched) -> list[Captured]:
    """Return the graphs that launches were captured into, in order of their first."""
    graphs: dict[int, Captured] = {}
    rows = np.flatnonzero(launched.graph != NONE)
    for row in rows[np.argsort(launched.leave[rows], kind="stable")].tolist():
        number = int(launched.graph[row])
        graph = graphs.setdefault(number, Captured(number, int(launched.enter[row]), {}))
        pair = (int(launched.seq[row]), int(launched.call[row]))
        graph.launches.setdefault(int(launched.look[row]), []).append(pair)
    return list(graphs.values())


def _requests(executed: Executed, wanted: Flags) -> Iterator[Integers]:
    """Give the executions of each request, in order of their begin; requests in their order."""
    rows = np.flatnonzero(wanted)
    keys = (executed.start[rows], executed.correlation[rows], executed.file[rows])
    rows = rows[np.lexsort(keys)]
    if not rows.size:
        return
    pairs = np.stack([executed.file[rows], executed.correlation[rows]])
    borders = np.flatnonzero((pairs[:, 1:] != pairs[:, :-1]).any(axis=0)) + 1
    yield from np.split(rows, borders)
