"""Launches of device executions, matched while a program runs: by order on each stream.

A stream runs kernels in the order of their launches, and CUPTI's correlation ids count launches. So
on each (device, stream) two lists of (name, grid) must be equal: the launches, in the order in
which they returned (a launch may try out others before the kernel is launched), and the executions
with the name and grid of a launched kernel, in order of correlation. If the lists differ, other
code launched such a kernel, or a record was lost: then all executions between two moments at which
the stream was idle stay without a launch, and are counted.

Example: launches add, mul, add return at 1, 2, 3 ms, and add, gemm, mul, add run. No launch has the
name gemm, so gemm is foreign, and the others are joined one to one. If add, mul, mul run, nothing
is joined until the stream has been idle for 0.2 ms.

Executions from a graph are joined to the launches captured into the graph. The driver copies a
captured graph to make an executable graph; nodes keep their order, and the copy has the next larger
number. So a graph's executions, in order of nodes, must equal the captured launches, in order of
time, of an earlier graph: the one just before, or else the only one that fits.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.cupti.records import Kernels, joined
from kvtrace.figures.causes import NONE, Launches, by_place, places

#: Nanoseconds without an execution after which a stream counts as idle.
_IDLE: Final = 200_000
#: Nanoseconds by which an execution may begin before its launch, as there are two clocks.
_SLACK: Final = 5_000
#: Number of fitting pairs, the newest, that stay open on a stream that is never idle.
_CERTAIN: Final = 4_096
#: Nanoseconds after which a stream with more launches than executions has lost a record.
_BLOCKED: Final = 2_000_000_000
#: Most executions of a stream that wait for a decision.
_PATIENCE: Final = 200_000


@dataclass(frozen=True)
class Joined:
    """Executions with launch and call of each; `NONE` where these are not certain.

    `foreign` are executions whose name and grid no launch has.
    """

    kernels: Kernels
    seq: NDArray[np.int64]
    call: NDArray[np.int64]
    foreign: NDArray[np.bool_]

    @property
    def by_request(self) -> NDArray[np.bool_]:
        """Executions without a launch, or from a graph, which is replayed long after its launches.

        The host's request tells when these executions were asked for.
        """
        replayed: NDArray[np.bool_] = (self.seq == NONE) | (self.kernels.graph != 0)
        return replayed


def put_together(parts: list[Joined]) -> Joined:
    """Return the concatenation of at least one part."""
    if len(parts) == 1:
        return parts[0]
    return Joined(
        kernels=joined([part.kernels for part in parts]),
        seq=np.concatenate([part.seq for part in parts]),
        call=np.concatenate([part.call for part in parts]),
        foreign=np.concatenate([part.foreign for part in parts]),
    )


@dataclass
class Counts:
    """Numbers of executions by result; `foreign`: no launch has the name and grid."""

    joined: int = 0
    foreign: int = 0
    ambiguous: int = 0


@dataclass
class _Stream:
    launches: list[Launches] = field(default_factory=list)
    kernels: list[Kernels] = field(default_factory=list)
    #: The order is lost; nothing is joined until the stream has been idle.
    lost: bool = False


class Joiner:
    """Joins executions to launches, both added as they come."""

    def __init__(self) -> None:
        """Make a joiner without launches and executions."""
        self.counts = Counts()
        #: by the number of device and stream
        self._streams: dict[int, _Stream] = {}
        self._captured: dict[int, list[Launches]] = {}
        #: executable graph → launch and call by node, or None where no captured graph fits
        self._graphs: dict[int, dict[int, tuple[int, int]] | None] = {}
        self._replays: dict[int, list[Kernels]] = {}
        #: by look: whether a launch has it
        self._launched = np.zeros(64, bool)

    def add_launches(self, launches: Launches) -> None:
        """Add launches in order of `seq`; streams have CUPTI's numbers."""
        missing = int(launches.look.max(initial=0)) + 1 - len(self._launched)
        if missing > 0:
            self._launched = np.pad(self._launched, (0, missing + len(self._launched)))
        self._launched[launches.look] = True
        for graph, captured in launches.of_graphs():
            self._captured.setdefault(graph, []).append(captured)
        direct = launches.chosen(launches.graph == NONE)
        for place, rows in by_place(direct.place):
            self._streams.setdefault(place, _Stream()).launches.append(direct.chosen(rows))

    def add_kernels(self, kernels: Kernels) -> None:
        """Add executions, in any order, after the launches that may have caused them."""
        in_graph = kernels.graph != 0
        for graph in np.unique(kernels.graph[in_graph]).tolist():
            rows = kernels.graph == graph
            self._replays.setdefault(graph, []).append(kernels.chosen(rows))
        direct = kernels.chosen(~in_graph)
        for place, rows in by_place(places(direct.device, direct.stream)):
            self._streams.setdefault(place, _Stream()).kernels.append(direct.chosen(rows))

    def lose_order(self) -> None:
        """Note that records were lost: waiting executions cannot be joined any more."""
        for stream in self._streams.values():
            stream.lost = True

    def take(self, final: bool = False) -> list[Joined]:
        """Return the executions that are decided; with `final`, all, as no more will come."""
        decided = []
        for stream in self._streams.values():
            decided += self._take_stream(stream, final)
        for graph, parts in list(self._replays.items()):
            kernels = joined(parts)
            ready = self._complete(kernels, final)
            if ready.any():
                decided.append(self._take_graph(graph, kernels.chosen(ready)))
            rest = kernels.chosen(~ready)
            self._replays[graph] = [rest] if len(rest) else []
            if not len(rest):
                del self._replays[graph]
        return decided

    def _named(self, kernels: Kernels) -> NDArray[np.bool_]:
        """Return a mask of executions whose name and grid a launch has."""
        beyond = kernels.look >= len(self._launched)
        return np.asarray(self._launched[np.where(beyond, 0, kernels.look)] & ~beyond)

    # -- streams ----------------------------------------------------------------------------

    def _take_stream(self, stream: _Stream, final: bool) -> list[Joined]:
        if not stream.kernels:
            if final:
                stream.launches.clear()
            return []
        kernels = _sorted(joined(stream.kernels))
        waiting = _LaunchQueue(Launches.joined(stream.launches).in_order())
        named_before = np.concatenate(([0], np.cumsum(self._named(kernels))))
        decided = []
        begin = 0
        for border in _idle_before(kernels):
            split = int(kernels.start[border]) - _IDLE // 2
            launched, under_way = waiting.count_before(split)
            ran = int(named_before[border] - named_before[begin])
            awaits_more = ran < launched  # the stream may have waited for another stream
            part = kernels.chosen(slice(begin, border))
            if (under_way or (awaits_more and not stream.lost)) and not _is_hopeless(part):
                continue  # a launch may belong to either side: decide at a later border
            decided.append(self._segment(part, waiting.first(launched), stream.lost))
            # If all fits, a launch in progress has not reached the stream; else it may have.
            fits = launched == ran and not stream.lost
            waiting.leave_out(split, also_under_way=not fits)
            stream.lost = False
            begin = border
        launches = waiting.rest()
        kernels = kernels.chosen(slice(begin, len(kernels)))
        if final:
            decided.append(self._segment(kernels, launches, stream.lost))
            kernels, launches = kernels.chosen(slice(0)), launches.chosen(slice(0))
        elif not stream.lost:
            prefix, kernels, launches = self._prefix(kernels, launches, stream)
            decided += prefix
        elif len(kernels) > _PATIENCE:
            decided.append(self._unjoined(kernels))
            launches = launches.chosen(launches.leave > int(kernels.end.max()))
            kernels = kernels.chosen(slice(0))
        stream.kernels = [kernels] if len(kernels) else []
        stream.launches = [launches] if len(launches) else []
        return decided

    def _segment(self, kernels: Kernels, launches: Launches, lost: bool) -> Joined:
        """Join all executions between two idle moments, or none of them."""
        rows = np.flatnonzero(self._named(kernels))
        same = len(rows) == len(launches) and not lost
        if not same or not _fits(kernels.chosen(rows), launches):
            return self._unjoined(kernels)
        return self._with(kernels, rows, launches)

    def _prefix(
        self, kernels: Kernels, launches: Launches, stream: _Stream
    ) -> tuple[list[Joined], Kernels, Launches]:
        """Join a long beginning that fits, on a stream that is never idle.

        Returns the joined part, and the executions and launches after it.
        """
        rows = np.flatnonzero(self._named(kernels))
        pairs = min(len(rows), len(launches))
        if not _fits(kernels.chosen(rows[:pairs]), launches.chosen(slice(pairs))):
            stream.lost = True
            return [], kernels, launches
        count = pairs - _CERTAIN
        if count <= 0:
            return [], kernels, launches
        end = int(rows[count])
        first = launches.chosen(slice(count))
        if _all_equal(launches.look[count:pairs]):
            # One launch more or less would fit as well; the call may still be certain.
            calls = first.call if _all_equal(launches.call[:pairs]) else np.full(count, NONE)
            first = replace(first, seq=np.full(count, NONE, np.int64), call=calls)
        part = self._with(kernels.chosen(slice(end)), rows[:count], first)
        rest = kernels.chosen(slice(end, len(kernels)))
        return [part], rest, launches.chosen(slice(count, len(launches)))

    def _with(self, kernels: Kernels, rows: NDArray[np.int64], launches: Launches) -> Joined:
        seq = np.full(len(kernels), NONE, np.int64)
        call = seq.copy()
        seq[rows], call[rows] = launches.seq, launches.call
        foreign = np.ones(len(kernels), bool)
        foreign[rows] = False
        self.counts.joined += len(rows)
        self.counts.foreign += len(kernels) - len(rows)
        return Joined(kernels, seq, call, foreign)

    def _unjoined(self, kernels: Kernels) -> Joined:
        foreign = ~self._named(kernels)
        self.counts.ambiguous += int((~foreign).sum())
        self.counts.foreign += int(foreign.sum())
        none = np.full(len(kernels), NONE, np.int64)
        return Joined(kernels, none, none, foreign)

    # -- graphs -----------------------------------------------------------------------------

    def _complete(self, kernels: Kernels, final: bool) -> NDArray[np.bool_]:
        """Return a mask of executions of complete replays: a later replay has begun."""
        if final:
            return np.ones(len(kernels), bool)
        return np.asarray(kernels.correlation < kernels.correlation.max())

    def _take_graph(self, graph: int, kernels: Kernels) -> Joined:
        if graph not in self._graphs:
            replay = kernels.correlation == kernels.correlation.min()
            self._graphs[graph] = self._nodes_of(graph, kernels.chosen(replay))
        launch_of_node = self._graphs[graph]
        if launch_of_node is None:
            return self._unjoined(kernels)
        pairs = [launch_of_node.get(node, (NONE, NONE)) for node in kernels.graph_node.tolist()]
        seq, call = np.asarray(pairs, np.int64).reshape(-1, 2).T
        self.counts.joined += int((call != NONE).sum())
        self.counts.foreign += int((call == NONE).sum())
        return Joined(kernels, seq, call, call == NONE)

    def _nodes_of(self, graph: int, replay: Kernels) -> dict[int, tuple[int, int]] | None:
        """Return launch and call by node, from the captured graph that `graph` copies, or None."""
        order = np.argsort(replay.graph_node, kind="stable")
        nodes = replay.chosen(order[self._named(replay)[order]])
        fitting = [
            launches
            for launches in self._captured_before(graph)
            if np.array_equal(launches.look, nodes.look)
        ]
        if not fitting:
            return None
        nearest = fitting[0]
        certain = int(nearest.graph[0]) == graph - 1 or len(fitting) == 1
        calls_agree = all(np.array_equal(other.call, nearest.call) for other in fitting)
        if not certain and not calls_agree:
            return None
        seq = nearest.seq if certain else np.full(len(nearest), NONE, np.int64)
        pairs = zip(seq.tolist(), nearest.call.tolist(), strict=True)
        return dict(zip(nodes.graph_node.tolist(), pairs, strict=True))

    def _captured_before(self, graph: int) -> list[Launches]:
        """Return launches of the captured graphs with smaller numbers, the nearest first."""
        earlier = sorted((number for number in self._captured if number < graph), reverse=True)
        return [Launches.joined(self._captured[number]).in_order() for number in earlier]


