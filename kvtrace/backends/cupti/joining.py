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
time, of an earlier graph: of the graph numbered one lower, or else of the only graph that fits.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.cupti.records import Kernels, joined
from kvtrace.capture.pacing import rest
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
class JoinedExecutions:
    """Executions with the launch's `seq` and the call id of each; `NONE` where not certain.

    `foreign` is a mask of executions whose name and grid no launch has.
    """

    kernels: Kernels
    seq: NDArray[np.int64]
    call: NDArray[np.int64]
    foreign: NDArray[np.bool_]

    @property
    def by_request(self) -> NDArray[np.bool_]:
        """Mask of executions without a launch or from a graph, for which the request is written.

        A graph is replayed long after its launches, so that their times are no request times.
        """
        replayed: NDArray[np.bool_] = (self.seq == NONE) | (self.kernels.graph != 0)
        return replayed


def concatenated(parts: list[JoinedExecutions]) -> JoinedExecutions:
    """Return the executions of all parts, of which there is at least one."""
    if len(parts) == 1:
        return parts[0]
    return JoinedExecutions(
        kernels=joined([part.kernels for part in parts]),
        seq=np.concatenate([part.seq for part in parts]),
        call=np.concatenate([part.call for part in parts]),
        foreign=np.concatenate([part.foreign for part in parts]),
    )


