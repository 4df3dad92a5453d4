"""Launches of replayed executions: those that were captured into the graph with the same kernels.

A replay bypasses Python. Its executions share a correlation id. Captured graphs with the same
kernels, each as often, are those that it may be a replay of. One of them is the graph, unless
several are alike: then the order of turns may tell which. Within it, a kernel that is there once is
certain; those that are there several times follow the order of their captures where they run on one
stream.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kvtrace.addons.join.found import Found, Grade
from kvtrace.addons.join.sides import Executed, Launched
from kvtrace.figures.causes import NONE, Flags, Integers, share_request

_Kernels = frozenset[tuple[int, int]]


class Captured(NamedTuple):
    """A captured graph: when its first launch was made, and by look its launches in order."""

    number: int
    first: int
    launches: dict[int, list[tuple[int, int]]]


def replayed(executed: Executed) -> Flags:
    """Which executions share their request with others, or are known to be of a graph."""
    request = executed.file << 33 | (executed.correlation & ((1 << 33) - 1))
    shared: Flags = (executed.correlation != NONE) & share_request(request)
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
    turns = _graphs_by_turn(possible, files)
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


def _graphs_by_turn(
    possible: Sequence[Sequence[Captured]], files: Sequence[int]
) -> list[Captured | None]:
    """Return the graph of each replay, in their order, or None where that is not known.

    The layers of a model are captured into graphs that differ in their tensors alone. A step
    replays them in the order in which they were captured. A graph that nothing else looks like
    marks where its steps begin; if all of them replay each of the alike graphs once, the n-th
    replay is of the n-th.

    Args:
        possible: For each replay the graphs that it may be of, in order of their captures.
        files: For each replay the number of the recording of times that it is of.

    """
    found: list[Captured | None] = [graphs[0] if len(graphs) == 1 else None for graphs in possible]
    for file in dict.fromkeys(files):
        own = [index for index, number in enumerate(files) if number == file]
        _take_turns([possible[index] for index in own], own, found)
    return found


def _take_turns(
    possible: Sequence[Sequence[Captured]], own: Sequence[int], found: list[Captured | None]
) -> None:
    marks = [graphs[0] for graphs in possible if len(graphs) == 1]
    if not marks:
        return
    mark = min(marks, key=lambda graph: graph.first)
    begins = [place for place, graphs in enumerate(possible) if list(graphs) == [mark]]
    steps = list(zip(begins, [*begins[1:], len(possible)], strict=True))
    alike = {graphs[0].number: graphs for graphs in possible if len(graphs) > 1}
    for first, graphs in alike.items():
        replays = [
            [
                place
                for place in range(*step)
                if possible[place][:1] and possible[place][0].number == first
            ]
            for step in steps
        ]
        counts = Counter(map(len, replays[:-1]))
        whole = set(counts) <= {len(graphs)} and len(replays[-1]) == len(graphs)
        if not whole or graphs[0].first < mark.first:
            continue
        for step_replays in replays:
            for place, graph in zip(step_replays, graphs, strict=True):
                found[own[place]] = graph


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
    graphs = []
    for number, launches in launched.of_graphs():
        graphs.append(Captured(number, int(launches.enter[0]), {}))
        columns = (launches.look.tolist(), launches.seq.tolist(), launches.call.tolist())
        for look, *pair in zip(*columns, strict=True):
            graphs[-1].launches.setdefault(look, []).append((pair[0], pair[1]))
    return graphs


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