class _LaunchQueue:
    """A queue of launches of one stream, in the order in which they returned.

    Counting launches before a moment is a binary search: a stream that is often idle has many
    borders in a round, and a scan of all launches at each would fall behind a fast program.
    """

    def __init__(self, launches: Launches) -> None:
        """Make a queue of launches, given in order of `leave`."""
        self._wait_for(launches)

    def _wait_for(self, launches: Launches) -> None:
        self._launches = launches
        self._begin = 0
        self._entered = np.sort(launches.enter)
        self._same_order = np.array_equal(self._entered, launches.enter)

    def count_before(self, moment: int) -> tuple[int, bool]:
        """Return how many launches had returned by then, and whether others had been entered."""
        returned = int(np.searchsorted(self._launches.leave, moment))
        entered = int(np.searchsorted(self._entered, moment))
        return max(returned - self._begin, 0), entered > max(returned, self._begin)

    def first(self, count: int) -> Launches:
        """Return the first `count` launches of the queue."""
        return self._launches.chosen(slice(self._begin, self._begin + count))

    def leave_out(self, moment: int, also_under_way: bool) -> None:
        """Remove launches that had returned by a moment, or all that had been entered."""
        if not also_under_way:
            returned = int(np.searchsorted(self._launches.leave, moment))
            self._begin = max(self._begin, returned)
        elif self._same_order:
            entered = int(np.searchsorted(self._entered, moment))
            self._begin = max(self._begin, entered)
        else:
            rest = self.rest()
            self._wait_for(rest.chosen(rest.enter >= moment))

    def rest(self) -> Launches:
        """Return all launches of the queue."""
        return self._launches.chosen(slice(self._begin, len(self._launches)))