@dataclass
class Counts:
    """Numbers of executions that were joined, are foreign (no launch fits), or ambiguous."""

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
    """The join of executions with launches, which are added batch by batch."""

    def __init__(self) -> None:
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
        """Add launches, sorted by `seq`; `place` has CUPTI's number of the stream."""
        lacking = int(launches.look.max(initial=0)) + 1 - len(self._launched)
        if lacking > 0:
            self._launched = np.pad(self._launched, (0, lacking + len(self._launched)))
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
        """Leave the waiting executions of all streams unjoined, since records were lost."""
        for stream in self._streams.values():
            stream.lost = True

    def take(self, final: bool = False) -> list[JoinedExecutions]:
        """Return, and remove, the executions that are joined or certain to stay unjoined.

        `final`: no more launches and executions follow, so all are returned.
        """
        decided = []
        for stream in self._streams.values():
            decided += self._take_stream(stream, final)
        for graph, batches in list(self._replays.items()):
            rest()
            kernels = joined(batches)
            is_complete = self._complete(kernels, final)
            if is_complete.any():
                decided.append(self._take_graph(graph, kernels.chosen(is_complete)))
            waiting = kernels.chosen(~is_complete)
            self._replays[graph] = [waiting] if len(waiting) else []
            if not len(waiting):
                del self._replays[graph]
        return decided

    def _named(self, kernels: Kernels) -> NDArray[np.bool_]:
        """Return a mask of executions whose name and grid a launch has."""
        beyond = kernels.look >= len(self._launched)
        return np.asarray(self._launched[np.where(beyond, 0, kernels.look)] & ~beyond)

    # -- streams ----------------------------------------------------------------------------

    def _take_stream(self, stream: _Stream, final: bool) -> list[JoinedExecutions]:
        """Return a stream's decided executions; store undecided ones with their launches."""
        if not stream.kernels:
            if final:
                stream.launches.clear()
            return []
        kernels = _sorted(joined(stream.kernels))
        queue = _LaunchQueue(Launches.joined(stream.launches).in_order())
        named_before = np.concatenate(([0], np.cumsum(self._named(kernels))))
        decided = []
        begin = 0
        for border in _idle_before(kernels):
            rest()
            split = int(kernels.start[border]) - _IDLE // 2
            launch_count, has_launch_in_progress = queue.count_before(split)
            execution_count = int(named_before[border] - named_before[begin])
            # The stream may have waited for another stream.
            awaits_more = execution_count < launch_count and not stream.lost
            segment = kernels.chosen(slice(begin, border))
            if (has_launch_in_progress or awaits_more) and not _is_hopeless(segment):
                continue  # a launch may belong to either side: decide at a later border
            decided.append(self._segment(segment, queue.first(launch_count), stream.lost))
            # If all fits, a launch in progress has not reached the stream; else it may have.
            fits = launch_count == execution_count and not stream.lost
            queue.remove_before(split, also_under_way=not fits)
            stream.lost = False
            begin = border
        launches = queue.rest()
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

    def _segment(self, kernels: Kernels, launches: Launches, lost: bool) -> JoinedExecutions:
        """Return executions between two idle moments, joined to these launches if all fit."""
        rows = np.flatnonzero(self._named(kernels))
        equal_count = len(rows) == len(launches) and not lost
        if not equal_count or not _fits(kernels.chosen(rows), launches):
            return self._unjoined(kernels)
        return self._joined_rows(kernels, rows, launches)

    def _prefix(
        self, kernels: Kernels, launches: Launches, stream: _Stream
    ) -> tuple[list[JoinedExecutions], Kernels, Launches]:
        """Join the oldest executions of a stream that is never idle, if all fit their launches.

        The newest `_CERTAIN` pairs stay open. If a pair does not fit, the stream is marked as lost.
        Return the joined executions, and the executions and launches that stay open.
        """
        rows = np.flatnonzero(self._named(kernels))
        pair_count = min(len(rows), len(launches))
        if not _fits(kernels.chosen(rows[:pair_count]), launches.chosen(slice(pair_count))):
            stream.lost = True
            return [], kernels, launches
        count = pair_count - _CERTAIN
        if count <= 0:
            return [], kernels, launches
        end = int(rows[count])
        oldest = launches.chosen(slice(count))
        if _all_equal(launches.look[count:pair_count]):
            # One launch more or less would fit as well; the call may still be certain.
            calls = oldest.call if _all_equal(launches.call[:pair_count]) else np.full(count, NONE)
            oldest = replace(oldest, seq=np.full(count, NONE, np.int64), call=calls)
        prefix = self._joined_rows(kernels.chosen(slice(end)), rows[:count], oldest)
        open_kernels = kernels.chosen(slice(end, len(kernels)))
        return [prefix], open_kernels, launches.chosen(slice(count, len(launches)))

    def _joined_rows(
        self, kernels: Kernels, rows: NDArray[np.int64], launches: Launches
    ) -> JoinedExecutions:
        """Return executions; each of those at `rows` is joined to the launch at the same index."""
        seq = np.full(len(kernels), NONE, np.int64)
        call = seq.copy()
        seq[rows], call[rows] = launches.seq, launches.call
        foreign = np.ones(len(kernels), bool)
        foreign[rows] = False
        self.counts.joined += len(rows)
        self.counts.foreign += len(kernels) - len(rows)
        return JoinedExecutions(kernels, seq, call, foreign)

    def _unjoined(self, kernels: Kernels) -> JoinedExecutions:
        foreign = ~self._named(kernels)
        self.counts.ambiguous += int((~foreign).sum())
        self.counts.foreign += int(foreign.sum())
        none = np.full(len(kernels), NONE, np.int64)
        return JoinedExecutions(kernels, none, none, foreign)

    # -- graphs -----------------------------------------------------------------------------

    def _complete(self, kernels: Kernels, final: bool) -> NDArray[np.bool_]:
        """Return a mask of executions whose replay is complete: a later one began, or `final`."""
        if final:
            return np.ones(len(kernels), bool)
        return np.asarray(kernels.correlation < kernels.correlation.max())

    def _take_graph(self, graph: int, kernels: Kernels) -> JoinedExecutions:
        if graph not in self._graphs:
            replay = kernels.correlation == kernels.correlation.min()
            self._graphs[graph] = self._nodes_of(graph, kernels.chosen(replay))
        launch_of_node = self._graphs[graph]
        if launch_of_node is None:
            return self._unjoined(kernels)
        nodes = kernels.graph_node.tolist()
        launches = [launch_of_node.get(node, (NONE, NONE)) for node in nodes]
        seq, call = np.asarray(launches, np.int64).reshape(-1, 2).T
        self.counts.joined += int((call != NONE).sum())
        self.counts.foreign += int((call == NONE).sum())
        return JoinedExecutions(kernels, seq, call, call == NONE)

    def _nodes_of(self, graph: int, replay: Kernels) -> dict[int, tuple[int, int]] | None:
        """Return (seq, call id) by node of an executable graph, given one replay of the graph.

        They are of the captured graph that it copies; None if that graph is not certain.
        """
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
        calls_agree = all(np.array_equal(candidate.call, nearest.call) for candidate in fitting)
        if not certain and not calls_agree:
            return None
        seq = nearest.seq if certain else np.full(len(nearest), NONE, np.int64)
        launch_and_call = zip(seq.tolist(), nearest.call.tolist(), strict=True)
        return dict(zip(nodes.graph_node.tolist(), launch_and_call, strict=True))

    def _captured_before(self, graph: int) -> list[Launches]:
        """Return launches of the captured graphs with smaller numbers, the nearest first."""
        earlier = sorted((other for other in self._captured if other < graph), reverse=True)
        return [Launches.joined(self._captured[other]).in_order() for other in earlier]


