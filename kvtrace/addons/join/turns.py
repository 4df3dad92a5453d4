"""Which of several graphs with the same kernels a replay is of: they take turns, in each step.

The layers of a model are captured into graphs that differ in their tensors alone. A step replays
them in the order in which they were captured. A graph that nothing else looks like marks where its
steps begin; if all of them replay each of the alike graphs once, the n-th replay is of the n-th.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Captured(NamedTuple):
    """A captured graph: when its first launch was made, and by look its launches in order."""

    number: int
    first: int
    launches: dict[int, list[tuple[int, int]]]


def graphs_by_turn(
    possible: Sequence[Sequence[Captured]], files: Sequence[int]
) -> list[Captured | None]:
    """Return the graph of each replay, in their order, or None where that is not known.

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