def _sorted(kernels: Kernels) -> Kernels:
    """Return executions in order of launch. Correlation ids wrap around after 2^32 launches."""
    ids = kernels.correlation
    if (np.diff(ids) > 0).all():
        return kernels
    if int(ids.max()) - int(ids.min()) > 1 << 31:
        ids = (ids + (1 << 31)) % (1 << 32)
    return kernels.chosen(np.lexsort((kernels.start, ids)))


def _idle_before(kernels: Kernels) -> list[int]:
    """Return the indices of executions before which the stream was idle."""
    if len(kernels) < 2:
        return []
    ended = np.maximum.accumulate(kernels.end)[:-1]
    borders = np.flatnonzero(kernels.start[1:] - ended > _IDLE) + 1
    return [int(border) for border in borders]


def _is_hopeless(kernels: Kernels) -> bool:
    """Return whether a decision has been deferred for too long."""
    span = int(kernels.end[-1]) - int(kernels.start[0])
    return len(kernels) > _PATIENCE or span >= _BLOCKED


def _all_equal(values: NDArray[np.int64]) -> bool:
    return bool((values == values[:1]).all())


def _fits(kernels: Kernels, launches: Launches) -> bool:
    """Return whether executions can be those of launches, one to one."""
    same = np.array_equal(kernels.look, launches.look)
    return bool(same and (kernels.start >= launches.enter - _SLACK).all())