class _LaunchQueue:
    """A queue of launches of one stream, in the order in which they returned.

    Counting launches before a moment is a binary search: a stream that is often idle has many
    borders in a round, and a scan of all launches at each would fall behind a fast program.
    """

    def __init__(self, launches: Launches) -> None:
        """Make a queue of launches, which are sorted by `leave`."""
        self._wait_for(launches)

    def _wait_for(self, launches: Launches) -> None:
        self._launches = launches
        self._begin = 0
        self._entered = np.sort(launches.enter)
        self._same_order = np.array_equal(self._entered, launches.enter)

    def count_before(self, moment: int) -> tuple[int, bool]:
        """Return how many launches returned before a moment, and whether more were in progress."""
        returned = int(np.searchsorted(self._launches.leave, moment))
        entered = int(np.searchsorted(self._entered, moment))
        return max(returned - self._begin, 0), entered > max(returned, self._begin)

    def first(self, count: int) -> Launches:
        """Return the first `count` launches of the queue."""
        return self._launches.chosen(slice(self._begin, self._begin + count))

    def remove_before(self, moment: int, also_under_way: bool) -> None:
        """Remove launches that returned before a moment, and optionally launches in progress."""
        if not also_under_way:
            returned = int(np.searchsorted(self._launches.leave, moment))
            self._begin = max(self._begin, returned)
        elif self._same_order:
            entered = int(np.searchsorted(self._entered, moment))
            self._begin = max(self._begin, entered)
        else:
            launches = self.rest()
            self._wait_for(launches.chosen(launches.enter >= moment))

    def rest(self) -> Launches:
        """Return all launches of the queue."""
        return self._launches.chosen(slice(self._begin, len(self._launches)))


def _sorted(kernels: Kernels) -> Kernels:
    """Return executions sorted by correlation id, which wraps around after 2^32 launches."""
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
    """Return whether executions are too many, or span too much time, to wait for launches."""
    span = int(kernels.end[-1]) - int(kernels.start[0])
    return len(kernels) > _PATIENCE or span >= _BLOCKED


def _all_equal(values: NDArray[np.int64]) -> bool:
    return bool((values == values[:1]).all())


def _fits(kernels: Kernels, launches: Launches) -> bool:
    """Return whether each execution can be that of the launch at the same index.

    Name and grid have to be equal, and the execution must not begin before the launch.
    """
    equal_looks = np.array_equal(kernels.look, launches.look)
    return bool(equal_looks and (kernels.start >= launches.enter - _SLACK).all())
